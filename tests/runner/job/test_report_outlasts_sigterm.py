"""SIGTERM while the judge process writes a report: the report is whole, and the process takes no further job."""

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from runner.commands.local import find_problem
from runner.evidence.schedule import B
from runner.job import judge_main
from runner.job.cleanup import Terminated
from runner.wire import Job, Report


@pytest.fixture
def heeding() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, judge_main._on_term)
    yield
    signal.signal(signal.SIGTERM, before)


@contextmanager
def a_reader() -> Iterator[None]:
    """Keep a thread that any signal may be delivered to, as a container's reader is."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@pytest.fixture
def stand_by(monkeypatch: pytest.MonkeyPatch, heeding: None) -> Callable[..., None]:
    """A judge for tests without containers, whose only test passes; the caller replaces its output and its renewal."""
    problem = find_problem("softmax")
    job = Job("a1", 1, 600, "cpu", "test", "s1", "kernel.py", "", problem.to_bundle(), problem.digest)

    def stand_by(say: Callable[[str, object], None], renew: Callable[..., None]) -> None:
        @contextmanager
        def prepared(*_: Any, **named: Any) -> Iterator[Any]:
            hardware = SimpleNamespace(ranks=1)
            yield SimpleNamespace(fingerprint={"torch": "2"}, images=(), renew=renew, hardware=hardware)

        monkeypatch.setattr(judge_main, "prepared", prepared)
        monkeypatch.setattr(judge_main, "_await_job", lambda _: (job, b""))
        monkeypatch.setattr(judge_main, "execute", lambda *_: Report(attempt_id="a1", token=1, outcome="passed"))
        monkeypatch.setattr(judge_main, "_say", say)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"\n")))
        judge_main.stand_by(SimpleNamespace(), (B,))  # type: ignore[arg-type]

    return stand_by


def test_sigterm_during_a_report_waits_for_its_end(stand_by: Callable[..., None]) -> None:
    said: list[str] = []
    renewed: list[bool] = []

    def say(kind: str, value: object) -> None:
        if kind == "report":
            os.kill(os.getpid(), signal.SIGTERM)
            for _ in range(1000):  # bytecode, between which a handler runs
                pass
        said.append(kind)

    with a_reader():
        stand_by(say, lambda timed: renewed.append(timed))
    assert (said, renewed) == (["ready", "report"], [])


def test_sigterm_while_a_judge_is_renewed_ends_it(stand_by: Callable[..., None]) -> None:
    with pytest.raises(Terminated):
        stand_by(lambda kind, value: None, lambda timed: os.kill(os.getpid(), signal.SIGTERM))
