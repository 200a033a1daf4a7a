"""The queue as the site sees it: a doorbell for runners, and small chores for the site's own worker.

No truth lives here. A message to the queue `gpu.<hardware>` only says that there is work; the runner that hears it
claims the next over HTTP. So a broker that is down costs nobody anything but time: ringing never raises, and the
sweeper rings again. Rings are sent after commit, by threads that still hold a database connection: a broker that hangs
is given ANSWER_TIMEOUT_S and then left alone for PAUSE_S. The runner's actor is not imported: its message is built by
hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, Final

import dramatiq
import redis
import structlog
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker
from redis.backoff import NoBackoff
from redis.retry import Retry

SITE_QUEUE: Final = "site"
DOORBELL: Final = "doorbell"  # the runner's actor
DOORBELL_MAX_AGE_MS: Final = 60_000  # an older ring says nothing that the sweeper has not said again
HEARTBEAT_TIMEOUT_MS: Final = 15_000  # a worker that was killed is noticed after this
ALWAYS_MAINTAIN: Final = 1_000_000  # of a million commands
ANSWER_TIMEOUT_S: Final = 0.5
TRIES_AGAIN: Final = 1  # with a new connection, where the broker was restarted
PAUSE_S: Final = 15.0  # as often as the sweeper rings

log = structlog.get_logger(__name__)


class BrokerIsAway(redis.RedisError):
    """It did not answer lately, so that nobody asked it."""


class Breaker:
    """Calls to the broker. After a failure, one call each PAUSE_S tries again; the others fail at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._try_at = 0.0

    def call(self, act: Callable[[], Any]) -> Any:
        with self._lock:
            if self._try_at > time.monotonic():
                raise BrokerIsAway(f"did not answer within the last {PAUSE_S:.0f} s")
            if self._try_at:
                self._try_at = time.monotonic() + PAUSE_S  # others wait while this call tries
        try:
            answer = act()
        except (redis.RedisError, dramatiq.errors.BrokerError):
            self._try_at = time.monotonic() + PAUSE_S
            raise
        self._try_at = 0.0
        return answer

    def reset(self) -> None:
        self._try_at = 0.0


breaker: Final = Breaker()


@cache
def get_broker() -> RedisBroker:
    """The one broker of this process. Making it opens no connection."""
    client = redis.Redis.from_url(
        settings.BROKER_URL,
        socket_timeout=ANSWER_TIMEOUT_S,
        socket_connect_timeout=ANSWER_TIMEOUT_S,
        retry=Retry(NoBackoff(), TRIES_AGAIN),
    )
    return RedisBroker(  # type: ignore[no-untyped-call]
        client=client, heartbeat_timeout=HEARTBEAT_TIMEOUT_MS, maintenance_chance=ALWAYS_MAINTAIN
    )


def gpu_queue(hardware: str) -> str:
    return f"gpu.{hardware}"


def ring(*, hardware: str, hint: str) -> bool:
    """Tell one runner of this hardware that there is work. False where the broker did not take it."""
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name=gpu_queue(hardware),
        actor_name=DOORBELL,
        args=(),
        kwargs={"hint": hint},
        options={"max_age": DOORBELL_MAX_AGE_MS},
    )
    try:
        breaker.call(lambda: get_broker().enqueue(message))
    except (redis.RedisError, dramatiq.errors.BrokerError) as error:
        log.warning("doorbell_not_rung", hardware=hardware, hint=hint, error=str(error))
        return False
    return True


def send_chore(actor_name: str, **kwargs: str) -> bool:
    """Ask the site's own worker for a chore (leaderboard/actors.py) that may be lost and may be done twice."""
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name=SITE_QUEUE, actor_name=actor_name, args=(), kwargs=dict(kwargs), options={}
    )
    try:
        breaker.call(lambda: get_broker().enqueue(message))
    except (redis.RedisError, dramatiq.errors.BrokerError) as error:
        log.warning("chore_not_sent", actor=actor_name, error=str(error))
        return False
    return True


def rings_waiting(hardware: str) -> int | None:
    """Doorbells that no runner has answered yet; None where the broker does not say."""
    try:
        return int(breaker.call(lambda: get_broker().do_qsize(gpu_queue(hardware))))
    except (redis.RedisError, dramatiq.errors.BrokerError) as error:
        log.warning("broker_does_not_answer", hardware=hardware, error=str(error))
        return None


def answers() -> bool:
    """Whether the broker answers now, or did when it was asked last."""
    try:
        return bool(breaker.call(lambda: get_broker().client.ping()))
    except redis.RedisError:
        return False
