"""benchmarks/gpu/pack.sh works in an environment without the `dev` extra."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu" / "pack.sh"


def test_pack_sh_names_the_runners_wheels_without_packaging() -> None:
    program = SCRIPT.read_text().partition("<<'NAMES'\n")[2].partition("\nNAMES\n")[0]
    blocked = f"import sys; sys.modules['packaging'] = None\n{program}"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {requirement.partition("==")[0] for requirement in done.stdout.split()}
    assert {"docker", "pydantic", "httpx"} <= names
    assert not names & {"torch", "photofinish"}
