"""`photofinish search` with a scripted model behind a real chat endpoint, on the real judge.

The model knows a ladder of softmax kernels. It names the idea of the next rung only if the prompt shows the kernel of
the rung below with its feedback, so that a search without memory stays on the ground.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chat_server import chat_server
from tests.e2e.conftest import Stage, await_that

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(900)]

SAMPLES = Path("problems/library/kernels101/softmax/submissions")
KEY = "sk-known-to-this-test"
START = """
import torch


def custom_kernel(data):
    x, out = data
    exact = x.double()  # slower than the baseline on every machine
    top = exact.amax(dim=-1, keepdim=True)
    powers = torch.exp((exact - top).clone())
    total = powers.sum(dim=-1, keepdim=True)
    out.copy_(powers / total)
    return out
"""
POLYNOMIAL = (SAMPLES / "accepted/c_polynomial.py").read_text()
WIDE = POLYNOMIAL.replace('"-ffast-math"', '"-ffast-math", "-mprefer-vector-width=512"').replace(
    "double sum", "float sum"
)
SHORT = WIDE.replace("    float p = 1.0f / 5040;\n    p = p * f + 1.0f / 720;\n    p = p * f + 1", "    float p = 1")
LADDER = {
    "work on blocks of rows that stay in the cache": (SAMPLES / "accepted/torch_blocks.py").read_text(),
    "write loops in C with a polynomial for the exponential": POLYNOMIAL,
    "use vectors of 512 bits and sum in single precision": WIDE,
    "drop two terms of the polynomial": SHORT,
}
ASIDE = {  # ideas for a kernel that it does not know
    "leave the maximum out": (SAMPLES / "wrong/no_maximum.py").read_text(),
    "return early": "def custom_kernel(data:\n",
}
FEEDBACK = "The judge's feedback on it:"


class Model:
    def __init__(self) -> None:
        self.named: list[str] = []  # ideas, each once

    def __call__(self, prompt: str, number: int) -> str:
        if "Write no code." in prompt:
            parents = prompt.partition("A kernel to start from")[2]
            shown = [code for code in (START, *LADDER.values()) if f"{code.strip()}\n```" in parents]
            place = len(LADDER) if FEEDBACK not in parents or not shown else [START, *LADDER.values()].index(shown[-1])
            known = [*list(LADDER)[place:], *ASIDE]
            idea = next((one for one in known if one not in self.named), "start anew")
            self.named.append(idea)
            return f"I would try this:\n- {idea}\n"
        wanted = prompt.partition("Realise this idea: ")[2].partition("\n")[0]
        code = {**LADDER, **ASIDE}.get(wanted, START)
        return f"Here it is.\n\n```python\n{code.strip()}\n```\n\nIt should be faster."


def test_search_improves_a_slow_softmax_beyond_the_baseline(stage: Stage, tmp_path: Path) -> None:
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    start, folder = tmp_path / "start.py", tmp_path / "search"
    start.write_text(START)
    with chat_server(Model()) as server:
        command = ["search", "softmax", "--hardware", "cpu", "--proposer", server.url, "--model", "ladder"]
        command += ["--start", str(start), "--per-round", "2", "--realisations", "1", "--rounds", "3"]
        command += ["--into", str(folder), "--json"]
        stage.environment["PROPOSER_API_KEY"] = KEY
        first = stage.begin("search", "leaderboard.cli.start", *command)

        def records(kind: str) -> list[dict[str, Any]]:
            lines = (folder / "journal.jsonl").read_text().split("\n")[:-1] if folder.is_dir() else []
            return [one for one in map(json.loads, lines) if one["kind"] == kind]

        await_that(lambda: len(records("sent")) == 3, within_s=240)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        done = stage.photofinish(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert set(server.keys) == {f"Bearer {KEY}"}
    found = json.loads(done.stdout)
    began, ended = found["by_round"][0]["best_ratio"], found["best"][0]["ratio"]
    assert began > 3, "the search begins three times slower than the baseline"
    assert ended < 1, "it ends faster"
    assert found["rounds"] == 3
    assert found["best"][0]["idea"] in list(LADDER)[1:]  # the last two gain where a processor has 512-bit vectors
    assert {"passed", "wrong", "build_error"} <= set(found["outcomes"])
    # A kill made the site judge nothing twice, and the lineage leads from the winner to the start.
    codes = stage.rows("SELECT source FROM submissions_submission")
    assert len(codes) == len(set(codes)) == found["candidates"]
    parents = dict(stage.rows("SELECT child_id, parent_id FROM submissions_parent"))
    line = [found["best"][0]["submission"]]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    assert line[-1] == min(parents.values()), "the start was sent first"
    [(idea, named, strategy)] = stage.rows(
        f"SELECT idea, model, strategy FROM submissions_lineage WHERE submission_id = {line[0]}"
    )
    assert (idea, named, strategy) == (found["best"][0]["idea"], "scripted-1", "evolve")
    assert KEY not in "".join(path.read_text() for path in folder.iterdir()) + done.stderr
