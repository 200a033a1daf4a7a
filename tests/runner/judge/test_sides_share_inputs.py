"""A block of the baseline and one of the candidate have the same inputs, and no side has an input in two blocks.

Beside an incumbent each block has its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.evidence.schedule import CPU, A, B, I
from runner.evidence.schema import Timing
from runner.evidence.throttle import COUNTERS, Window
from runner.judge import timing
from runner.judge import trial as trial_module
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import OracleFailed
from runner.judge.data.memory import Memory
from runner.judge.device.telemetry import Blind, nothing
from runner.judge.timing import Shared, TimedSide
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of, problem_of
from tests.runner.judge.simulated import counted
from tests.runner.judge.tenant_here import tenant_of
from tests.runner.judge.test_oracle_works_ahead import Beside

SUMS = """
import torch

def generate_input(*, n, seed):
    return torch.rand(n, generator=torch.Generator().manual_seed(seed))

def ref_kernel(x):
    return x.sum()
"""
CASE: dict[str, Any] = {"n": 100_000}
SLOPPY = "def custom_kernel(x):\n    return x.double().sum().float() * (1 + OFF)\n"
EXACT = SLOPPY.replace("OFF", "0.0")
MADE: list[tuple[int, str]] = []  # inputs of the oracle, as they are made and released


@contextmanager
def trial_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: dict[str, str], memory: Memory | None = None
) -> Iterator[Trial]:
    """Trial with a container's process for each side, loaded with its source."""
    with ExitStack() as stack:
        oracle = stack.enter_context(oracle_of(SUMS, tmp_path))
        sides = {name: stack.enter_context(tenant_of(tmp_path / name, memory=memory)) for name in sources}
        trial = Trial(
            Calls(problem_of(SUMS, CASE), oracle, sides, memory or Memory()),
            "ranked",
            profile=replace(CPU, most_quads=CPU.first_look, noisy=0.0),
            emit=lambda *told: None,
        )
        for name, source in sources.items():
            trial.load(source, name)
        trial.check(Blind())
        MADE.clear()
        make, release = oracle._made, oracle.release

        def made(*args: Any) -> Any:
            given = make(*args)
            MADE.append((given.number, "made"))
            return given

        monkeypatch.setattr(oracle, "_made", made)
        monkeypatch.setattr(
            oracle, "release", lambda given: [MADE.append((given.number, "released")), release(given)][1]
        )
        yield trial


def distinct(blocks: list[Any]) -> list[set[int]]:
    return [set(block.seeds) for block in blocks]


def timing_of(trial: Trial) -> Timing:
    trial.measure(Blind())
    assert trial.counts
    (timed,) = trial.evidence.timing
    assert len(timed.quads) >= CPU.first_look
    return timed


@pytest.mark.parametrize("memory", [Memory(), Beside()], ids=["the host", "a device"])
@pytest.mark.parametrize("order", [(A, B), (A, B, I)], ids=["", "with an incumbent"])
def test_the_baseline_and_the_candidate_have_each_input_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...], memory: Memory
) -> None:
    with trial_of(tmp_path, monkeypatch, dict.fromkeys(order, EXACT), memory) as trial:
        timed = timing_of(trial)
        alike = [distinct(quad.of(A)) == distinct(quad.of(B)) for quad in timed.quads]
        if len(timed.warm[B]) > len(timed.warm[A]):
            alike.pop(0)  # the baseline's first block had the inputs of the candidate's further window of warm-up
        assert set(alike) == {I not in order}
        had = {
            side: [seed for quad in timed.quads for block in distinct(quad.of(side)) for seed in block]
            for side in order
        }
        assert all(len(set(seeds)) == len(seeds) > 0 for seeds in had.values())
        if I in order:
            assert not set(had[A]) & set(had[B]) | set(had[A]) & set(had[I]) | set(had[B]) & set(had[I])
        assert set(Counter(MADE).values()) == {1}, "each is made once, and released once"
        assert {number for number, what in MADE if what == "made"} == {
            number for number, what in MADE if what == "released"
        }


class HotOnce(Blind):
    """A device that throttles when the baseline's inputs wait for the candidate in the second quad or later."""

    def __init__(self, trial: Trial) -> None:
        self._trial, self._was_hot = trial, False

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        window = super().end(meanwhile)
        (timed,) = self._trial.evidence.timing
        is_hot = not self._was_hot and len(timed.quads) > 1 and len(timed.quads[-1].blocks) == 1
        self._was_hot |= is_hot
        before, after = dict.fromkeys(COUNTERS, 0), counted(270, 5_000_000 if is_hot else 0)
        return Window(replace(window.before, counters=before), replace(window.after, counters=after))


def test_a_void_quad_gives_no_side_an_input_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_module, "pause_for", lambda telemetry: lambda why: None)
    with trial_of(tmp_path, monkeypatch, {A: EXACT, B: EXACT}) as trial:
        trial.measure(HotOnce(trial))
        (timed,) = trial.evidence.timing
        assert [quad.void != "" for quad in timed.quads].count(True) == 1
        for side in (A, B):
            seeds = [seed for quad in timed.quads for block in distinct(quad.of(side)) for seed in block]
            assert len(set(seeds)) == len(seeds) > 0
        assert set(Counter(MADE).values()) == {1}
        assert Counter(what for _, what in MADE)["made"] == Counter(what for _, what in MADE)["released"]


def test_inputs_that_one_side_alone_had_are_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a quad that became void, or where the other side makes another number of calls."""
    with trial_of(tmp_path, monkeypatch, {A: EXACT, B: EXACT}) as trial:
        shared, stage = Shared(trial.calls), Stage("Timing", 60, Stopwatch())
        sides = {name: TimedSide(trial.calls, name, CASE, stage) for name in (A, B)}
        sides[A].shared = sides[B].shared = shared
        had: list[set[int]] = []
        for name, calls in ((A, 3), (A, 3), (B, 3), (B, 3), (A, 4), (B, 4)):
            sides[name].make_ready(calls)
            sides[name].run_block()
            had.append({turn.given.seed for turn in sides[name]._turns})
            assert sides[name].settle().wrong is None
        assert had[1] == had[2]
        assert had[4] == had[5]
        assert len({frozenset(seeds) for seeds in had}) == 4
        shared.drop()
        assert Counter(what for _, what in MADE)["made"] == Counter(what for _, what in MADE)["released"]


def test_a_block_of_one_call_has_a_near_duplicate_and_a_repeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "NEAR_SHARE", 1.0)
    monkeypatch.setattr(timing, "REPEAT_SHARE", 1.0)
    with trial_of(tmp_path, monkeypatch, {B: EXACT}) as trial:
        side = TimedSide(trial.calls, B, CASE, Stage("Timing", 60, Stopwatch()))
        side.make_ready(1)
        assert len(side.run_block()) == 1
        assert sorted((repeat.near, repeat.same_bits) for repeat in side.settle().repeats) == [
            (False, True),
            (True, False),
        ]


@pytest.mark.parametrize(("off", "side", "wrong"), [(2e-4, B, True), (2e-4, A, False), (2e-3, A, True)])
def test_the_candidate_alone_is_held_against_double_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: float, side: str, *, wrong: bool
) -> None:
    monkeypatch.setattr(timing, "STRICT_SHARE", 1.0)
    with trial_of(tmp_path, monkeypatch, {A: EXACT, B: EXACT}) as trial:
        trial.calls.sides[side].close()
        with tenant_of(tmp_path / "sloppy") as sloppy:
            trial.calls.sides[side] = sloppy
            trial.load(SLOPPY.replace("OFF", str(off)), side)
            shared, stage = Shared(trial.calls), Stage("Timing", 60, Stopwatch())
            sides = {name: TimedSide(trial.calls, name, CASE, stage) for name in (A, B)}
            sides[A].shared = sides[B].shared = shared
            other = B if side == A else A
            for name in (other, side):
                sides[name].make_ready(3)
                assert any(one.expected64 is not None for one in sides[name]._given)
                sides[name].run_block()
                try:
                    found = sides[name].settle().wrong is not None
                except OracleFailed:
                    found = True
                assert found is (wrong and name == side)
