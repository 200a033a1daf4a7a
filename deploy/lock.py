"""Requirement files with hashes, made by uv from pyproject.toml and the versions of constraints.txt: `make lock`.

`requirements/EXTRA.txt` has an extra of pyproject.toml with all that it needs, `build.txt` the build backend, and
`sandbox/image/requirements.txt` the packages of a container; `LAYER.txt` beside it has a layer's packages, too. The
hashes are those of every file of a version, so the same file serves each platform. torch is in none of them: builds for
CPU and CUDA have the same version, and each index its own files. pip takes it by version, in a step of its own, from
one index.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.console import SetupError, exit_status, step
from deploy.parties import CHECKOUT

EXTRAS: Final = ("server", "sentry", "s3", "parquet", "backup", "embedded", "runner", "dev", "bench")
REQUIREMENTS: Final = CHECKOUT / "requirements"
IMAGE: Final = CHECKOUT / "sandbox" / "image"
LAYERS: Final = sorted(path.stem for path in IMAGE.glob("*.in") if path.stem != "requirements")
HEADER: Final = "# Made by `make lock` from pyproject.toml and constraints.txt. Do not edit.\n"
NO_TORCH: Final = "torch ; python_version < '3'\n"  # an override that no environment meets
BUILD: Final = "hatchling\n"


def lock() -> None:
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder) / "build.in"
        build.write_text(BUILD)
        override = Path(folder) / "override.txt"
        override.write_text(NO_TORCH)
        sources = {REQUIREMENTS / f"{extra}.txt": ["pyproject.toml", "--extra", extra] for extra in EXTRAS}
        sources[REQUIREMENTS / "runner.txt"].append(str(IMAGE / "requirements.in"))  # what torch needs
        sources[REQUIREMENTS / "build.txt"] = [str(build)]
        sources[IMAGE / "requirements.txt"] = [str(IMAGE / "requirements.in")]
        for layer in LAYERS:
            sources[IMAGE / f"{layer}.txt"] = [str(IMAGE / "requirements.in"), str(IMAGE / f"{layer}.in")]
        for made, source in sources.items():
            with step(str(made.relative_to(CHECKOUT))):
                made.parent.mkdir(exist_ok=True)
                made.write_text(HEADER + compiled([*source, "--override", str(override)]))


def compiled(arguments: list[str]) -> str:
    """Return the pinned and hashed requirements of these sources."""
    command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--universal", "--no-header"]
    command += ["--generate-hashes", "--no-annotate", "--no-emit-index-url", "--no-emit-package", "pip"]
    command += ["--constraint", "constraints.txt"]
    done = subprocess.run([*command, *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"uv found no versions: {done.stderr.strip()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(exit_status(lock))
