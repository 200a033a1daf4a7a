"""Data that fill much of the judge's memory reduce the calls made at a time, and no side is blamed for it."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from problems.spec import Problem
from runner.evidence import certificate, schedule
from runner.evidence.sample import Sample
from runner.evidence.schedule import A, B
from runner.judge.calls import Calls
from runner.judge.data import room
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import Fault, OracleFull, TooLarge
from runner.judge.data.layout import Layout, Slot
from runner.judge.data.memory import NoMemory
from runner.judge.data.room import Plan, Sizes
from runner.judge.sides.oracle import Oracle
from runner.judge.trial import MOST_IDLE, Trial
from sandbox.container import SandboxError

SNAPSHOTS = 1000
START = 20 * SNAPSHOTS


class Side:
    """The part of a timed side that a trial uses; it remembers the requested number of calls at a time."""

    def __init__(self, took_ns: Callable[[int], int] = lambda number: 250_000) -> None:
        self.blocks: list[int] = []
        self.took_ns = took_ns

    def make_ready(self, calls: int, lean: int = 0) -> None:
        self.blocks.append(calls)

    def run_block(self, *, idle: bool) -> list[Sample]:
        assert idle
        made = sum(self.blocks)
        return [Sample(self.took_ns(number), 0, 0, 1, 0, 0, 0) for number in range(made - self.blocks[-1], made)]

    def drop(self) -> list[str]:
        return ["given"] * self.blocks[-1]


class Shared:
    """Memory that code takes from, too: `free` of it at the moment."""

    snapshot_bytes = SNAPSHOTS
    is_shared = True
    free: int | None = START

    def free_bytes(self) -> int | None:
        return self.free

    unused_bytes = free_bytes


def trial(each_bytes: int, memory: Any = None) -> Any:
    memory = memory or Shared()
    sizes = {"held_bytes": 0, "peak_bytes": 0, "check_bytes": 0}
    oracle: Any = SimpleNamespace(asked=Stopwatch(), checks=False, let_go=lambda: None, rest=lambda: None, **sizes)
    problem = Problem("p", "P", "", {"reference.py": ""}, ({"n": 4},))
    made: Any = Trial(Calls(problem, oracle, {}, memory), "ranked", profile=schedule.CPU, emit=lambda *told: None)
    made._sizes = Sizes(inputs=each_bytes)
    made._note_start()
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


def test_memory_that_the_submission_took_beyond_its_share_is_its_fault() -> None:
    made = trial(SNAPSHOTS // 10)
    made.calls.memory.free = 10
    said = r"left too little memory for the judge: it took .* allocate less"
    with pytest.raises(Fault, match=said), made._enough_memory():
        raise NoMemory("none")


def test_memory_that_large_data_do_not_leave_is_nobodys_fault() -> None:
    made = trial(START)
    made.calls.memory.free = 10
    said = r"this case needs .* of the device's memory .*: choose smaller sizes, or hardware with more memory"
    with pytest.raises(TooLarge, match=said), made._enough_memory():
        raise NoMemory("none")


def test_memory_that_the_baseline_took_is_not_the_submissions_fault() -> None:
    made = trial(SNAPSHOTS // 10)
    made._charge(B)
    made.calls.memory.free = 10
    made._charge(A)
    with pytest.raises(TooLarge), made._enough_memory():
        raise NoMemory("none")


def test_memory_that_the_baseline_takes_too_is_not_the_submissions_fault() -> None:
    memory = Shared()
    made = trial(SNAPSHOTS // 10, memory)
    made.calls.sides[A] = None
    memory.free = START * 3 // 5
    made._charge(A)
    memory.free = START // 5 - 1  # two containers of one code differ a little
    made._charge(B)
    with pytest.raises(TooLarge), made._enough_memory():
        raise room.NoRoom(START // 4, START // 5)


def test_data_that_the_oracle_keeps_for_the_problems_check_leave_room_for_fewer_calls() -> None:
    slot = Slot("out", "float32", (100,), (1,), 400, -1, 0)
    layout = Layout((slot,), SNAPSHOTS // 10, SNAPSHOTS // 10, b"{}")
    made = trial(1)
    made._note_sizes(layout)
    without = made._most_calls
    made.calls.oracle.checks = True
    assert made._note_sizes(layout).held == SNAPSHOTS // 10 + 400
    assert made._most_calls < without


def test_double_precision_that_every_call_needs_leaves_room_for_fewer_calls() -> None:
    slot = Slot("out", "float32", (SNAPSHOTS // 40,), (1,), SNAPSHOTS // 10, -1, 0)
    layout = Layout((slot,), SNAPSHOTS // 10, SNAPSHOTS // 10, b"{}")
    made = trial(1)
    once = made._note_sizes(layout)
    assert (once.doubles > 0, once.held) == (True, 0)
    without = made._most_calls
    made.calls.cancels = True
    every = made._note_sizes(layout)
    assert (every.doubles, every.held) == (0, once.doubles)
    assert made._most_calls < without


def test_a_block_before_the_plan_leaves_half_of_the_free_memory_to_code() -> None:
    memory = Shared()
    made = trial(SNAPSHOTS // 4, memory)
    assert (made._most_calls, made._is_large) == (3, False)
    memory.free = SNAPSHOTS
    assert (made._most_calls, made._is_large) == (1, True)


def test_memory_of_the_problems_check_is_not_planned_for_a_block() -> None:
    memory = Shared()
    sizes = Sizes(SNAPSHOTS // 10, SNAPSHOTS // 10)
    made = trial(1, memory)
    memory.free = Plan(2).needs(sizes) * 16 // 15 + 1
    made._charge(A)
    assert made._planned(sizes).calls == 2
    made.calls.oracle.check_bytes = sizes.kept
    assert made._planned(sizes).calls == 1


def test_benchmarks_that_differ_in_their_seeds_alone_are_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = trial(1)
    made.problem = replace(made.problem, benchmarks=({"n": 4, "seed": 1}, {"n": 8, "seed": 2}, {"n": 4, "seed": 3}))
    timed = []

    def measure(case: Any, recorder: Any, *rest: Any) -> None:
        timed.append((case["n"], recorder.timing.case))

    monkeypatch.setattr(made, "_measure_case", measure)
    made._stage = lambda name, limit_s: None
    made.measure(SimpleNamespace(level="none"))
    assert sorted(timed) == [(4, "n=4"), (8, "n=8")]
    assert [one.case for one in made.evidence.timing] == ["n=8", "n=4"], "the last one ranks in some problems"


def test_memory_that_the_oracle_holds_is_not_the_submissions_fault() -> None:
    made = trial(SNAPSHOTS // 10)
    made.calls.oracle.held_bytes = made.calls.oracle.peak_bytes = START - 10
    made.calls.memory.free = 10
    with pytest.raises(TooLarge), made._enough_memory():
        raise OracleFull("no memory for the reference")


def test_memory_that_the_oracle_lacks_beside_a_greedy_submission_is_its_fault() -> None:
    made = trial(SNAPSHOTS // 10)
    made.calls.oracle.held_bytes = made.calls.oracle.peak_bytes = START // 4
    made.calls.memory.free = 10
    with pytest.raises(Fault, match="left too little memory"), made._enough_memory():
        raise OracleFull("no memory for the reference")


def test_a_hosts_memory_that_other_programs_took_is_the_hosts_fault() -> None:
    memory = Shared()
    memory.is_shared = False
    made = trial(SNAPSHOTS // 10, memory)
    memory.free = 10
    with pytest.raises(SandboxError, match="end the programs that took it"), made._enough_memory():
        raise room.NoRoom(SNAPSHOTS // 10, 10)


def test_an_oracle_beyond_its_containers_own_limit_stays_the_problems_failure() -> None:
    memory = Shared()
    memory.is_shared = False
    with pytest.raises(OracleFull, match="no memory"), trial(1, memory)._enough_memory():
        raise OracleFull("no memory")


def test_a_greedy_submission_gets_no_defence_given_up() -> None:
    """Else it could take memory until no input comes again, and keep its results."""
    memory = Shared()
    made = trial(SNAPSHOTS, memory)
    sizes = Sizes(SNAPSHOTS, SNAPSHOTS)
    memory.free = need = Plan(1).needs(sizes) - 1
    made._charge(A)
    assert made._planned(sizes).given_up, "the case alone does not leave enough"
    made = trial(SNAPSHOTS, memory := Shared())
    memory.free = need
    made._charge(B)
    with pytest.raises(room.NoRoom):
        made._planned(sizes)


def test_without_a_figure_of_free_memory_nothing_is_given_up() -> None:
    memory = Shared()
    memory.free = None
    assert trial(1, memory)._planned(Sizes(1, 1)).given_up == []


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


class Full(Shared):
    """Memory that has room for nothing until the oracle's buffers are freed, and then for `left` pieces of work."""

    def __init__(self, left: int) -> None:
        self.left, self.is_free = left, False

    def let_go(self) -> None:
        self.is_free = True

    def work(self, *given: object) -> list[str]:
        if not self.is_free or not self.left:
            raise NoMemory("none")
        self.left -= 1
        return ["done"]

    buffer = compare = work


@pytest.mark.parametrize("act", [lambda calls: calls.buffer(0, 1), lambda calls: calls.compared(None, None, None)])
def test_buffers_that_wait_for_inputs_make_room_for_the_judges_own_work(act: Callable[[Calls], Any]) -> None:
    memory = Full(left=1)
    calls = trial(1, memory).calls
    calls.oracle.let_go = memory.let_go
    assert act(calls) == ["done"]
    calls._buffers.clear()
    with pytest.raises(NoMemory):
        act(calls)


def test_buffers_of_other_lengths_make_room_for_an_input() -> None:
    memory: Any = Full(left=1)
    memory.copy, memory.release = lambda *given: None, memory.let_go
    oracle: Any = Oracle.__new__(Oracle)
    oracle._memory, oracle._free, oracle._free_bytes = memory, {7: ["kept"]}, 7
    assert oracle._copy(SimpleNamespace(bytes=b"12345"), 0, 5) == ["done"]
    assert (oracle._free, oracle._free_bytes) == ({}, 0)
