"""All sides of a case go the same way: once most calls of a block could not be queued, no later call is queued."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from runner.commands.local import find_problem
from runner.evidence.sample import Sample
from runner.evidence.schedule import A, B
from runner.judge.calls import Calls, Stage, Turn
from runner.judge.data.call import Call, Input, Stopwatch
from runner.judge.data.memory import Memory
from runner.judge.data.room import Plan
from runner.judge.timing import FIRST_VISITS, LONG_NS, TimedSide


class Judged:
    """The part of a trial that a TimedSide needs; `queued` gives for each call whether it was queued."""

    def __init__(self, queued: list[bool], wall_ns: int = 9) -> None:
        self._wall_ns = wall_ns
        self.chance = random.Random(1)
        self.memory = SimpleNamespace(sweeps=False)
        self.comparing = Stopwatch()
        self.queueing = self.in_series = True
        self.plan = Plan(99)
        self._queued = iter(queued)
        self.called = self.made = 0
        self.oracle = SimpleNamespace(release=lambda given: None, checks=False)
        self.sides = {B: SimpleNamespace(begin_turns=lambda: 16, move=lambda: None, leans=True, own_in_series=True)}
        self.good = True
        self.lean: list[bool] = []
        self.late_if_lean = False
        self.longest = 2

    def draw_seeds(self, count: int, near_to: int | None = None) -> list[Any]:
        return [(1, None)] * (count + (near_to is not None))

    def made_of(self, seeds: list[Any], case: Any, strictly: Any = None) -> list[Any]:
        self.made += len(seeds)
        layout: Any = SimpleNamespace(output_bytes=256)
        return [Input(0, "", 0, layout, None, None)] * len(seeds)

    def buffer(self, index: int, size: int) -> None: ...

    def compared(self, *args: Any) -> list[Any]:
        return []

    def judge_output(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return SimpleNamespace(good=self.good)

    def series(self, side: str, turns: list[Turn], *args: Any, **kwargs: Any) -> list[tuple[Call, None]]:
        return [(self._made(turn), None) for turn in turns[: self.longest]]

    def _made(self, turn: Turn) -> Call:
        self.called += 1
        self.lean.append(turn.lean)
        sample = Sample(self._wall_ns, 1, 1, 0 if turn.lean else 5, 0, 0, 0)
        late = turn.lean and self.late_if_lean
        return Call(sample, inputs_kept=True, late=late, queued=next(self._queued))


def test_the_first_call_of_a_case_is_known_as_such_for_each_side() -> None:
    told: list[tuple[str, bool]] = []

    def side(name: str) -> Any:
        def series(wanted: Any, limit_s: float, *, is_first: bool) -> list[Any]:
            told.append((name, is_first))
            return [SimpleNamespace(queued=True)] * len(wanted)

        return SimpleNamespace(queues=True, lay_out=lambda *_: None, forget=lambda _: None, series=series)

    oracle: Any = SimpleNamespace(rest=lambda: None, constructed_s=0.0)
    calls = Calls(find_problem("vectoradd"), oracle, {B: side(B), A: side(A)}, Memory())
    layout: Any = SimpleNamespace(output_bytes=256)
    stage = Stage("Checking", 60.0, Stopwatch())
    for name, case in ((B, "n=4"), (B, "n=4"), (A, "n=4"), (B, "n=5"), (B, "n=4")):
        calls.call(name, Input(0, case, 0, layout, None, None), stage, 0)
    assert told == [(B, True), (B, False), (A, True), (B, True), (B, False)]
    told.clear()
    calls.forget(B, stage)  # as before each case
    for name in (A, B, B):
        calls.call(name, Input(0, "n=4", 0, layout, None, None), stage, 0)
    assert told == [(A, False), (B, True), (B, False)]


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
    assert 16 <= trial.called < 32
    assert trial.made < trial.called / 2, "calls in a row share an input"
    assert trial.queueing
    side.make_ready(5)
    side.run_block()
    assert not trial.queueing


def test_where_calls_are_long_few_places_are_visited() -> None:
    trial: Any = Judged([False] * 99, wall_ns=2 * LONG_NS)
    assert TimedSide(trial, B, {}, SimpleNamespace()).visit(5) is None  # type: ignore[arg-type]
    assert FIRST_VISITS <= trial.called <= FIRST_VISITS + 2


def test_a_long_first_call_makes_no_case_one_of_long_calls() -> None:
    """The data of a `ModelNew` have one place, and its first call may wait for what it prepares."""
    trial: Any = Judged([False, *[True] * 99], wall_ns=2 * LONG_NS)
    trial.sides[B].begin_turns = lambda: 1
    made = trial._made

    def first_is_long(turn: Turn) -> Call:
        call = made(turn)
        trial._wall_ns = LONG_NS // 2
        return call

    trial._made = first_is_long
    assert TimedSide(trial, B, {}, SimpleNamespace()).visit(5) is None  # type: ignore[arg-type]
    assert trial.called > FIRST_VISITS
    assert trial.lean[-1], "the last series of a visit"


def test_what_is_wrong_in_a_visit_ends_it() -> None:
    trial: Any = Judged([True] * 99)
    trial.good = False
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    assert side.visit(5) == SimpleNamespace(good=False)
    assert trial.called < 8


def test_after_the_visits_a_series_shows_whether_a_device_has_room_for_it() -> None:
    trial: Any = Judged([True] * 99)
    assert TimedSide(trial, B, {}, SimpleNamespace()).visit(9) is None  # type: ignore[arg-type]
    assert trial.lean[-1]
    assert sum(trial.lean) == 1


def test_a_block_in_which_series_end_decides_nothing() -> None:
    """One late call has failed all of its series."""
    trial: Any = Judged([False] * 99)
    series = trial.series

    def ends(*given: Any, **named: Any) -> Any:
        trial.in_series = False
        return series(*given, **named)

    trial.series = ends
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    for stays in (True, False):
        side.make_ready(6, 2)
        side.run_block()
        assert trial.queueing is stays
        side.settle()


@pytest.mark.parametrize("longest", [1, 2])
def test_a_block_of_single_calls_is_marked(longest: int) -> None:
    trial: Any = Judged([True] * 99)
    trial.longest = longest
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(6, 2)
    side.run_block()
    assert side.settle().alone is (longest == 1)
    trial.sides[B].own_in_series = False
    side.make_ready(6, 2)
    side.run_block()
    assert not side.settle().alone


def test_lean_calls_are_drawn_beside_the_others_and_none_is_a_repeat() -> None:
    trial: Any = Judged([True] * 9999)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    orders = set()
    for _ in range(60):
        side.make_ready(6, 2)
        trial.lean.clear()
        samples = side.run_block()
        settled = side.settle()
        assert (len(samples), len(settled.lean), settled.unready, sum(trial.lean)) == (6, 2, 0, 2)
        assert not trial.lean[0], "whose work its probe met must be known"
        assert trial.lean[-1], "which ends a series"
        orders.add(tuple(trial.lean))
    assert len(orders) > 15
    trial.queueing = False
    side.make_ready(6, 2)
    assert (len(side.run_block()), side.settle().lean) == (6, []), "an echo at once needs the work to be there"


def test_a_lean_call_whose_output_is_not_there_is_no_fault() -> None:
    trial: Any = Judged([True] * 9999)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(6, 2)
    trial.late_if_lean = True
    side.run_block()
    settled = side.settle()
    assert (settled.wrong, settled.lean, settled.unready) == (None, [], 2)
    side.make_ready(6, 2)
    trial.lean.clear()
    side.run_block()
    assert sum(trial.lean) == 2, "they still end the series, which all sides have alike"


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
