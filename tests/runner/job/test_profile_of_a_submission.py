"""Mode `profile` in real containers: figures and files for a good kernel, and no harm from any other."""

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from runner.commands import local
from runner.config import JudgeSettings
from runner.evidence import profiled
from runner.evidence.profiled import Profiled
from runner.job import prepare, profile
from runner.wire import Report
from sandbox import policy
from tests.conftest import SANDBOX_IMAGE

pytestmark = pytest.mark.docker

GOOD = """
import torch

def custom_kernel(data):
    x, out = data
    out.copy_(torch.add(x, 1.0))
    return out
"""
UNDER_A_PROFILER = "import sys\nPROFILED = 'profiler' in sys.argv[0]\n"


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)


def judged(settings: JudgeSettings, source: str) -> tuple[Report, Profiled | None]:
    problem = local.find_problem("add").on("cpu")
    problem = replace(problem, benchmarks=problem.benchmarks[:2])  # the others have up to 1 GB
    job = local.job_from(problem, source, "kernel.py", "profile", "cpu")
    report = local.judge_here(job, settings, lambda event: None)
    return report, profiled.read(report.profile)


def test_good_kernel_gets_figures_operators_and_files(settings: JudgeSettings) -> None:
    report, found = judged(settings, GOOD)
    assert (report.outcome, report.ratio, report.evidence["timing"]) == ("passed", None, [])
    assert found is not None
    assert found.notes == ()
    assert found.case == "size=524288"
    assert found.bound in ("", "latency", "occupancy"), "this machine's bandwidth was never measured"
    assert [figure.name for figure in found.figures] == ["memory bandwidth", "inside operators", "cores at work"]
    assert {"aten::add", "aten::copy_"} <= {row.name for row in found.rows}
    assert sum(row.share for row in found.rows) == pytest.approx(1.0)
    trace = json.loads(gzip.decompress(base64.b64decode(found.files["trace.json.gz"])))
    assert any(event.get("name") == "aten::add" for event in trace["traceEvents"])
    assert b"aten::add" in base64.b64decode(found.files["operators.txt"])


def test_wrong_kernel_is_not_profiled(settings: JudgeSettings) -> None:
    report, found = judged(settings, GOOD.replace("1.0", "2.0"))
    assert (report.outcome, found) == ("wrong", None)


@pytest.mark.parametrize(
    ("trick", "word"),
    [
        ("raise ValueError('not here')", "not here"),
        ("import os; os._exit(0)", "without an answer"),
        ("import time; time.sleep(60)", "did not end within"),
    ],
)
def test_kernel_that_fails_under_the_profiler_keeps_its_verdict(
    settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch, trick: str, word: str
) -> None:
    monkeypatch.setattr(profile, "LIMIT_S", 10.0)
    tricky = GOOD.replace("out.copy_", f"if PROFILED: {trick}\n    out.copy_")
    report, found = judged(settings, UNDER_A_PROFILER + tricky)
    assert report.outcome == "passed"
    assert found is not None
    assert (found.bound, found.figures, found.files) == ("", (), {})
    assert word in found.notes[0]


FORGED = """
import json, os, socket, struct, sys
if 'profiler' in sys.argv[0]:
    message = json.dumps(ANSWER).encode()
    for fd in range(3, 64):
        try:
            if socket.socket(fileno=os.dup(fd)).family == socket.AF_UNIX:
                os.write(fd, struct.pack("<I", len(message)) + message)
        except OSError:
            pass
    os._exit(0)
"""


WITH_FILES = '{"wall_us": 1.0, "cpu_us": 1.0, "cores": 1, "outside": 0.0, "operators": [], "files": '
FORGERIES = {
    "name": '{"files": {"../x": "aGk="}}',
    "operators": '{"operators": 7}',
    "time": '{"wall_us": -1}',
    "list": "[]",
    "no base64": f'{WITH_FILES}{{"operators.txt": "abcde"}}}}',
    "size": f'{WITH_FILES}dict.fromkeys(("operators.txt", "trace.json.gz"), "A" * 3_000_000)}}',
}


@pytest.mark.parametrize("answer", FORGERIES.values(), ids=FORGERIES)
def test_forged_answer_is_not_read(settings: JudgeSettings, answer: str) -> None:
    report, found = judged(settings, f"ANSWER = {answer}\n{FORGED}{GOOD}")
    assert report.outcome == "passed"
    assert found is not None
    assert (found.rows, found.files) == ((), {})
    assert len(found.notes) == 1


def test_only_the_container_of_the_counters_has_their_capability(
    settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = "net_raw"  # by every engine; Debian's 20.10 does not know CAP_PERFMON
    monkeypatch.setattr(policy, "PERFMON", known)
    allowed = settings.model_copy(update={"runner_counters": known})
    with prepare.prepared(allowed, ()) as ready:
        found = {}
        for counters in (False, True):
            made = ready.start_profiler(counters=counters)
            status = Path(f"/proc/{made.pid}/status").read_text()
            found[counters] = int(status.split("CapEff:")[1].split()[0], 16)
            assert made.policy.kind == ("counters" if counters else "profiler")
            made.close()
        oracle = Path(f"/proc/{ready.oracle.container.pid}/status").read_text()
    assert found == {False: 0, True: 1 << 13}, "CAP_NET_RAW alone"
    assert "CapEff:\t0000000000000000" in oracle
