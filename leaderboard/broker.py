"""The queue as the site sees it: a doorbell for runners, and small chores for the site's own worker.

The broker holds no truth. A message to the queue `gpu.<hardware>` only announces work; the runner that receives it
claims the next job over HTTP. A broker that is down therefore costs only time: ringing never raises, and the sweeper
rings again. Rings are sent after commit, by threads that still hold a database connection, so a broker that hangs
gets ANSWER_TIMEOUT_S and is then left alone for PAUSE_S. The runner's actor is not imported: its message is built by
hand.
"""

import time
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Final, TypeVar

import dramatiq
import redis
import structlog
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker
from redis.backoff import NoBackoff
from redis.retry import Retry

Answer = TypeVar("Answer")

SITE_QUEUE: Final = "site"
DOORBELL: Final = "doorbell"  # the runner's actor
DOORBELL_MAX_AGE_MS: Final = 60_000  # the sweeper has repeated an older ring
HEARTBEAT_TIMEOUT_MS: Final = 15_000  # a killed worker is noticed after this time
ALWAYS_MAINTAIN: Final = 1_000_000  # of a million commands
ANSWER_TIMEOUT_S: Final = 0.5
TRIES_AGAIN: Final = 1  # with a new connection, after a restart of the broker
PAUSE_S: Final = 15.0  # as often as the sweeper rings

log = structlog.get_logger(__name__)


class BrokerIsAway(redis.RedisError):
    """The broker did not answer recently, so the call was not made."""


class Breaker:
    """Circuit breaker for calls to the broker.

    After a failure, one call each PAUSE_S tries again; the rest fail at once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._try_at = 0.0

    def call(self, act: Callable[[], Answer]) -> Answer:
        with self._lock:
            if self._try_at > time.monotonic():
                raise BrokerIsAway(f"did not answer within the last {PAUSE_S:.0f} s")
            if self._try_at:
                self._try_at = time.monotonic() + PAUSE_S  # concurrent calls fail at once while this call tries
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
    """Return the only broker of this process. Creating it opens no connection."""
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
    """Announce work to one runner of this hardware. False: the broker did not take the message."""
    options = {"max_age": DOORBELL_MAX_AGE_MS}
    return _enqueue(gpu_queue(hardware), DOORBELL, {"hint": hint}, options, if_lost="doorbell_not_rung")


def send_chore(actor_name: str, **kwargs: str) -> bool:
    """Send the site's own worker a chore (leaderboard/actors.py). A chore may be lost and may be done twice."""
    return _enqueue(SITE_QUEUE, actor_name, kwargs, {}, if_lost="chore_not_sent")


def _enqueue(queue: str, actor: str, kwargs: dict[str, str], options: dict[str, int], *, if_lost: str) -> bool:
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name=queue, actor_name=actor, args=(), kwargs=kwargs, options=options
    )
    return _call(lambda: get_broker().enqueue(message), if_lost, queue=queue, actor=actor, **kwargs) is not None


def rings_waiting(hardware: str) -> int | None:
    """Return the number of doorbells that no runner has answered yet; None: the broker does not answer."""
    return _call(lambda: int(get_broker().do_qsize(gpu_queue(hardware))), "broker_does_not_answer", hardware=hardware)


def _call(act: Callable[[], Answer], if_lost: str, **about: str) -> Answer | None:
    """Return the broker's answer; None, with a line in the log, if it gives none."""
    try:
        return breaker.call(act)
    except (redis.RedisError, dramatiq.errors.BrokerError) as error:
        log.warning(if_lost, error=str(error), **about)
        return None


def answers() -> bool:
    """Return whether the broker answers now, or did at the last call."""
    try:
        return bool(breaker.call(lambda: get_broker().client.ping()))
    except redis.RedisError:
        return False
