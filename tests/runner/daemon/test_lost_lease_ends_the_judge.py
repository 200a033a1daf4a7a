"""A lease is renewed while the judge works; when the site declares it over, the judge ends without a report."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.daemon.worker import Daemon
from tests.runner.conftest import is_alive
from tests.runner.fake_site import FakeSite


def judge_in_background(daemon: Daemon) -> threading.Thread:
    thread = threading.Thread(target=daemon.judge_until_idle)
    thread.start()
    return thread


def test_lease_is_renewed_while_the_judge_works(site: FakeSite, start: Callable[..., Daemon]) -> None:
    attempt = site.offer("a1", "slow 1.5")
    daemon = start()
    daemon._renew_s = 0.2
    daemon.judge_until_idle()
    assert attempt.renewals >= 3
    assert attempt.report.outcome == "passed"


@pytest.mark.parametrize("how", ["stale", "cancel"])
def test_judge_is_stopped_at_once_and_nothing_is_reported(
    site: FakeSite, start: Callable[..., Daemon], state: Path, how: str
) -> None:
    attempt = site.offer("a1", "hang")
    daemon = start(runner_judge_grace_s=60.0)
    daemon._renew_s = 0.1
    thread = judge_in_background(daemon)
    site.await_that(lambda: attempt.events)
    setattr(attempt, how, True)
    site.await_that(lambda: not is_alive(int((state / "judge.pid").read_text())))
    thread.join(10)
    assert not thread.is_alive()
    assert attempt.report_calls == 0


def test_stale_events_end_the_judge_too(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "hang")
    attempt.stale = True
    daemon = start()
    daemon._renew_s = 3_600.0
    thread = judge_in_background(daemon)
    thread.join(10)
    assert not thread.is_alive()
    assert attempt.report_calls == 0


def test_site_that_is_away_does_not_end_the_judge(site: FakeSite, start: Callable[..., Daemon]) -> None:
    attempt = site.offer("a1", "slow 1.5")
    daemon = start()
    daemon._renew_s = 0.1
    thread = judge_in_background(daemon)
    site.await_that(lambda: attempt.renewals)
    site.down = True
    time.sleep(0.6)
    site.down = False
    thread.join(20)
    assert attempt.report.outcome == "passed"


def test_finished_report_of_a_lost_lease_is_dropped(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "pass", token=2)
    daemon = start()
    daemon._renew_s = 3_600.0
    attempt.stale = True
    daemon.judge_until_idle()
    assert attempt.report is None
    assert list((state / "spool").iterdir()) == []
