"""Real judging with an expired time limit: the kernel's accounts of the host decide whose fault it is."""

import time
from dataclasses import replace

import pytest

from problems.spec import Problem
from runner.commands import replay
from runner.evidence.starved import Reading
from runner.judge.device.processor import Meter
from tests.attacks.conftest import Judge, problem_named

HONEST = "import torch\n\ndef custom_kernel(data):\n    return torch.softmax(data[0], dim=-1, out=data[1])\n"
SLEEPS = "import time\ntime.sleep(60)\n" + HONEST
SPINS = "while True:\n    pass\n" + HONEST
SLOW = """
import time
_make = generate_input

def generate_input(**case):
    time.sleep(1.5)
    return _make(**case)
"""


def problem(reference: str = "") -> Problem:
    found = problem_named("softmax")
    files = {**found.files, "reference.py": found.files["reference.py"] + reference}
    return replace(found, files=files, test_timeout_s=2.5)


def starved(meter: Meter) -> Reading:
    """A host on which a container gets a twentieth of its core."""
    now = time.monotonic_ns()
    return Reading(now, now // 20, {1: now - now // 20}, (now - now // 20,))


def quiet(meter: Meter) -> Reading:
    return Reading(time.monotonic_ns(), 0, {1: 0}, (0,))


@pytest.mark.parametrize(("source", "reference"), [(SLEEPS, ""), (HONEST, SLOW)], ids=["import", "reference"])
def test_a_limit_that_runs_out_on_a_starved_host_is_nobodys_fault(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, source: str, reference: str
) -> None:
    monkeypatch.setattr(Meter, "read", starved)
    monkeypatch.setattr("tests.attacks.conftest.TRIES", 1)
    report = judge(source, problem(reference))
    assert (report.outcome, report.reason, report.score_us) == ("unmeasurable", "starved", None)
    assert ("make inputs" in report.evidence.get("operator", "")) == bool(reference)
    assert "make inputs" not in report.message
    assert replay.replay(report.to_json()).differences == ()


@pytest.mark.parametrize(
    ("source", "reference", "expected"),
    [(SLEEPS, "", ("timeout", "import")), (HONEST, SLOW, ("infra_error", "problem"))],
    ids=["import", "reference"],
)
def test_a_limit_that_runs_out_on_a_quiet_host_is_the_programs_own(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, source: str, reference: str, expected: tuple[str, str]
) -> None:
    monkeypatch.setattr(Meter, "read", quiet)
    report = judge(source, problem(reference))
    assert (report.outcome, report.reason) == expected


def test_kernel_tells_of_a_real_container_whether_it_runs_or_sleeps(judge: Judge) -> None:
    """This holds however busy the host is: a sleeping container waits for no core, and a spinning one runs or waits for
    a core."""
    slept = judge(SLEEPS, problem())
    assert (slept.outcome, slept.reason) == ("timeout", "import")
    share = slept.evidence["processor_share"]
    assert share["ran_ns"] + share["waited_ns"] < share["wall_ns"] / 2
    share = judge(SPINS, problem()).evidence["processor_share"]
    assert share["ran_ns"] > 0
    assert share["ran_ns"] + share["waited_ns"] > share["wall_ns"] / 2
