"""Every submission of the attack corpus gets the verdict of its table; the controls are accepted at honest times.

wrong and rejected are interchangeable; `flagged` may rank only at an honest time, and gains nothing where a busy
machine could not time it at all; after the `contained` submissions the honest control must pass unaffected, as far as
the two runs' intervals can tell.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from _pytest.mark import ParameterSet

from runner.wire import Report
from tests.attacks.attack import fooled_the_clock
from tests.attacks.conftest import Judge

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.py"))
HONEST = Path(__file__).parent / "corpus" / "control_honest.py"
REJECTED = ("wrong", "policy", "runtime_error", "build_error", "timeout", "out_of_memory")
NEIGHBOURLY = 0.25  # allowed change of the honest control's ratio after a contained attack, on cpu


def measured_ms(report: Report) -> list[float]:
    return [case["measured_us"] / 1e3 for case in report.cases if case["stage"] == "time"]


def effects(report: Report) -> list[str]:
    return [line for line in report.logs["stderr"].splitlines() if line.startswith("ATTACK-EFFECT")]


def field(source: str, name: str) -> str:
    found = re.search(rf"^{name}:? = ?(.+)$|^{name}: (\w+)", source, re.MULTILINE)
    assert found is not None
    return (found.group(1) or found.group(2)).strip('"')


def tried() -> Iterator[ParameterSet]:
    """All on softmax except the contained ones, which the honest control surrounds: it is on vector add here. Timed
    submissions need a quiet machine."""
    for path in CORPUS:
        expected = field(path.read_text(), "expect")
        if expected != "contained":
            problem = "vectoradd" if path == HONEST else "softmax"
            marks = () if expected in ("wrong", "rejected") else (pytest.mark.timed,)
            yield pytest.param(path, problem, marks=marks, id=f"{path.stem}-{problem}")


@pytest.mark.parametrize(("path", "problem"), list(tried()))
def test_it_gets_the_verdict_of_its_table(path: Path, problem: str, judge: Judge) -> None:
    source = path.read_text()
    if field(source, "REQUIRES") == "cuda":
        pytest.skip("needs a GPU: docs/lab-notebook has its verdict")
    expected, cost_ms = field(source, "expect"), float(field(source, "TRUE_COST_MS"))
    fails = expected in ("wrong", "rejected")
    report = judge(source, problem, "test" if fails else "ranked")  # both check alike, before any timing
    seen = (report.outcome, report.reason, report.message, effects(report))
    match expected:
        case "accepted":
            assert report.outcome == "passed", seen
            if path.stem == "control_slow":
                assert all(15 <= time <= 60 for time in measured_ms(report)), measured_ms(report)
        case "wrong" | "rejected":
            assert report.outcome in REJECTED, seen
            assert report.score_us is None
        case "flagged":
            assert report.outcome in ("passed", "unmeasurable", *REJECTED), seen
            assert not fooled_the_clock(report, cost_ms), (seen, measured_ms(report))
        case other:
            pytest.fail(f"the table says {other!r}, which this test does not know")
    if fails:
        assert not [line for line in effects(report) if "forged" not in line], "an abuse primitive worked"


@pytest.mark.timed
def test_contained_attacks_leave_the_honest_control_as_it_was(
    judge: Judge, owner: str, docker_client: docker.DockerClient
) -> None:
    """In test mode each, since no time of theirs counts; the control is timed before the first and after the last."""
    before = judge(HONEST.read_text(), "softmax", "ranked")
    contained = [path for path in CORPUS if field(path.read_text(), "expect") == "contained"]
    assert len(contained) == 3
    for path in contained:
        report = judge(path.read_text(), "softmax", "test")
        assert not [line for line in effects(report) if "fork refused" not in line], path.stem
        assert not docker_client.containers.list(all=True, filters={"label": f"photofinish.runner={owner}"}), path.stem
        if path.stem == "s11_kill_evaluator":
            assert report.outcome != "passed", report.message
    after = judge(HONEST.read_text(), "softmax", "ranked")
    for run in (before, after):
        assert run.outcome == "passed", (run.outcome, run.message)
        assert run.ratio is not None
    noise = math.hypot(before.half_width or 0.0, after.half_width or 0.0)
    assert abs(math.log(after.ratio / before.ratio)) <= math.log1p(NEIGHBOURLY) + noise
