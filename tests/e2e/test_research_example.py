"""docs/examples/research.py as its reader runs it, then the data set, on a real site with the real judge."""

import json
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.e2e.conftest import Stage

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(900)]

SOURCE = "problems/library/kernels101/softmax/submissions/accepted/torch_copy.py"
EXAMPLE = "docs/examples/research.py"


def test_research_example_goes_from_ideas_to_a_child_of_the_best_kernel(stage: Stage) -> None:
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    assert len(Path(EXAMPLE).read_text().splitlines()) <= 60, "short enough to read"
    token = stage.environment["PHOTOFINISH_TOKEN"]
    command = [sys.executable, EXAMPLE, stage.url, token]
    done = subprocess.run(command, env=stage.environment, capture_output=True, text=True, timeout=780)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "# leave the maximum out: wrong" in said
    assert "# forget a bracket: build_error" in said
    assert "# call the library: passed" in said
    assert "# work in blocks: passed" in said
    rewards = [float(found) for found in re.findall(r"reward ([0-9.]+)", said)]
    assert len(rewards) == 3
    assert all(reward > 0.3 for reward in rewards)
    child = int(said.rpartition("/submissions/")[2].partition("/")[0])
    ideas = stage.rows(
        "SELECT idea FROM submissions_parent JOIN submissions_lineage ON submission_id = parent_id"
        f" WHERE child_id = {child}"
    )
    assert ideas[0][0] in ("call the library", "work in blocks"), "the faster of both right kernels"
    assert stage.rows("SELECT count(*) FROM submissions_submission") == [(7,)]


def test_data_set_has_the_verified_kernel_once_its_contest_is_over(stage: Stage, tmp_path: Path) -> None:
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    sent = stage.photofinish(
        *("submit", SOURCE, "--board", "softmax", "--hardware", "cpu", "--mode", "ranked", "--watch"),
        *("--lineage", "model=by-hand", "--lineage", "idea=copy blocks"),
    )
    assert sent.returncode == 0, sent.stdout + sent.stderr
    with psycopg.connect(stage.database) as connection:
        connection.execute("UPDATE competitions_competition SET deadline = now()")
    folder = tmp_path / "data"
    stage.manage("export_dataset", str(folder))
    rows = [json.loads(line) for file in folder.glob("jsonl/kernels/*.jsonl") for line in file.read_text().splitlines()]
    [row] = [one for one in rows if one["code"] == Path(SOURCE).read_text()]
    assert (row["outcome"], row["hardware"], row["licence"]) == ("passed", "cpu", "MIT")
    assert (row["model"], row["idea"]) == ("by-hand", "copy blocks")
