"""Timed calls have wider limits, since few are held against double precision; no submission knows which calls."""

from pathlib import Path

import pytest

from runner.evidence.schedule import CPU, A, B
from runner.judge import timing
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.memory import Memory
from runner.judge.data.room import BARE, Plan
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.tenant import Tenant
from runner.judge.timing import TimedSide
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of, problem_of
from tests.runner.judge.tenant_here import tenant_of

SUMS = """
import torch

def generate_input(*, n, seed):
    return torch.rand(n, generator=torch.Generator().manual_seed(seed))

def ref_kernel(x):
    return x.sum()
"""
CASE = {"n": 100_000, "seed": 1}
SLOPPY = "def custom_kernel(x):\n    return x.double().sum().float() * (1 + OFF)\n"


def trial_of(oracle: Oracle, tenant: Tenant) -> Trial:
    calls = Calls(problem_of(SUMS, CASE), oracle, {A: tenant, B: tenant}, Memory())
    return Trial(calls, "ranked", profile=CPU, emit=lambda *told: None)


def found(folder: Path, off: float, side: str) -> str:
    with oracle_of(SUMS, folder) as oracle, tenant_of(folder / "tenant") as tenant:
        trial = trial_of(oracle, tenant)
        oracle.make(CASE, 1, fp64="condition")  # as in a check, which comes first
        trial.load(SLOPPY.replace("OFF", str(off)), B)
        timed = TimedSide(trial.calls, side, CASE, Stage("Timing", 60, Stopwatch()))
        for calls in (1, 4):
            timed.make_ready(calls)
            timed.run_block()
            if (wrong := timed.settle().wrong) is not None:
                return str(wrong.reason)
    return ""


@pytest.mark.parametrize(
    ("off", "share", "side", "expected"),
    [
        (2e-4, 1.0, B, "mismatch"),
        (2e-4, 0.0, B, ""),
        (2e-4, 1.0, A, ""),
        (0.0, 1.0, B, ""),
        (2e-3, 0.0, B, "mismatch"),
    ],
)
def test_an_output_is_as_right_as_in_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: float, share: float, side: str, expected: str
) -> None:
    monkeypatch.setattr(timing, "STRICT_SHARE", share)
    assert found(tmp_path, off, side) == expected


@pytest.mark.parametrize(
    ("plan", "repeats"),
    [
        (Plan(1), [False, True]),
        (Plan(1, near=False, keeps=False), [False]),
        (Plan(1, near=False, repeats=False), []),
        (BARE, []),
    ],
)
def test_a_block_of_a_single_call_repeats_as_its_plan_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan, repeats: list[bool]
) -> None:
    for share in ("NEAR_SHARE", "REPEAT_SHARE", "STRICT_SHARE"):
        monkeypatch.setattr(timing, share, 1.0)
    with oracle_of(SUMS, tmp_path) as oracle, tenant_of(tmp_path / "tenant") as tenant:
        trial = trial_of(oracle, tenant)
        trial.load(SLOPPY.replace("OFF", "0.0"), B)
        oracle.make(CASE, 1, fp64="condition")
        trial.calls.plan = plan
        timed = TimedSide(trial.calls, B, CASE, Stage("Timing", 60, Stopwatch()))
        for _ in range(3):
            timed.make_ready(1)
            strict = [turn.given.expected64 is not None for turn in timed._turns]
            assert len(timed.run_block()) == 1
            settled = timed.settle()
            assert settled.wrong is None
            assert sorted(one.near for one in settled.repeats) == repeats
            assert any(strict) is plan.strict
            assert len(trial.calls._buffers) == 1 + len(repeats), "no buffer that no call needs"
