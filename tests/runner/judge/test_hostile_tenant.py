"""A submission's container that writes any bytes into shared memory at any moment, and ends in any way: the judge
blames the submission or judges its own copy, and never passes a wrong output."""

import json
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaderboard.judging.runners import check_storable
from problems.spec import Problem
from runner.commands.local import find_problem
from runner.evidence.schedule import B
from runner.judge.calls import Calls, Stage
from runner.judge.data import faults
from runner.judge.data.call import Input, Stopwatch, WallClock
from runner.judge.data.faults import Fault, OracleFailed
from runner.judge.data.layout import parse_layout
from runner.judge.data.memory import Memory
from runner.judge.sides import arena, tenant
from runner.judge.sides.tenant import Tenant
from runner.wire import OUTCOMES
from sandbox import protocol
from sandbox.container import Exit
from tests.runner.judge.two_devices import TwoDevices

BLAMES = set(OUTCOMES) - {"passed", "unmeasurable", "infra_error"}
WORD = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 11, 12, 1 << 50, 2**63, 2**64 - 1])
STATUS = st.just(protocol.OK) | st.integers(0, 12) | WORD
CODE = st.sampled_from([-1, 0, 1, 128, 129, 137, 139, 192, 255, 2**31, 2**64])
EXIT = st.builds(Exit, CODE, st.booleans(), st.booleans())

# -- what a container reports of its own end -------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(EXIT | st.builds(Exit, st.integers(), st.booleans(), st.booleans()), st.integers(0, 2**63))
def test_every_exit_blames_the_submission_in_a_sentence(end: Exit, memory_bytes: int) -> None:
    fault = faults.from_exit(end, memory_bytes, faults.CALL)
    assert fault.outcome in BLAMES
    for shown in (fault, fault.about("n=1"), fault.without_data(8)):
        assert shown.outcome == fault.outcome
        assert len(shown.message) < 300
    if not end.is_kill:
        assert isinstance(faults.of_baseline(fault, "the baseline failed"), faults.OracleFailed)
    assert faults.end_of_problem(end, memory_bytes, " at case n=1")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 8) | WORD, STATUS.filter(bool), st.binary(max_size=300))
def test_every_status_blames_the_submission(order: int, status: int, said: bytes) -> None:
    fault = faults.from_answer(order, status, protocol.clean_text(said))
    assert fault.outcome in BLAMES
    if order != protocol.LOAD:
        secret = fault.without_data(8)
        assert not fault.told_by_tenant or protocol.clean_text(said) not in secret.message or len(said) < 3


# -- a container that writes at every moment -------------------------------------------------------------------------

SIZE = 4096
LAYOUT = parse_layout(
    {
        "slots": [
            {"role": "in", "dtype": "float32", "shape": [4], "stride": [1], "nbytes": 16, "input": 0, "output": -1},
            {"role": "out", "dtype": "float32", "shape": [4], "stride": [1], "nbytes": 16, "input": -1, "output": 0},
        ],
        "input_bytes": 256,
        "output_bytes": 256,
        "data": {"kind": "tensor", "slot": 0},
        "result": {"kind": "tensor", "slot": 1},
    },
    SIZE,
    SIZE,
)
INPUTS, EXPECTED = np.arange(256, dtype=np.uint8), np.zeros(256, dtype=np.uint8)
EXPECTED[:16] = np.array([1, 2, 3, 4], np.float32).view(np.uint8)
GIVEN = Input(1, "n=4", 7, LAYOUT, INPUTS, EXPECTED)
RIGHT = bytes(EXPECTED[:16])


class Hostile:
    """Container with a script: each act is done when the judge next thaws, freezes, looks at it or reads its clock."""

    policy = SimpleNamespace(memory_bytes=1 << 30)
    freezer = None

    def __init__(self, acts: list[tuple[Any, ...]]) -> None:
        self.acts = iter(acts)
        self.tenant: Any = None
        self.end: Exit | None = None

    def now_ns(self) -> int:
        self._act()
        return WallClock().now_ns()

    def thaw(self) -> None:
        self._act()
        self._fail_if_dead()

    def freeze(self) -> None:
        self._act()
        self._fail_if_dead()

    def alive(self) -> bool:
        self._act()
        return self.end is None

    def wait_exit(self) -> Exit:
        return self.end or Exit(0, False, False)

    def kill(self) -> None:
        self.end = self.end or Exit(137, False, False)

    def close(self) -> None: ...

    def _fail_if_dead(self) -> None:
        if self.end is not None:
            raise OSError(19, "No such device")

    def _act(self) -> None:
        kind, *what = next(self.acts, ("wait",))
        regions = self.tenant._arena
        if kind == "answer":  # with the nonce of the order that is there
            nonce = protocol.read_nonce(regions.orders.map)
            status, number, length, text = what
            regions.answers.map[64 : 64 + len(text)] = text
            struct.pack_into("<4Q", regions.answers.map, 0, nonce, status, number, length)
        elif kind == "obey":  # and the right output
            nonce = protocol.read_nonce(regions.orders.map)
            regions.outputs.bytes[:16] = EXPECTED[:16]
            struct.pack_into("<4Q", regions.answers.map, 0, nonce, 0, 1, 0)
            protocol.write_echo(regions.answers.map, nonce)
        elif kind == "echo":  # as a device does
            protocol.write_echo(regions.answers.map, protocol.read_nonce(regions.orders.map))
        elif kind == "page":
            regions.answers.map[: len(what[0])] = what[0]
        elif kind in ("inputs", "outputs"):
            place, raw = what
            getattr(regions, kind).bytes[place : place + len(raw)] = np.frombuffer(raw, np.uint8)
        elif kind == "die":
            self.end = self.end or what[0]


ACT = st.one_of(
    st.tuples(st.just("wait")),
    st.tuples(st.just("obey")),
    st.tuples(st.just("echo")),
    st.tuples(st.just("answer"), STATUS, WORD, WORD, st.binary(max_size=20)),
    st.tuples(st.just("answer"), st.just(0), WORD, WORD, st.just(b"")),
    st.tuples(st.just("page"), st.binary(max_size=80)),
    st.tuples(st.sampled_from(["inputs", "outputs"]), st.integers(0, 255), st.binary(min_size=1, max_size=16)),
    st.tuples(st.just("outputs"), st.just(0), st.just(RIGHT)),
)
ENDING = st.tuples(st.just("die"), EXIT)


@pytest.fixture(scope="module")
def problem() -> Problem:
    bundle = find_problem("vectoradd").to_bundle()
    return Problem.from_bundle(bundle | {"tolerance": {"rtol": 0.0, "atol": 0.0}, "precision": None})


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, "POLL_ALIVE_NS", 1_000_000)
        patch.setattr(tenant, "LONGEST_PAUSE_US", 1)
        patch.setattr(tenant, "QUEUE_NS", 2_000_000)
        yield


HOST, QUEUED, BY_DEVICE = WAYS = ("host", "queued", "by a device")  # of a call


def judge(problem: Problem, acts: list[tuple[Any, ...]], way: str = HOST, limit_s: float = 60.0) -> Any:
    """Return the fault of a call, or its check with the output and the call."""
    memory = Memory() if way == HOST else TwoDevices(moves=False)
    container: Any = Hostile(acts)
    container.tenant = side = Tenant(container, memory, SIZE, SIZE)
    side._clock = side._orders._clock = container
    oracle = SimpleNamespace(checks=False, constructed_s=0.0, rest=lambda: None)
    calls = Calls(problem, oracle, {B: side}, memory)  # type: ignore[arg-type]
    calls.queueing = way == QUEUED
    try:
        call, output = calls.call(B, GIVEN, Stage("Checking", limit_s, Stopwatch()), 0)
        return calls.judge_output(GIVEN, call, output, public=True), bytes(output[:16]), call
    except Fault as fault:
        return fault
    finally:
        side.close()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(ACT, max_size=40), st.none() | st.tuples(ENDING, st.integers(0, 40)), st.sampled_from(WAYS))
@example([("obey",)] * 40, None, QUEUED)
def test_tenant_that_writes_at_every_moment_passes_with_its_right_output_alone(
    problem: Problem, acts: list[tuple[Any, ...]], ending: tuple[Any, int] | None, way: str
) -> None:
    if ending is not None:
        acts = [*acts[: ending[1]], ending[0], *acts[ending[1] :]]
    try:
        found = judge(problem, acts, way, limit_s=0.01)
    except OracleFailed as failed:  # this process stood still for that long
        if "between calls" not in str(failed):
            raise
        return
    if isinstance(found, Fault):
        assert found.outcome in BLAMES
        assert len(found.message) <= protocol.MAX_TEXT_BYTES + 100
        return
    check, output, call = found
    assert check.good == (output == RIGHT and not call.late and call.inputs_kept)
    assert check.good or check.outcome in BLAMES
    assert 0 <= call.sample.inner_ns <= arena.MOST_TOLD_NS
    told = check.model_dump(mode="json")
    check_storable(told, "check")
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("way", WAYS)
def test_tenant_that_obeys_passes(problem: Problem, way: str) -> None:
    check, _, call = judge(problem, [("obey",)] * 1000, way)
    assert check.good
    assert call.queued == (way == QUEUED)


@pytest.mark.parametrize(
    ("error", "reason"), [(TimeoutError(), "unfreezable"), (OSError(19, "No such device"), "exited")]
)
def test_tenant_that_cannot_be_frozen_is_at_fault(problem: Problem, error: OSError, reason: str) -> None:
    def freeze(container: Hostile) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hostile, "freeze", freeze)
        found = judge(problem, [("obey",)] * 1000)
    assert isinstance(found, Fault)
    assert (found.outcome in BLAMES, found.reason) == (True, reason)
