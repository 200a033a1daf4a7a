"""Life of a claimed job: events in order, one report, and the next job."""

from collections.abc import Callable
from pathlib import Path

from runner.daemon.worker import Daemon
from tests.runner.fake_site import FakeSite


def test_every_queued_job_is_judged_until_there_is_none(site: FakeSite, start: Callable[..., Daemon]) -> None:
    for name in ("a1", "a2", "a3"):
        site.offer(name, "pass")
    start().judge_until_idle()
    assert [site.attempts[name].report.outcome for name in ("a1", "a2", "a3")] == ["passed"] * 3
    assert site.claims == 4


def test_events_arrive_whole_and_in_order(site: FakeSite, start: Callable[..., Daemon]) -> None:
    attempt = site.offer("a1", "chatty 250")
    start().judge_until_idle()
    assert [event.seq for event in attempt.events] == list(range(1, 252))
    assert attempt.events[0].state == "building"


def test_report_arrives_after_the_last_event_and_once(site: FakeSite, start: Callable[..., Daemon]) -> None:
    attempt = site.offer("a1", "pass")
    daemon = start()
    daemon.judge_until_idle()
    daemon.judge_until_idle()
    assert attempt.report is not None
    assert attempt.report.score_us == 12.5
    assert attempt.report_calls == 1
    assert attempt.events


def test_judge_gets_no_token_and_no_broker(site: FakeSite, start: Callable[..., Daemon]) -> None:
    attempt = site.offer("a1", "pass")
    start().judge_until_idle()
    environment = attempt.report.evidence["environment"]
    assert "PATH" in environment
    assert "RUNNER_ID" in environment
    assert not {"RUNNER_TOKEN", "BROKER_URL", "DATABASE_URL", "SECRET_KEY"} & set(environment)


def test_nothing_of_a_reported_attempt_stays_on_disk(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    site.offer("a1", "pass")
    start().judge_until_idle()
    assert list((state / "spool").iterdir()) == []
