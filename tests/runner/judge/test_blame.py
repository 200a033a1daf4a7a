"""Assignment of blame: work left on the device belongs to its last guest, and a broken device is no side's fault."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from problems.formats import kernelbench
from runner.evidence import replay, verdict
from runner.evidence.recorder import CaseRecorder
from runner.evidence.schedule import ABIIBA, CPU, GPU, B, I
from runner.evidence.throttle import Reading, Window
from runner.judge import timing
from runner.judge.calls import Calls
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.data.memory import Memory
from runner.judge.device.telemetry import Blind
from runner.judge.trial import Trial
from tests.runner.evidence.whole import parsed, parsed_timing
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.simulated import FakeSide, Race, at_block, race
from tests.runner.judge.tenant_here import tenant_of

GPU_CASE: dict[str, Any] = {"profile": GPU, "baseline_ns": 50_000.0}
WRONG = {"case": "n=1", "public": False, "good": False, "reason": "mismatch", "message": "All of it."}
BROKEN = ({"ecc_errors": 1}, {"xids": (79,)}, {"lost": True})


def three(probe: Callable[[Race], float]) -> Race:
    made = race(0.98, order=ABIIBA, probe_ns=probe, **GPU_CASE)
    made.sides[I] = FakeSide(made, I, 49_500.0)
    return made


def left_by(one: str, *, seen_by: str) -> Callable[[Race], float]:
    """The first probe of each block of `seen_by` that comes right after a block of `one` meets work."""
    blocks = [0]

    def probe(race: Race) -> float:
        first, blocks[0] = len(race.blocks) != blocks[0], len(race.blocks)
        met = first and race.blocks[-2:] == [one, seen_by] and len(race.blocks) > 6
        return 2e6 if met else 15_000.0

    return probe


@pytest.mark.parametrize(("one", "other"), [(I, B), (B, I)])
def test_what_is_still_at_work_when_a_block_begins_was_left_by_the_guest_before(one: str, other: str) -> None:
    timed = three(left_by(one, seen_by=other))
    found = timed.run()
    charged = {quad["charged"] for quad in timed.timing["quads"] if quad["void"]}
    assert charged == {one}
    assert (found.outcome == "passed") == (one == I)
    assert not replay.rerun(*parsed_timing(**timed.evidence()))


def fail(kind: str, failure: Exception | None) -> Callable[[Race], None]:
    def arm(timed: Race) -> None:
        side = timed.sides[B]
        run_block = side.run_block

        def failing() -> list[list[float]]:
            samples = run_block()
            if failure is not None and len(timed.blocks) == 10:
                raise failure
            return samples

        side.run_block = failing  # type: ignore[method-assign]
        wrong = timing.Settled(wrong=WRONG if kind == "wrong" else None)
        side.settle = lambda: wrong if len(timed.blocks) == 10 else timing.Settled()  # type: ignore[method-assign]

    return arm


FAILS = [
    fail("wrong", None),
    fail("", Fault("timeout", "call", "It took too long.")),
    fail("", OracleFailed("the baseline is wrong")),
    fail("", IncumbentFailed("wrong", "mismatch")),
]


@pytest.mark.parametrize("told", BROKEN, ids=["ecc", "xid", "lost"])
@pytest.mark.parametrize("failing", FAILS, ids=["wrong", "fault", "oracle", "incumbent"])
def test_what_goes_wrong_while_the_device_breaks_is_nobodys_fault(
    failing: Callable[[Race], None], told: dict[str, Any]
) -> None:
    timed = race(0.98, heat=at_block(9, **told), **GPU_CASE)
    failing(timed)
    found = timed.run()
    assert (found.outcome, found.reason) == ("unmeasurable", "device_unfit")
    assert not replay.rerun(*parsed_timing(**timed.evidence()))


def test_a_run_that_was_set_aside_is_replayed_with_the_cases_that_it_never_began() -> None:
    timed = race(0.98, heat=at_block(9, xids=(79,)), **GPU_CASE)
    timed.run()
    evidence = timed.evidence()
    assert evidence["set_aside"] == "xid_79"
    assert replay.rerun(CaseRecorder("n=2", {"n": 2}).timing, parsed(evidence)) == []


def test_a_hot_device_excuses_no_wrong_output() -> None:
    timed = race(0.98, heat=at_block(9, mask=0x40), **GPU_CASE)
    fail("wrong", None)(timed)
    with pytest.raises(AssertionError):  # of the simulation, which knows no wrong outputs
        timed.run()
    assert timed.timing["ended"] == ""


def test_a_fault_without_a_broken_device_is_the_submissions() -> None:
    timed = race(0.98, **GPU_CASE)
    fail("", Fault("timeout", "call", "It took too long."))(timed)
    with pytest.raises(Fault):
        timed.run()


DOUBLES = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [torch.rand(64)]

def get_init_inputs():
    return []
"""
PROBLEM = kernelbench.parse(DOUBLES, "1_Doubles.py", 1)


class Breaking(Blind):
    def end(self) -> Window:
        told = super().end()
        return Window(told.before, Reading(at_ns=told.after.at_ns, xids=(79,)))


@pytest.mark.parametrize("telemetry", [Blind(), Breaking()], ids=["well", "breaking"])
@pytest.mark.parametrize("line", ["return 3 * x", "raise ValueError"])
def test_a_check_on_a_device_that_breaks_says_nothing(tmp_path: Path, line: str, telemetry: Blind) -> None:
    with oracle_of(DOUBLES, tmp_path, init_seed=1) as oracle, tenant_of(tmp_path / "tenant") as tenant:
        trial = Trial(Calls(PROBLEM, oracle, {B: tenant}, Memory()), "test", profile=CPU, emit=lambda *told: None)
        trial.load(PROBLEM.templates["Python"].replace("return 2 * x", line))
        try:
            trial.check(telemetry)
        except Fault as fault:
            trial.recorder.add_fault(fault.outcome, fault.reason, fault.message)
    outcome = verdict.decide(trial.evidence).outcome
    if isinstance(telemetry, Breaking):
        assert (outcome, trial.evidence.set_aside, trial.evidence.fault) == ("unmeasurable", "xid_79", None)
    else:
        assert outcome == ("wrong" if "3" in line else "runtime_error")
