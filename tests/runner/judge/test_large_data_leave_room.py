"""Data that fill much of the judge's memory reduce the calls made at a time, and no side is blamed for it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from problems.spec import Problem
from runner.evidence import certificate, schedule
from runner.evidence.sample import Sample
from runner.judge.calls import Calls
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault, OracleFailed
from runner.judge.data.memory import NoMemory
from runner.judge.trial import MOST_IDLE, Trial
from sandbox.container import SandboxError

SNAPSHOTS = 1000


class Side:
    """The part of a timed side that a trial uses; it remembers the requested number of calls at a time."""

    def __init__(self, took_ns: Callable[[int], int] = lambda number: 250_000) -> None:
        self.blocks: list[int] = []
        self.took_ns = took_ns

    def make_ready(self, calls: int) -> None:
        self.blocks.append(calls)

    def run_block(self, *, idle: bool) -> list[Sample]:
        assert idle
        made = sum(self.blocks)
        return [Sample(self.took_ns(number), 0, 0, 1, 0, 0, 0) for number in range(made - self.blocks[-1], made)]

    def drop(self) -> list[str]:
        return ["given"] * self.blocks[-1]


def trial(each_bytes: int) -> Any:
    memory: Any = SimpleNamespace(snapshot_bytes=SNAPSHOTS)
    oracle: Any = SimpleNamespace(asked=Stopwatch(), checks=False)
    problem = Problem("p", "P", "", {"reference.py": ""}, ({"n": 4},))
    made: Any = Trial(Calls(problem, oracle, {}, memory), "ranked", profile=schedule.CPU, emit=lambda *told: None)
    made._each_bytes = each_bytes
    return made


@pytest.mark.parametrize(("each_bytes", "blocks"), [(1, [7]), (SNAPSHOTS // 4, [3, 3, 1]), (SNAPSHOTS, [1] * 7)])
def test_idle_calls_are_made_in_as_few_blocks_as_there_is_room_for(each_bytes: int, blocks: list[int]) -> None:
    side = Side()
    samples, given = trial(each_bytes)._idle(side)
    assert (side.blocks, len(samples), len(given)) == (blocks, 7, 7)


@pytest.mark.parametrize(
    ("disturbed", "blocks", "known"),
    [(range(4), 1, True), (range(1, 14), 3, True), (range(1, 60), MOST_IDLE, False)],
    ids=["half of them", "all but one of two blocks", "all but one"],
)
def test_idle_calls_go_on_while_the_machine_disturbs_most_of_them(disturbed: range, blocks: int, known: bool) -> None:
    """The cost of idle calls is subtracted every time, so an overestimate would make a slow kernel look fast."""
    side = Side(lambda number: 8_000_000 if number in disturbed else 250_000)
    samples, _ = trial(1)._idle(side)
    assert len(side.blocks) == blocks
    assert certificate.is_constant_known(samples, certified=False) == known


def test_memory_that_small_data_leave_was_taken_by_the_submission() -> None:
    with pytest.raises(Fault, match="too little memory for the judge"), trial(SNAPSHOTS // 10)._tenants_memory():
        raise NoMemory("none")


def test_memory_that_large_data_do_not_leave_was_taken_by_the_problem() -> None:
    with pytest.raises(OracleFailed, match="choose smaller sizes"), trial(SNAPSHOTS // 2)._tenants_memory():
        raise NoMemory("none")


class NoRoom:
    """Copies without memory for them."""

    case: Any = {"n": 4}

    def time(self, *given: Any) -> Any:
        raise NoMemory("none")


def copying(**evidence: Any) -> Any:
    made = trial(1)
    made.recorder.add_circumstances(**evidence)
    made._copies = [(SimpleNamespace(add=None), NoRoom())]
    made.calls.fresh = lambda case, count: [SimpleNamespace(layout=SimpleNamespace(output_bytes=4))] * count
    made.calls.buffer = lambda index, size: None
    return made


def test_what_lacks_for_the_judges_own_copies_is_no_submissions_fault() -> None:
    with pytest.raises(SandboxError, match="the judge's own copies could not be timed: none"):
        copying().time_copies()


@pytest.mark.parametrize(
    "evidence",
    [
        {"set_aside": "device_lost"},
        {"fault": Fault("timeout", "call", "No answer.")},
        {"checks": [SimpleNamespace(good=True), SimpleNamespace(good=False)]},
    ],
    ids=["a device that is not fit", "a fault", "a wrong output"],
)
def test_nothing_is_copied_where_times_decide_nothing(evidence: dict[str, Any]) -> None:
    copying(**evidence).time_copies()
