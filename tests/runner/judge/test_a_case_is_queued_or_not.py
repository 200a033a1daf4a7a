"""All sides of a case go the same way: where most calls of a block could not be queued, none is from then on."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from runner.judge.call import Call
from runner.judge.schedule import B
from runner.judge.timed_side import TimedSide


class Judged:
    """What a TimedSide needs of a trial; `queued` says of one call after the other whether it was."""

    def __init__(self, queued: list[bool], was_there: bool = True) -> None:
        self._was_there = was_there
        self.chance = random.Random(1)
        self.memory = SimpleNamespace(sweeps=False)
        self.queueing = True
        self._queued = iter(queued)

    def fresh(self, case: Any, count: int, *, near_to: Any = None) -> list[Any]:
        return [SimpleNamespace(layout=SimpleNamespace(output_bytes=256))] * (count + (near_to is not None))

    def buffer(self, index: int, size: int) -> None: ...

    def call(self, *args: Any, **kwargs: Any) -> tuple[Call, None]:
        made = Call(9, 1, 1, 5, 0, 0, 0, inputs_kept=True, late=False, queued=next(self._queued))
        return replace(made, was_there=self._was_there), None


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


def test_calls_whose_data_lie_where_none_did_decide_nothing() -> None:
    """A graph is captured for each place."""
    trial: Any = Judged([False] * 9, was_there=False)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(5)
    side.run_block()
    assert trial.queueing


def test_idle_calls_decide_nothing() -> None:
    trial: Any = Judged([False] * 9)
    side = TimedSide(trial, B, {}, SimpleNamespace())  # type: ignore[arg-type]
    side.make_ready(5)
    side.run_block(idle=True)
    assert trial.queueing
