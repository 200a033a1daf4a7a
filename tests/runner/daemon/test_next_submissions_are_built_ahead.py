"""The next submissions are built beside a judged job: a claim waits for its own build, a failed build costs nothing."""

import base64
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.daemon.ahead import MOST_KEPT, Ahead, BuildProcess
from runner.daemon.worker import Daemon
from runner.errors import SiteUnreachable
from runner.host.accelerators import building_cores, spans
from runner.job import build, judge_main
from runner.wire import Job
from tests.runner.fake_site import FakeSite

BUILDER = """
import json, os, signal, sys, time

def end(*_):
    time.sleep(0.2)  # removes its container
    print("removed", file=open({log!r} + ".removed", "a"))
    sys.exit(143)

signal.signal(signal.SIGTERM, end)
print("started", file=open({log!r} + ".started", "a"))
job = json.loads(sys.stdin.readline())
what, _, argument = job["source"].partition(" ")
print(job["submission_id"], what, sys.argv[1], file=open({log!r}, "a"))
if what == "slow":
    time.sleep(float(argument))
elif what == "awaits":
    while not os.path.exists(argument):
        time.sleep(0.01)
elif what == "fail":
    sys.exit(1)
elif what == "killed":
    sys.exit(9)
sys.stdout.write("built of " + job["submission_id"])
"""


def test_the_cores_that_build_are_given_to_a_judge_for_its_spares(start: Callable[..., Daemon]) -> None:
    daemon = start()
    assert "--spares" not in daemon._new_judge(0, True)._command, "cpu"
    daemon._spares, daemon._beside = 2, (5, 6, 7, 8)  # as on a GPU's host
    assert daemon._new_judge(0, True)._command[-3:] == ("--spares", "2", "5,6,7,8")


def job(name: str, source: str = "load_inline") -> Job:
    return Job(name, 0, 60.0, "H200", "test", name, "kernel.py", source, {}, "sha256:0")


class Workshop:
    """An Ahead with a builder of its own, and what the site would name."""

    def __init__(self, folder: Path) -> None:
        self.upcoming: list[Job] = []
        self.asked = self.reaped = 0
        self.is_down = False
        self.log = folder / "log"
        self.log.touch()
        self.ahead = self.make((6, 7))  # one build at a time

    def make(self, cores: tuple[int, ...]) -> Ahead:
        command = (sys.executable, "-c", BUILDER.format(log=str(self.log)))
        return Ahead(self._ask, command, {}, {}, cores, self._reap)

    def _ask(self) -> list[Job]:
        upcoming, self.asked = self.upcoming, self.asked + 1  # a test that has seen the question changes no answer
        if self.is_down:
            raise SiteUnreachable("the site is away")
        return upcoming

    def _reap(self) -> None:
        self.reaped += 1

    def await_that(self, true: Callable[[], object]) -> None:
        give_up_at = time.monotonic() + 20
        while not true():
            assert time.monotonic() < give_up_at, self.log.read_text()
            time.sleep(0.01)

    @property
    def started(self) -> int:
        """Return the number of builders so far, with a job or without."""
        path = self.log.with_name("log.started")
        return len(path.read_text().splitlines()) if path.exists() else 0

    def take(self, name: str) -> bytes:
        return self.ahead.take(job(name), lambda: False)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.ahead.close()


def test_what_comes_next_is_built_beside_the_job_once(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1"), job("s2")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s2" in workshop.log.read_text())
    assert workshop.take("s2") == b"built of s2"
    assert workshop.take("s1") == b"built of s1"
    assert workshop.take("s1") == b""
    assert workshop.log.read_text() == "s1 load_inline 6-7\ns2 load_inline 6-7\n"


def test_what_was_built_for_another_version_of_the_problem_is_not_used(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s1" in workshop.ahead._made)
    assert workshop.ahead.take(replace(job("s1"), problem_digest="sha256:1"), lambda: False) == b""
    assert workshop.take("s1") == b"", "it is gone"


def test_a_claim_waits_for_its_own_build_alone(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1", "slow 1")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s1" in workshop.log.read_text())
    assert workshop.take("s2") == b""
    assert workshop.take("s1") == b"built of s1"


def test_the_admission_of_a_problem_waits_for_no_build(workshop: Workshop) -> None:
    given_up = iter([False, True])
    assert workshop.ahead.take(job(""), lambda: next(given_up)) == b""
    assert next(given_up) is False, "it has not waited"


def test_a_claim_that_is_given_up_waits_for_no_build(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1", "slow 60")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s1" in workshop.log.read_text())
    assert workshop.ahead.take(job("s1"), lambda: True) == b""


def test_what_a_killed_build_left_is_removed_once_no_other_is_at_work(workshop: Workshop) -> None:
    """Their containers have one label."""
    awaited = workshop.log.with_name("awaited")
    workshop.upcoming = [job("s1", f"awaits {awaited}"), job("s2", "killed"), job("s3")]
    workshop.ahead = workshop.make((5, 6, 7, 8))
    workshop.ahead.begin()
    workshop.await_that(lambda: "s2" in workshop.ahead._made)
    assert (workshop.ahead.at_work, workshop.reaped) == (["s1"], 0)
    awaited.touch()
    workshop.await_that(lambda: "s3" in workshop.ahead._made)
    assert workshop.reaped == 1
    assert workshop.take("s1") == b"built of s1"
    assert workshop.take("s3") == b"built of s3"


def test_a_fault_of_a_moment_ends_no_thread(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.daemon.ahead.EVERY_S", 0.05)
    begun, start = workshop.ahead._begun, workshop.ahead._start
    faults = iter([OSError("no process"), OSError("no process")])
    fails_to = iter([True, False, True])  # the thread that asks, at first, and then that of a build

    def fails() -> BuildProcess:
        for fault in faults:
            raise fault
        return begun()

    def fails_to_start(work: Callable[..., object], *told: object) -> None:
        if next(fails_to, False):
            raise RuntimeError("can't start new thread")
        start(work, *told)

    monkeypatch.setattr(workshop.ahead, "_begun", fails)
    monkeypatch.setattr(workshop.ahead, "_start", fails_to_start)
    workshop.upcoming = [job("s1")]
    for _ in range(2):
        workshop.ahead.begin()
    workshop.await_that(lambda: "s1" in workshop.ahead._made)
    assert workshop.take("s1") == b"built of s1"


def test_what_is_claimed_while_the_site_answers_is_not_built(workshop: Workshop) -> None:
    upcoming = [job("s1"), job("s2")]

    def ask() -> list[Job]:
        assert workshop.take("s1") == b""
        return upcoming

    workshop.ahead = Ahead(
        ask, (sys.executable, "-c", BUILDER.format(log=str(workshop.log))), {}, {}, (6, 7), workshop._reap
    )
    workshop.ahead.begin()
    workshop.await_that(lambda: "s2" in workshop.ahead._made)
    assert "s1" not in workshop.log.read_text()


@pytest.mark.parametrize(("source", "reaped"), [("fail", 0), ("killed", 1)])
def test_a_failed_build_is_not_tried_again(workshop: Workshop, source: str, reaped: int) -> None:
    workshop.upcoming = [job("s1", source), job("s2")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s2" in workshop.log.read_text())
    assert workshop.take("s2") == b"built of s2"
    assert workshop.take("s1") == b""
    assert workshop.log.read_text().count("s1") == 1
    assert workshop.reaped == reaped


def test_a_job_that_begins_asks_at_once(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.daemon.ahead.EVERY_S", 3_600.0)
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.asked)
    workshop.upcoming = [job("s1")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s1" in workshop.log.read_text())


def test_the_next_builder_is_prepared_beside_a_build(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1", "slow 60")]
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.started == 2 and workshop.log.read_text())
    assert workshop.log.read_text() == "s1 slow 6-7\n"


def test_builds_run_side_by_side_as_cores_allow(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1", "slow 60"), job("s2", "slow 60"), job("s3", "slow 60"), job("s4")]
    ahead = workshop.make((5, 6, 7, 8, 9))
    ahead.begin()
    workshop.await_that(lambda: len(workshop.log.read_text().splitlines()) == 3)
    assert sorted(ahead.at_work) == ["s1", "s2", "s3"]
    assert set(workshop.log.read_text().splitlines()) == {f"s{number} slow 5-9" for number in (1, 2, 3)}
    began = time.monotonic()
    ahead.close()
    assert time.monotonic() - began < 5
    assert ahead.at_work == []


def test_a_build_that_ends_makes_place_for_the_next(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.daemon.ahead.EVERY_S", 3_600.0)
    workshop.upcoming = [job("s1", "slow 60"), job("s2"), job("s3"), job("s4")]
    ahead = workshop.make((5, 6, 7, 8))
    ahead.begin()
    workshop.await_that(lambda: {"s2", "s3", "s4"} <= ahead._made.keys())
    assert ahead.at_work == ["s1"]
    ahead.close()


def test_a_builder_that_waited_for_long_or_died_is_replaced(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.upcoming = [job("s1")]
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.ahead._made and workshop.ahead._at_hand and workshop.started == 2)
    workshop.await_that(lambda: workshop.asked >= 2)  # after the end of the build
    old = workshop.ahead._at_hand
    assert old is not None
    monkeypatch.setattr("runner.daemon.ahead.OLD_S", 0.0)
    workshop.upcoming = [job("s2")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s2" in workshop.ahead._made)
    assert old._process.poll() == 128 + signal.SIGTERM, "it got no job"
    assert workshop.reaped == 0
    monkeypatch.setattr("runner.daemon.ahead.OLD_S", 600.0)
    workshop.upcoming = [job("s3")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s3" in workshop.ahead._made)
    dead = workshop.ahead._at_hand
    assert dead is not None
    dead._process.kill()
    dead._process.wait()
    workshop.upcoming = [job("s4")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s4" in workshop.ahead._made)
    assert workshop.take("s4") == b"built of s4"
    assert workshop.reaped == 1


def test_what_was_claimed_meanwhile_is_not_built(workshop: Workshop) -> None:
    assert workshop.take("s1") == b""
    workshop.upcoming = [job("s1"), job("s2")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s2" in workshop.log.read_text())
    assert "s1" not in workshop.log.read_text()


def test_an_idle_runner_keeps_no_builder(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.daemon.ahead.IDLE_S", 0.1)
    monkeypatch.setattr("runner.daemon.ahead.EVERY_S", 0.05)
    workshop.upcoming = [job("s1")]
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.started == 2)
    workshop.await_that(lambda: workshop.ahead._at_hand is not None)
    workshop.ahead.end()
    workshop.await_that(lambda: workshop.ahead._at_hand is None)
    assert workshop.take("s1") == b"built of s1"


def test_an_idle_runner_asks_for_nothing(workshop: Workshop) -> None:
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.asked)
    workshop.ahead.end()
    asked = workshop.asked
    time.sleep(0.3)
    assert workshop.asked <= asked + 1


def test_old_archives_make_room(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.daemon.ahead.EVERY_S", 0.05)
    for number in range(MOST_KEPT + 1):
        workshop.upcoming = [job(f"s{number}")]
        workshop.ahead.begin()
        workshop.await_that(lambda name=f"s{number}": name in workshop.log.read_text())
    assert workshop.take(f"s{MOST_KEPT}") == f"built of s{MOST_KEPT}".encode()
    assert workshop.take("s0") == b""
    assert workshop.take("s1") == b"built of s1"


def test_a_site_that_is_away_ends_no_thread(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.daemon.ahead.EVERY_S", 0.05)
    workshop.is_down = True
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.asked > 1)
    workshop.is_down, workshop.upcoming = False, [job("s1")]
    workshop.await_that(lambda: "s1" in workshop.log.read_text())
    assert workshop.take("s1") == b"built of s1"


def test_closing_lets_builders_remove_their_containers(workshop: Workshop) -> None:
    """They would be killed if the thread ended that started them."""
    workshop.upcoming = [job("s1", "slow 60"), job("s2", "slow 60")]
    workshop.ahead = workshop.make((5, 6, 7, 8))
    workshop.ahead.begin()
    workshop.await_that(lambda: workshop.started == 3 and len(workshop.log.read_text().splitlines()) == 2)
    workshop.ahead.close()
    assert workshop.log.with_name("log.removed").read_text() == "removed\n" * 3
    assert workshop.reaped == 0


def test_closing_ends_a_build(workshop: Workshop) -> None:
    workshop.upcoming = [job("s1", "slow 60")]
    workshop.ahead.begin()
    workshop.await_that(lambda: "s1" in workshop.log.read_text())
    began = time.monotonic()
    workshop.ahead.close()
    assert time.monotonic() - began < 5
    assert workshop.take("s1") == b""


def test_without_cores_nothing_is_asked(workshop: Workshop) -> None:
    ahead = workshop.make(())
    ahead.begin()
    time.sleep(0.2)
    ahead.close()
    assert workshop.asked == 0


@pytest.mark.parametrize(
    ("available", "most", "apart", "found"),
    [
        (range(16), 6, 16, (10, 11, 12, 13, 14, 15)),
        (range(8), 6, 8, (5, 6, 7)),
        (range(5), 6, 5, ()),
        (range(2), 6, 2, ()),
        (range(16), 0, 16, ()),
        (range(16), 6, 8, (5, 6, 7, 13, 14, 15)),
        (range(12), 8, 1, (6, 7, 8, 9, 10, 11)),
        (range(8), 6, 4, ()),
    ],
)
def test_the_cores_of_builds_are_none_of_the_judges_or_a_tenants(
    available: range, most: int, apart: int, found: tuple[int, ...]
) -> None:
    """`apart`: a core's second thread has a number that is greater by this; 1: than an even one."""

    def read(path: str) -> str:
        core = int(path.split("/cpu")[-1].split("/")[0])
        return f"{core & ~1}-{core | 1}" if apart == 1 else f"{core % apart},{core % apart + apart}"

    assert building_cores(available, most, read) == found


def test_the_judge_gets_the_archive_with_the_job(site: FakeSite, start: Callable[..., Daemon], tmp_path: Path) -> None:
    daemon = start()
    workshop = Workshop(tmp_path)
    workshop.upcoming = [job("s-1")]
    daemon._ahead = workshop.ahead
    workshop.ahead.begin()
    workshop.await_that(lambda: "s-1" in workshop.log.read_text())
    attempt = site.offer("a1", "pass")
    daemon.judge_until_idle()
    assert attempt.report is not None
    assert attempt.report.evidence["built"] == "built of s-1"


@pytest.mark.parametrize(("image", "used"), [("sha256:1", b"an archive\n"), ("sha256:2", b"")])
def test_a_judge_uses_an_archive_of_its_own_image_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    image: str,
    used: bytes,
) -> None:
    """The image may change while the archive is kept."""

    class Builder:
        image = "sha256:1"

        def __init__(self, *given: object) -> None: ...

        def __enter__(self) -> "Builder":
            return self

        def __exit__(self, *exc_info: object) -> None: ...

        def build(self, job: Job) -> bytes:
            return b"an archive\n"

    @contextmanager
    def given(line: dict[str, Any]) -> Iterator[None]:
        (tmp_path / "stdin").write_text(json.dumps(line) + "\n")
        with (tmp_path / "stdin").open() as stdin, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            yield

    sent = job("s1").to_json()
    monkeypatch.setattr(build, "Builder", Builder)
    monkeypatch.setattr(signal, "signal", lambda *handled: None)
    monkeypatch.setattr(sys, "argv", ["build", spans(sorted(os.sched_getaffinity(0)))])
    with given(sent):
        build.main()
    sys.stdout.flush()
    ready: Any = SimpleNamespace(image=image, unfit=lambda: "")
    with given({**sent, "built": base64.b64encode(capfdbinary.readouterr().out).decode()}):
        assert judge_main._await_job(ready) == (job("s1"), used)


def test_a_claim_names_the_submissions_that_are_being_built(
    site: FakeSite, start: Callable[..., Daemon], tmp_path: Path
) -> None:
    daemon = start()
    workshop = Workshop(tmp_path)
    workshop.upcoming = [job("s-2", "slow 60"), job("s-3", "slow 60")]
    daemon._ahead = workshop.ahead = workshop.make((6, 7, 8))
    workshop.ahead.begin()
    workshop.await_that(lambda: len(workshop.ahead.at_work) == 2)
    site.offer("a1", "pass")
    daemon.judge_until_idle()
    workshop.ahead.close()
    assert site.claimed_with[0]["being_built"] == "s-2,s-3"
    daemon.judge_until_idle()
    assert "being_built" not in site.claimed_with[-1]
