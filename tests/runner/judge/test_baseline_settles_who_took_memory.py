"""Where a device's memory is short, the baseline is called in the submission's place before any side is blamed."""

import weakref
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from problems.spec import Problem
from runner.evidence import schedule
from runner.evidence.schedule import A, B
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch
from runner.judge.data.faults import BaselineFull, Fault, OracleFailed, OracleFull, TooLarge
from runner.judge.data.memory import Memory, NoMemory
from runner.judge.data.room import NoRoom, Sizes
from runner.judge.trial import Trial
from tests.runner.judge.tenant_here import tenant_of
from tests.runner.judge.two_devices import TwoDevices

START = 1600  # its sixteenth is 100
GIVEN = SimpleNamespace(case="n=4", layout=SimpleNamespace(output_bytes=8), reference_s=0.0)
FULL = Fault("out_of_memory", "allocation", "Your kernel could not allocate memory.")


class Device:
    """Memory that the code of both sides takes from, and the judge's buffers of `buffers` bytes."""

    snapshot_bytes = START
    is_shared = True

    def __init__(self) -> None:
        self.taken, self.buffers = {A: 0, B: 0}, 0

    def free_bytes(self) -> int:
        return START - sum(self.taken.values())

    def unused_bytes(self) -> int:
        return self.free_bytes() - self.buffers

    buffer = staticmethod(bytearray)


class Side:
    """Tenant whose code takes `needs` bytes in a call, and keeps `kept` of them if it is to forget."""

    certified = queues = False

    def __init__(self, device: Device, name: str, needs: int, kept: int = 0) -> None:
        self.device, self.name, self.needs, self.kept = device, name, needs, kept
        self.container, self.is_loaded, self.is_dead, self.calls = self, name == B, False, 0
        self.baseline_of, self.free_before = "", None

    def load(self, *given: Any, **named: Any) -> None:
        self.is_loaded = True

    def lay_out(self, layout: Any, limit_s: float) -> None: ...

    def call(self, *given: Any, **named: Any) -> str:
        self.calls += 1
        if self.needs > self.device.free_bytes():
            raise FULL
        self.device.taken[self.name] = self.needs
        return "answered"

    def forget(self, limit_s: float) -> None:
        self.device.taken[self.name] = min(self.kept, self.device.taken[self.name])

    def kill(self) -> None:
        self.device.taken[self.name] = 0

    def wait_dead(self) -> bool:
        self.is_dead = True
        return self.needs >= 0


class Oracle:
    """Oracle whose requests take `needs` bytes at their peak."""

    checks, constructed_s, held_bytes, check_bytes, peak_bytes = False, 0.0, 0, 0, 0

    def __init__(self, device: Device, needs: int) -> None:
        self.device, self.needs, self.asked = device, needs, Stopwatch()

    def load(self, *given: Any) -> None: ...

    let_go = rest = load

    def make_all(self, *given: Any, **named: Any) -> list[Any]:
        self.peak_bytes = min(self.needs, self.device.free_bytes())
        if self.needs > self.peak_bytes:
            raise OracleFull("no memory for the reference")
        return [GIVEN]


def trial(*, baseline: int, oracle: int = 100, is_test: bool = False) -> Any:
    device: Any = Device()
    sides: Any = {B: Side(device, B, 0)} | ({} if is_test else {A: Side(device, A, baseline)})
    problem = Problem("p", "P", "", {"reference.py": ""}, ({"n": 4},))
    calls = Calls(problem, Oracle(device, oracle), sides, device)  # type: ignore[arg-type]
    made: Any = Trial(calls, "ranked", profile=schedule.GPU, emit=lambda *told: None)
    made._sizes = Sizes(10, 10)
    made._note_start()
    made._case = {"n": 4}
    return made


def blamed(made: Any, taken: int, failure: Exception) -> Exception:
    """Return the error of a case in which the submission has taken so many bytes."""
    made.calls.memory.taken[B] = taken
    with pytest.raises((Fault, OracleFailed)) as raised, made._enough_memory():
        raise failure
    return raised.value


SHORT = [NoMemory("none"), NoRoom(200, 0), OracleFull("no memory")]


@pytest.mark.parametrize("failure", SHORT, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("baseline", "is_fault"), [(100, True), (1100, True), (1250, False), (1700, False)])
def test_memory_that_the_baseline_takes_in_the_same_case_is_not_the_submissions_fault(
    baseline: int, is_fault: bool, failure: Exception
) -> None:
    made = trial(baseline=baseline)
    error = blamed(made, 1300, failure)
    assert isinstance(error, Fault if is_fault else TooLarge)
    assert (made.calls.sides[A].calls, made.calls.sides[B].is_dead) == (1, True)


def test_what_an_oracle_holds_of_the_job_before_is_charged_to_nobody() -> None:
    made = trial(baseline=100)
    made.calls.memory.taken["oracle"] = made.calls.oracle.held_bytes = 500
    made._start = None
    made._note_start()
    made.calls.memory.taken[B] = 300
    made._charge(B)
    assert made._taken[B] == 300


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_baseline_that_a_job_before_loaded_is_charged_for_the_memory_it_holds(*, is_kept: bool) -> None:
    """Its order among the sides makes no difference, and its memory was free before the job, too."""
    made = trial(baseline=700)
    a, memory = made.calls.sides[A], made.calls.memory
    made.calls.sides = {A: a, B: made.calls.sides[B]}
    if is_kept:
        a.baseline_of, a.free_before = made.problem.digest, START
        memory.taken[A] = 600
    made._start = None
    made._note_start()
    memory.taken[B] = made.calls.sides[B].kept = 300
    made._begin({"n": 5}, Stage("Checking", 9.0, Stopwatch()))  # in a check the submission alone is loaded
    assert made._start == START
    assert made._taken == ({A: 600, B: 300} if is_kept else {B: 300})


def test_a_submission_within_its_share_is_not_ended_for_the_baseline() -> None:
    made = trial(baseline=100)
    assert isinstance(blamed(made, 100, NoMemory("none")), TooLarge)
    assert (made.calls.sides[A].calls, made.calls.sides[B].is_dead) == (0, False)


def test_an_oracle_without_room_beside_the_baseline_is_not_the_submissions_fault() -> None:
    assert isinstance(blamed(trial(baseline=100, oracle=START + 1), 1300, OracleFull("no memory")), TooLarge)


def test_a_submission_that_takes_the_baselines_memory_is_at_fault() -> None:
    made = trial(baseline=400)
    made.calls.memory.taken[B] = 1300
    made._charge(B)
    made.load_baseline()
    made._charge(A)
    with pytest.raises(Fault, match="too little memory for the judge") as raised, made._enough_memory():
        made.calls.call(A, GIVEN, Stage("Timing", 9.0, Stopwatch()), 0)
    assert raised.value.reason == "judge"


def test_a_baseline_without_room_beside_its_like_is_nobodys_fault() -> None:
    assert isinstance(blamed(trial(baseline=900), 900, BaselineFull("no memory")), TooLarge)


@pytest.mark.parametrize(("baseline", "taken", "is_fault"), [(700, 0, True), (700, 1600, True), (1550, 0, False)])
def test_an_allocation_that_fails_is_the_submissions_fault_if_the_baseline_had_room(
    baseline: int, taken: int, is_fault: bool
) -> None:
    error = blamed(trial(baseline=baseline), taken, FULL)
    assert (error is FULL, isinstance(error, TooLarge)) == (is_fault, not is_fault)


def test_an_allocation_that_fails_beside_the_baseline_is_nobodys_fault() -> None:
    made = trial(baseline=900)
    made.calls.sides[A].is_loaded = True
    made.calls.memory.taken[A] = 900
    made._charge(A)
    assert isinstance(blamed(made, 0, FULL), TooLarge)


@pytest.mark.parametrize(("reference", "is_fault"), [(100, True), (500, True), (1300, False)])
@pytest.mark.parametrize("failure", [NoMemory("none"), FULL], ids=lambda one: type(one).__name__)
def test_in_a_test_memory_that_the_reference_took_is_not_the_submissions_fault(
    reference: int, is_fault: bool, failure: Exception
) -> None:
    made = trial(baseline=0, is_test=True)
    made.calls.oracle.peak_bytes = reference
    made.calls.memory.buffers = 250
    assert isinstance(blamed(made, 1250, failure), Fault if is_fault else TooLarge)


def test_a_submission_that_cannot_be_ended_is_at_fault() -> None:
    made = trial(baseline=100)
    made.calls.sides[B].needs = -1
    error = blamed(made, 1300, NoMemory("none"))
    assert isinstance(error, Fault)
    assert error.reason == "unfreezable"


def test_buffers_of_the_failed_case_are_free_when_the_baseline_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    made, held, seen = trial(baseline=100), [], []

    def check() -> None:
        buffer = Stopwatch()
        held.append(weakref.ref(buffer))
        raise NoMemory("none")

    monkeypatch.setattr(made, "load_baseline", lambda: seen.append(held[0]()))
    made.calls.memory.taken[B] = 1300
    with pytest.raises(Fault), made._enough_memory():
        check()
    assert seen == [None]


def test_memory_that_code_keeps_from_the_case_before_counts_in_no_case() -> None:
    made = trial(baseline=0)
    made.calls.sides[B].kept = 20
    made.calls.memory.taken[B] = 1300
    made._charge(B)
    made._begin({"n": 8}, Stage("Checking", 9.0, Stopwatch()))
    assert (made._taken[B], made._case) == (20, {"n": 8})


def test_a_host_whose_containers_have_limits_sends_no_order_between_cases() -> None:
    made = trial(baseline=0)
    made.calls.memory, made.calls.sides[B].forget = Memory(), None
    made._begin({"n": 8}, Stage("Checking", 9.0, Stopwatch()))


FORGETS = """
import harness, sys
def forget(self):
    {line}
sys.modules["thread_device"].Timer.forget = forget
def custom_kernel(data): ...
"""


@pytest.mark.parametrize(("line", "reason"), [("pass", ""), ("raise ValueError(7)", "protocol"), ("exit_()", "exited")])
def test_an_order_to_forget_shows_no_data_of_a_secret_case(tmp_path: Path, line: str, reason: str) -> None:
    memory = TwoDevices()
    with tenant_of(tmp_path / "tenant", memory=memory) as side:
        source = FORGETS.format(line=line.replace("exit_()", "import os; os._exit(7)"))
        side.load({"submission.py": source}, "submission.py", "custom_kernel", "function", 60)
        calls = Calls(None, None, {B: side}, memory)  # type: ignore[arg-type]
        with pytest.raises(Fault) if reason else nullcontext() as raised:
            calls.forget(B, Stage("Checking", 60.0, Stopwatch()))
    if raised is not None:
        assert raised.value.reason == reason
        assert "7" not in raised.value.message
