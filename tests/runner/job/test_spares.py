"""Spare containers disturb no timed call, run when they are taken, and cost no job when they fail."""

import os
import signal
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from runner.job.cleanup import Terminated
from runner.job.spares import ORACLE, TENANT, Spares
from sandbox.container import SandboxError


class Fake:
    """A container; `fails`: the acts that raise."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.is_frozen = self.is_closed = False
        self.fails: set[str] = set()
        self.policy, self.cores = SimpleNamespace(cpus="1,2"), "1,2"
        self.is_alive = True

    def freeze(self) -> None:
        if "freeze" in self.fails:
            raise TimeoutError("it resists")
        self.is_frozen = True

    def thaw(self) -> None:
        if "thaw" in self.fails:
            raise OSError("it died")
        self.is_frozen = False

    def move(self, cores: str) -> None:
        if f"{cores} at all" in self.fails:
            raise PermissionError("no control group of ours")
        self.cores = cores
        if cores in self.fails:
            self.cores = "0,1,2"
            raise PermissionError("the group above has none of these")

    def runs_on(self, cores: str) -> bool:
        return self.cores == cores

    def attached(self) -> bool:
        return self.is_alive

    def logs(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        self.is_closed = True


def late(kind: str) -> Any:
    time.sleep(0.1)
    return Fake(kind)


@pytest.fixture
def spares() -> Spares:
    made = Spares(Fake, freezes=True)  # type: ignore[arg-type]
    made.have(2)
    made.settle()
    return made


def frozen(spares: Spares) -> list[Any]:
    return [one.is_frozen for one in spares.containers]  # type: ignore[attr-defined]


def test_there_are_tenants_and_an_oracle(spares: Spares) -> None:
    found: Any = spares.containers
    assert [one.kind for one in found] == [TENANT, TENANT, ORACLE]
    spares.have(2)
    spares.settle()
    assert spares.containers == found
    assert spares.take(TENANT) is found[0]
    spares.have(2)
    spares.settle()
    assert len(spares.containers) == 3


def test_the_engine_keeps_no_job_waiting_that_needs_no_spare() -> None:
    may_start, started = threading.Event(), list[str]()

    def start(kind: str) -> Any:
        assert may_start.wait(10)
        started.append(kind)
        return Fake(kind)

    spares = Spares(start, freezes=True)
    spares.have(1)
    assert (spares.containers, started) == ((), [])
    may_start.set()
    assert spares.take(ORACLE).kind == ORACLE, "the one that was being started"  # type: ignore[attr-defined]
    assert started == [TENANT, ORACLE]


@pytest.mark.parametrize("freezes", [True, False])
def test_none_is_being_started_beside_timed_calls(freezes: bool) -> None:
    spares = Spares(late, freezes=freezes)
    spares.have(2)
    with spares.frozen():
        assert frozen(spares) == [freezes] * 3


def test_one_thread_at_a_time_starts_them() -> None:
    spares = Spares(late, freezes=True)
    for _ in range(3):
        spares.have(2)
    spares.settle()
    assert len(spares.containers) == 3


@pytest.mark.parametrize("within", ["frozen", "take", "have", "end"])
def test_after_a_signal_at_any_wait_the_stack_knows_all_that_was_started(within: str) -> None:
    made, closed_early = list[Fake](), list[bool]()
    is_starting = threading.Event()

    def start(kind: str) -> Any:
        made.append(Fake(kind))
        stack.callback(made[-1].close)
        is_starting.set()
        time.sleep(0.3)  # creating a container
        closed_early.append(made[-1].is_closed)
        return made[-1]

    def stop(number: int, frame: Any) -> None:
        raise Terminated(number)

    stack, spares = ExitStack(), Spares(start, freezes=True)
    signals = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1))

    def run() -> None:
        with stack:
            try:
                spares.have(2)
                assert is_starting.wait(5)
                signals.start()
                if within == "frozen":
                    spares.frozen().__enter__()
                elif within != "end":
                    getattr(spares, within)({"take": ORACLE, "have": 2}[within])
            finally:
                try:
                    spares.end()
                finally:
                    spares.end()

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(Terminated):
            run()
    finally:
        signals.join()
        signal.signal(signal.SIGUSR1, before)
    spares.settle()
    assert closed_early == [False], "one was started, and closed only after that"
    assert [one.is_closed for one in made] == [True]


def test_none_are_started_where_none_are_wanted() -> None:
    spares = Spares(Fake, freezes=True)  # type: ignore[arg-type]
    spares.have(0)
    spares.settle()
    assert spares.containers == ()
    assert spares.take(ORACLE).kind == ORACLE  # type: ignore[attr-defined]


def test_they_are_frozen_meanwhile_and_run_again_after_a_failure(spares: Spares) -> None:
    def fail() -> None:
        with spares.frozen():
            with spares.frozen():
                assert all(frozen(spares))
            assert all(frozen(spares))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not any(frozen(spares))


def test_one_that_is_taken_meanwhile_runs_and_is_left_alone_at_the_end(spares: Spares) -> None:
    with spares.frozen():
        taken: Any = spares.take(ORACLE)
        assert not taken.is_frozen
        taken.freeze()  # as its user does
    assert taken.is_frozen


@pytest.mark.parametrize("act", ["freeze", "thaw"])
def test_one_that_fails_is_dropped(spares: Spares, act: str) -> None:
    bad: Any = spares.containers[0]
    bad.fails = {act}
    with spares.frozen():
        pass
    assert bad.is_closed
    assert bad not in spares.containers
    assert not any(frozen(spares))


def test_one_that_died_is_not_taken(spares: Spares) -> None:
    bad, good, _ = spares.containers
    bad.fails = {"thaw"}  # type: ignore[attr-defined]
    assert spares.take(TENANT) is good


def test_on_cores_apart_a_tenants_spares_run_on_beside_timed_calls() -> None:
    spares = Spares(Fake, freezes=True, apart="5,6")  # type: ignore[arg-type]
    spares.have(2)
    spares.settle()
    found: Any = spares.containers
    assert [one.cores for one in found] == ["5,6", "5,6", "1,2"]
    with spares.frozen():
        assert frozen(spares) == [False, False, True]
        taken: Any = spares.take(TENANT)
        assert (taken, taken.cores) == (found[0], "1,2"), "a side of a job"
    assert not any(frozen(spares))


def test_one_that_the_host_moved_back_stands_still() -> None:
    """A service manager that is reloaded may restore the cores that a container began with."""
    spares = Spares(Fake, freezes=True, apart="5,6")  # type: ignore[arg-type]
    spares.have(2)
    spares.settle()
    strayed: Any = spares.containers[0]
    strayed.cores = "1,2"
    with spares.frozen():
        assert frozen(spares) == [True, False, True]
        strayed.cores = "5,6"
    assert not any(frozen(spares))


def test_one_that_died_on_its_way_is_dropped_and_the_next_go_on() -> None:
    made: list[Any] = []

    def start(kind: str) -> Any:
        made.append(Fake(kind))
        if len(made) == 1:
            made[0].fails, made[0].is_alive = {"5,6 at all", "1,2 at all"}, False
            made[0].cores = ""
        return made[-1]

    spares = Spares(start, freezes=True, apart="5,6")
    spares.have(2)
    spares.settle()
    assert (made[0].is_closed, spares.containers) == (True, ())
    spares.have(2)
    spares.settle()
    found: Any = spares.containers
    assert [one.cores for one in found] == ["5,6", "5,6", "1,2"]


def test_one_that_cannot_come_back_to_its_cores_is_dropped() -> None:
    spares = Spares(Fake, freezes=True, apart="5,6")  # type: ignore[arg-type]
    spares.have(2)
    spares.settle()
    bad: Any = spares.containers[0]
    bad.fails = {"1,2"}
    assert spares.take(TENANT) is not bad
    assert bad.is_closed


@pytest.mark.parametrize(
    ("fails", "says"),
    [({"5,6"}, "the group above has none of these"), ({"5,6 at all", "1,2 at all"}, "no control group of ours")],
)
def test_where_none_can_be_moved_they_stand_still(caplog: pytest.LogCaptureFixture, fails: set[str], says: str) -> None:
    def start(kind: str) -> Any:
        new = Fake(kind)
        new.fails = fails
        return new

    spares = Spares(start, freezes=True, apart="5,6")
    spares.have(2)
    spares.settle()
    found: Any = spares.containers
    assert [one.cores for one in found] == ["1,2"] * 3
    with spares.frozen():
        assert frozen(spares) == [True] * 3
    assert caplog.text.count(f"cannot leave the cores of a job: {says}") == 1


def test_one_that_is_left_on_cores_of_others_is_no_spare() -> None:
    def start(kind: str) -> Any:
        new = Fake(kind)
        new.fails = {"5,6", "1,2"}
        made.append(new)
        return new

    made: list[Any] = []
    spares = Spares(start, freezes=True, apart="5,6")
    spares.have(2)
    spares.settle()
    assert (spares.containers, made[0].cores, made[0].is_closed) == ((), "0,1,2", True)


def test_where_freezing_is_left_out_they_run(spares: Spares) -> None:
    spares = Spares(Fake, freezes=False)  # type: ignore[arg-type]
    spares.have(1)
    with spares.frozen():
        assert not any(frozen(spares))


def test_spares_that_cannot_be_started_stop_nothing() -> None:
    def start(kind: str) -> Any:
        raise SandboxError("the Docker Engine refuses")

    spares = Spares(start, freezes=True)
    spares.have(2)
    spares.settle()
    assert spares.containers == ()
    with pytest.raises(SandboxError):
        spares.take(TENANT)


def test_a_bug_in_a_start_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    spares = Spares(lambda kind: 1 / 0, freezes=True)  # type: ignore[arg-type,return-value]
    spares.have(1)
    spares.settle()
    assert "ZeroDivisionError" in caplog.text
    assert spares.containers == ()
