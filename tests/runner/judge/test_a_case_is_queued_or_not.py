"""All sides of a case go the same way: once most calls of a block could not be queued, no later call is queued."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from runner.evidence.sample import Sample
from runner.evidence.schedule import B
from runner.judge.data.call import Call, Input
from runner.judge.data.room import Plan
from runner.judge.timing import FIRST_VISITS, LONG_NS, TimedSide


class Judged:
    """The part of a trial that a TimedSide needs; `queued` gives for each call whether it was queued."""

    def __init__(self, queued: list[bool], wall_ns: int = 9) -> None:
        self._wall_ns = wall_ns
        self.chance = random.Random(1)
        self.memory = SimpleNamespace(sweeps=False)
        self.queueing = True
        self.plan = Plan(99)
        self._queued = iter(queued)
        self.called = 0
        self.oracle = SimpleNamespace(release=lambda given: None)
        self.sides = {B: SimpleNamespace(begin_turns=lambda: 16, move=lambda: None, leans=True)}
        self.good = True
        self.lean: list[bool] = []
        self.late_if_lean = False

    def draw_seeds(self, count: int, near_to: int | None) -> list[Any]:
        return [(1, None)] * (count + (near_to is not None))

    def made_of(self, seeds: list[Any], case: Any, strictly: Any) -> list[Any]:
        layout: Any = SimpleNamespace(output_bytes=256)
        return [Input(0, "", 0, layout, None, None)] * len(seeds)

    def buffer(self, index: int, size: int) -> None: ...

    def compared(self, *args: Any) -> list[Any]:
        return []

    def judge_output(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return SimpleNamespace(good=self.good)

    def call(self, *args: Any, **kwargs: Any) -> tuple[Call, None]:
        self.called += 1
        self.lean.append(kwargs["lean"])
        is_lean = kwargs["lean"]
        sample = Sample(self._wall_ns, 1, 1, 0 if is_lean else 5, 0, 0, 0)
        late = is_lean and self.late_if_lean
        return Call(sample, inputs_kept=True, late=late, queued=next(self._queued)), None


@pytest.mark.parametrize(
    ("queued", "stays"),
    [([True] * 9, True), ([False, False] + [True] * 7, True), ([True, True] + [False] * 7, False)],
    ids=["all are queued", "the first calls compile", "most wait for their device"],
)
def test_most_calls_of_a_block_decide(queued: list[bool], stays: bool) -> None:
    trial: Any = Judged(queued)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(5)
    side.run_block()
    assert trial.queueing is stays


def test_a_visit_of_every_place_decides_nothing() -> None:
    """The judge captures a graph for each place."""
    trial: Any = Judged([False] * 99)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    assert side.visit(5) is None
    assert 16 <= trial.called < 24
    assert trial.queueing
    side.make_ready(5)
    side.run_block()
    assert not trial.queueing


def test_where_calls_are_long_few_places_are_visited() -> None:
    trial: Any = Judged([False] * 99, wall_ns=2 * LONG_NS)
    assert TimedSide(trial, B, {}, SimpleNamespace()).visit(5) is None  # type: ignore[arg-type]
    assert FIRST_VISITS <= trial.called <= FIRST_VISITS + 2


def test_what_is_wrong_in_a_visit_ends_it() -> None:
    trial: Any = Judged([True] * 99)
    trial.good = False
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    assert side.visit(5) == SimpleNamespace(good=False)
    assert trial.called < 8


def test_lean_calls_are_drawn_beside_the_others_and_none_is_a_repeat() -> None:
    trial: Any = Judged([True] * 9999)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    orders = set()
    for _ in range(40):
        side.make_ready(6, 2)
        trial.lean.clear()
        samples = side.run_block()
        settled = side.settle()
        assert (len(samples), len(settled.lean), settled.unready, sum(trial.lean)) == (6, 2, 0, 2)
        assert not trial.lean[0], "whose work its probe met must be known"
        orders.add(tuple(trial.lean))
    assert len(orders) > 20
    trial.queueing = False
    side.make_ready(6, 2)
    assert (len(side.run_block()), side.settle().lean) == (6, []), "an echo at once needs the work to be there"


def test_a_lean_call_whose_output_is_not_there_is_no_fault_and_the_last_one() -> None:
    trial: Any = Judged([True] * 9999)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(6, 2)
    trial.late_if_lean = True
    side.run_block()
    settled = side.settle()
    assert (settled.wrong, settled.lean, settled.unready) == (None, [], 2)
    side.make_ready(6, 2)
    assert len(side.run_block()) == 6
    settled = side.settle()
    assert (settled.lean, settled.unready) == ([], 0)


def test_a_wrong_output_of_a_lean_call_that_stays_as_it_was_read_is_a_fault() -> None:
    trial: Any = Judged([True] * 9999)
    trial.judge_output = lambda given, call, *args, **kwargs: SimpleNamespace(good=call.sample.inner_ns > 0)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(6, 2)
    side.run_block()
    assert side.settle().wrong == SimpleNamespace(good=False)


def test_a_lean_call_that_was_not_queued_certifies_nothing() -> None:
    trial: Any = Judged([True, True, True, False] * 99)
    unready = 0
    for _ in range(20):
        side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
        side.make_ready(2, 2)
        side.run_block()
        settled = side.settle()
        assert len(settled.lean) + settled.unready == 2
        unready += settled.unready
    assert unready


@pytest.mark.parametrize(("leans", "queueing"), [(True, True), (False, True), (True, False)])
def test_what_is_made_ahead_is_used_whether_calls_are_lean_or_not(leans: bool, queueing: bool) -> None:
    trial: Any = Judged([True] * 99)
    trial.queueing, trial.sides[B].leans = queueing, leans
    made: list[list[Any]] = []
    trial.begin_making = lambda seeds, case, strictly: made.append(seeds)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ahead(6, 2)
    made_of = trial.made_of
    trial.made_of = lambda seeds, case, strictly: [made.append(seeds), made_of(seeds, case, strictly)][1]
    side.make_ready(6, 2)
    assert made[0] is made[1]


def test_idle_calls_decide_nothing() -> None:
    trial: Any = Judged([False] * 9)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(5)
    side.run_block(idle=True)
    assert trial.queueing
