"""A batch on the real judge: right, wrong, slow and non-compiling candidates, a budget, and the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from leaderboard.client import Client
from tests.e2e.conftest import Stage

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timeout(480)]

SAMPLES = Path("problems/library/kernels101/softmax/submissions")
SCHEMA = json.loads(Path("docs/feedback.schema.json").read_text())
BROKEN_C = """
import subprocess

command = ["g++", "-x", "c++", "-c", "-o", "/tmp/broken.o", "-"]
done = subprocess.run(command, input="int f() { return nothing; }", capture_output=True, text=True)
if done.returncode:
    raise ImportError(done.stderr)
"""
CANDIDATES = {
    "right": (SAMPLES / "accepted/torch_copy.py").read_text(),
    "wrong": (SAMPLES / "wrong/no_maximum.py").read_text(),
    "slow": (SAMPLES / "slow/row_by_row.py").read_text(),
    "syntax": "def custom_kernel(data):\n    return (\n",
    "compile": BROKEN_C,
    "raises": "def custom_kernel(data):\n    raise ValueError('odd')\n",
}


def test_batch_of_right_wrong_slow_and_broken_candidates(stage: Stage) -> None:
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    found: dict[str, Any] = {}
    with Client(stage.url, stage.environment["PHOTOFINISH_TOKEN"]) as site:
        sent = site.submit_batch(
            [{"code": code, "filename": f"{name}.py"} for name, code in CANDIDATES.items()],
            mode="test",
            budget_s=400,
            board="softmax",
            hardware="cpu",
        )

        def keep(one: Any) -> None:
            Draft202012Validator(SCHEMA).validate(one)
            found[one["about"]["filename"].removesuffix(".py")] = one

        ended = site.follow_batch(sent["id"], keep)
        text = site.feedback_text(found["wrong"]["about"]["submission"], 1_000).decode()
    assert ended["state"] == "done"
    assert set(found) == set(CANDIDATES)
    stages = {name: (one["outcome"], one["reason"], one["stage"]) for name, one in found.items()}
    assert stages["right"] == stages["slow"] == ("passed", "", "correct")
    assert found["right"]["errors"][0]["good"]
    assert stages["wrong"] == ("wrong", "nan", "ran")
    assert found["wrong"]["failing"]["reason"] == "nan"
    assert text.startswith("Outcome: wrong (nan). Stage reached: ran.")
    assert stages["syntax"] == ("build_error", "syntax", "sent")
    assert found["syntax"]["diagnostics"][0]["line"] == 2
    assert stages["compile"] == ("build_error", "import", "parsed")
    error = next(one for one in found["compile"]["diagnostics"] if "nothing" in one["message"] and one["column"])
    assert error["column"] > 1
    assert stages["raises"] == ("runtime_error", "raised", "built")
    assert found["raises"]["diagnostics"][-1]["message"] == "ValueError: odd"
    assert 0 < ended["spent_s"] < 400


def test_batch_over_its_budget_ends_at_the_command_line(stage: Stage, tmp_path: Path) -> None:
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    files = [tmp_path / f"k{number}.py" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text(f"import time\n\ntime.sleep(4)  # beyond the budget\n{CANDIDATES['right']}\n# {number}\n")
    done = stage.photofinish(
        *("batch", "submit", *map(str, files), "--board", "softmax", "--hardware", "cpu"), "--budget", "1", "--watch"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    # The sweeper may end the waiting candidates while the first one still runs: they arrive before it then.
    first, *rest = sorted(done.stdout.splitlines())
    assert first.startswith("1 k0.py: ")
    assert "Passed" in first
    assert len(rest) == 2
    assert all("Cancelled" in line and "device seconds are spent" in line for line in rest)
    assert "budget spent, 3 of 3 candidates ended (1 passed)" in done.stderr
    assert stage.rows("SELECT act, count(*) FROM submissions_quotaline GROUP BY act ORDER BY act") == [
        ("given_back", 2),
        ("spent", 3),
    ]
