"""A judge waits, prepared, before a job exists; a runner that cannot prepare a judge takes no work; no judges
overlap."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.daemon.judge_handle import JudgeProcess
from runner.daemon.standby import Standby
from runner.daemon.worker import Daemon
from runner.errors import JudgeStopped
from runner.host.accelerators import epoch
from tests.runner.conftest import is_alive
from tests.runner.fake_site import FakeSite

Start = Callable[..., Daemon]


@contextmanager
def running(daemon: Daemon) -> Iterator[None]:
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        yield
    finally:
        daemon.stop()
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def judging(daemon: Daemon) -> Iterator[None]:
    thread = threading.Thread(target=daemon.judge_until_idle)
    thread.start()
    try:
        yield
    finally:
        daemon.stop()
        thread.join(20)
        assert not thread.is_alive()


def waiting(state: Path) -> int:
    """Pid of the judge that waits for a job, 0 if there is none."""
    path = state / "waiting.pid"
    pid = int(path.read_text() or 0) if path.exists() else 0
    return pid if pid and is_alive(pid) else 0


def lives(state: Path) -> list[str]:
    told = [line.split()[0] for line in (state / "lives").read_text().splitlines()]
    return [one for one in told if one != "waits"]


def test_a_judge_waits_before_there_is_a_job_and_takes_it(site: FakeSite, start: Start, state: Path) -> None:
    daemon = start()
    daemon.judge_until_idle()
    ahead = waiting(state)
    assert ahead
    attempt = site.offer("a1", "pass")
    daemon.judge_until_idle()
    assert attempt.report.outcome == "passed"
    assert int((state / "judge.pid").read_text()) == ahead


def test_each_judge_takes_one_job_and_is_gone_before_the_next_begins(site: FakeSite, start: Start, state: Path) -> None:
    for name in ("a1", "a2", "a3"):
        site.offer(name, "linger 0.3")
    start().judge_until_idle()
    assert lives(state) == ["begins", "ends"] * 3 + ["begins"]


def test_report_arrives_while_the_judge_still_clears_away(site: FakeSite, start: Start, state: Path) -> None:
    first, second = site.offer("a1", "linger 2"), site.offer("a2", "pass")
    with judging(start()):
        site.await_that(lambda: first.report, within_s=1.5)
        judge = int((state / "judge.pid").read_text())
        assert is_alive(judge)
        assert site.claims == 1
        site.await_that(lambda: second.report)
        assert not is_alive(judge)


def test_judge_that_never_ends_after_its_report_is_killed_and_its_containers_reaped(
    site: FakeSite, start: Start, state: Path
) -> None:
    first, second = site.offer("a1", "linger_stubborn"), site.offer("a2", "pass")
    start(runner_judge_limit_s=1.0, runner_judge_grace_s=0.3).judge_until_idle()
    assert (first.report.outcome, second.report.outcome) == ("passed", "passed")
    assert first.report_calls == 1
    assert len((state / "reaped").read_text().split()) == 1


@pytest.mark.parametrize("how", ["die", "early"])
def test_nothing_is_claimed_while_no_judge_can_be_prepared(site: FakeSite, start: Start, state: Path, how: str) -> None:
    daemon = start()
    fault = state / "unprepared"
    fault.write_text(how)
    attempt = site.offer("a1", "pass")
    with judging(daemon):
        site.await_that(lambda: (state / "lives").exists() and lives(state).count("begins") >= 2)
        assert site.claims == 0
        fault.unlink()
        site.await_that(lambda: attempt.report)
        assert attempt.report.outcome == "passed"


def test_judge_that_hangs_while_it_prepares_does_not_hold_up_the_end(site: FakeSite, start: Start, state: Path) -> None:
    daemon = start(runner_judge_grace_s=60.0)
    (state / "unprepared").write_text("hang")
    with running(daemon):
        site.await_that(lambda: (state / "lives").exists())


def test_judge_that_dies_while_it_waits_is_replaced_and_nobody_is_blamed(
    site: FakeSite, start: Start, state: Path
) -> None:
    with running(start(runner_poll_s=3_600)):
        site.await_that(lambda: waiting(state))
        first = waiting(state)
        os.kill(first, signal.SIGKILL)
        site.await_that(lambda: waiting(state) not in (0, first))
        assert not is_alive(first)


def test_judge_that_dies_between_two_jobs_costs_the_next_job_nothing(site: FakeSite, start: Start, state: Path) -> None:
    daemon = start()
    daemon.judge_until_idle()
    os.kill(waiting(state), signal.SIGKILL)
    attempt = site.offer("a1", "pass")
    daemon.judge_until_idle()
    assert attempt.report.outcome == "passed"
    assert (state / "reaped").exists()


def test_judge_that_grew_stale_hands_its_job_to_another(site: FakeSite, start: Start, state: Path) -> None:
    attempt = site.offer("a1", "stale 1")
    start().judge_until_idle()
    assert attempt.report.outcome == "passed"
    assert [event.seq for event in attempt.events] == [1]


def test_judges_that_are_all_stale_are_the_hosts_fault(site: FakeSite, start: Start) -> None:
    attempt = site.offer("a1", "stale 2")
    start().judge_until_idle()
    assert (attempt.report.outcome, attempt.report.reason) == ("infra_error", "judge_died")


def test_job_larger_than_a_pipe_arrives_whole(site: FakeSite, start: Start) -> None:
    attempt = site.offer("a1", "pass " + "x" * 900_000)
    start().judge_until_idle()
    assert attempt.report.outcome == "passed"


def test_end_of_the_daemon_sends_the_waiting_judge_away_in_peace(site: FakeSite, start: Start, state: Path) -> None:
    with running(start()):
        site.await_that(lambda: waiting(state))
        judge = waiting(state)
    assert not is_alive(judge)
    assert lives(state) == ["begins", "ends"]


def test_sigkill_of_an_idle_daemon_takes_the_waiting_judge_along(
    site: FakeSite, launch: Callable[..., subprocess.Popen[str]], state: Path
) -> None:
    process = launch()
    site.await_that(lambda: waiting(state))
    judge = waiting(state)
    process.kill()
    process.wait(10)
    site.await_that(lambda: not is_alive(judge), within_s=2)


def test_judge_outlives_the_thread_that_prepared_it(site: FakeSite, start: Start, state: Path) -> None:
    daemon = start()
    thread = threading.Thread(target=daemon.judge_until_idle)
    thread.start()
    thread.join(10)
    judge = waiting(state)
    time.sleep(0.3)
    assert judge
    assert waiting(state) == judge


def test_hello_comes_from_a_prepared_judge_and_none_is_said_where_none_can_be(
    site: FakeSite, start: Start, state: Path
) -> None:
    """Without a readable device no judge can be prepared: the site learns no epoch, and the runner claims no job."""
    daemon = start()
    (state / "unprepared").write_text("die")
    site.offer("a1", "pass")
    with running(daemon):
        site.await_that(lambda: (state / "lives").exists())
        time.sleep(0.5)
        assert (site.hellos, site.claims) == ([], 0)
        (state / "unprepared").unlink()
        site.await_that(lambda: site.attempts["a1"].report)
    assert site.hellos[0]["epoch"] == epoch(site.hellos[0]["fingerprint"])


def test_judge_of_another_epoch_is_announced_before_it_takes_a_job(site: FakeSite, start: Start, state: Path) -> None:
    site.offer("a1", "pass")
    with running(start()):
        site.await_that(lambda: site.attempts["a1"].report)
        (state / "driver").write_text("550.2")
        first = int((state / "judge.pid").read_text())
        site.await_that(lambda: waiting(state) not in (0, first))
        judge = waiting(state)
        assert judge, "a pid of 0 would be this process's group"
        os.kill(judge, signal.SIGTERM)  # a judge ends this way when its device changed
        site.await_that(lambda: len(site.hellos) == 2)
    old, new = (hello["epoch"] for hello in site.hellos)
    assert old != new
    assert site.hellos[1]["fingerprint"]["driver"] == "550.2"


def test_preparation_that_is_being_given_up_is_missing_and_no_fault() -> None:
    """The bell's thread gives it up while the daemon's thread looks."""
    ended = threading.Event()

    def make(slot: int, is_full: bool) -> JudgeProcess:
        ended.wait(20)
        raise JudgeStopped("the end of the test")

    standby = Standby(make, lambda slot: None, 2, threading.Event())
    try:
        standby.refill()
        assert not standby.is_short
        assert list(standby._preparing)[-1].cancel(), "it waits for the first"
        assert standby.is_short
    finally:
        ended.set()
        standby.close()
