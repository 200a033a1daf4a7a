"""The bell: a message on the hardware's queue, through a real broker, makes an idle runner claim."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dramatiq
import pytest
import redis
from dramatiq.brokers.redis import RedisBroker

from runner.daemon.worker import Daemon
from tests.runner.fake_site import FakeSite


@pytest.fixture
def broker() -> Iterator[RedisBroker]:
    """The site's broker, which knows no actor of the runner."""
    client = redis.Redis.from_url(os.environ["BROKER_URL"])
    broker = RedisBroker(client=client, middleware=[])
    broker.declare_queue("gpu.cpu")
    broker.flush_all()
    yield broker
    broker.flush_all()
    client.close()


def ring(broker: RedisBroker) -> None:
    broker.enqueue(dramatiq.Message("gpu.cpu", "doorbell", (), {"hint": "a1"}, {}))


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


def test_start_claims_without_a_bell(site: FakeSite, start: Callable[..., Daemon], broker: RedisBroker) -> None:
    attempt = site.offer("a1", "pass")
    with running(start()):
        site.await_that(lambda: attempt.report)


@pytest.mark.parametrize("account", ["BROKER_URL", "PHOTOFINISH_TEST_RUNNER_BROKER_URL"])
def test_bell_wakes_an_idle_runner(
    site: FakeSite, start: Callable[..., Daemon], broker: RedisBroker, account: str
) -> None:
    with running(start(broker_url=os.environ[account], runner_poll_s=3_600)):
        site.await_that(lambda: site.claims == 1)
        attempt = site.offer("a1", "pass")
        ring(broker)
        site.await_that(lambda: attempt.report)
        site.await_that(lambda: broker.do_qsize("gpu.cpu") == 0)


def test_many_bells_never_mean_two_attempts_at_once(
    site: FakeSite, start: Callable[..., Daemon], broker: RedisBroker
) -> None:
    first, second = site.offer("a1", "slow 1"), site.offer("a2", "pass")
    for _ in range(5):
        ring(broker)
    with running(start(runner_poll_s=0.1)):
        site.await_that(lambda: first.events)
        assert not second.events
        site.await_that(lambda: second.report)
        assert first.report is not None


def test_busy_runner_leaves_the_other_bells_to_others(
    site: FakeSite, start: Callable[..., Daemon], broker: RedisBroker
) -> None:
    attempt = site.offer("a1", "hang")
    with running(start()):
        site.await_that(lambda: attempt.events)
        for _ in range(4):
            ring(broker)
        time.sleep(0.5)
        assert broker.client.llen("dramatiq:gpu.cpu") >= 3


def test_poll_finds_work_when_the_broker_is_gone(site: FakeSite, start: Callable[..., Daemon]) -> None:
    with running(start(broker_url="unix:///nowhere/valkey.sock", runner_poll_s=0.2)):
        site.await_that(lambda: site.claims)
        attempt = site.offer("a1", "pass")
        site.await_that(lambda: attempt.report)


def test_runner_without_a_broker_hears_the_bell_over_http(site: FakeSite, start: Callable[..., Daemon]) -> None:
    with running(start(broker_url="", runner_poll_s=3_600)):
        for name in ("a1", "a2"):
            site.await_that(lambda: site.bells_waiting)
            began = time.monotonic()
            attempt = site.offer(name, "pass")
            site.await_that(lambda attempt=attempt: attempt.report)
            assert time.monotonic() - began < site.bell_s


def test_runner_without_a_broker_survives_a_site_that_is_away(site: FakeSite, start: Callable[..., Daemon]) -> None:
    site.bell_s = 0.1
    with running(start(broker_url="", runner_poll_s=3_600)):
        site.await_that(lambda: site.bells_waiting)
        site.down = True
        time.sleep(0.4)
        attempt = site.offer("a1", "pass")
        site.down = False
        site.await_that(lambda: attempt.report)


def test_busy_runner_without_a_broker_leaves_the_bell_to_others(site: FakeSite, start: Callable[..., Daemon]) -> None:
    site.offer("a1", "slow 1")
    with running(start(broker_url="", runner_poll_s=0.1)):
        site.await_that(lambda: site.attempts["a1"].events)
        time.sleep(0.3)
        assert not site.bells_waiting


def test_older_site_without_a_bell_is_polled(site: FakeSite, start: Callable[..., Daemon]) -> None:
    site.bell_status = 404
    with running(start(broker_url="", runner_poll_s=0.2)):
        site.await_that(lambda: site.claims)
        attempt = site.offer("a1", "pass")
        site.await_that(lambda: attempt.report)


def test_bell_that_would_be_asked_for_as_the_daemon_ends_is_no_failure(
    site: FakeSite, start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = start(broker_url="")
    daemon._client.close()
    monkeypatch.setattr(daemon, "judge_until_idle", lambda: None)
    with pytest.raises(RuntimeError, match="has been closed"):
        daemon._listen_over_http()
    monkeypatch.setattr(daemon, "judge_until_idle", daemon.stop)
    daemon._listen_over_http()
    assert not site.claims


def test_site_that_is_down_at_the_start_is_waited_for(site: FakeSite, start: Callable[..., Daemon]) -> None:
    site.down = True
    attempt = site.offer("a1", "pass")
    with running(start()):
        time.sleep(0.4)
        site.down = False
        site.await_that(lambda: attempt.report)
