"""The queue as the site sees it: a doorbell for runners, and small chores for the site's own worker.

The broker holds no truth. A message to the queue `gpu.<hardware>` only announces work; the runner that receives it
claims the next job over HTTP. A broker that is down therefore costs only time: ringing never raises, and the sweeper
rings again. Rings are sent after commit, by threads that still hold a database connection, so a broker that hangs
gets a short time to answer and is then left alone for PAUSE_S. The runner's actor is not imported: its message is built
by hand. Runners without a broker wait over HTTP instead, and PostgreSQL carries the ring to the web processes.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Final, TypeVar

import dramatiq
import pika.exceptions
import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker

from runner.broker import RABBITMQ, open_broker, scheme_of

Answer = TypeVar("Answer")

SITE_QUEUE: Final = "site"
DOORBELL: Final = "doorbell"  # the runner's actor
DOORBELL_MAX_AGE_MS: Final = 60_000  # the sweeper has repeated an older ring
CHANNEL: Final = "photofinish_doorbell"  # of PostgreSQL's notifications; the payload is the hardware
MOST_RINGS: Final = 100  # in a queue: more would wake no further runner, and runners without a broker take none away
ANSWER_TIMEOUT_S: Final = 0.5
RABBITMQ_TIMEOUT_S: Final = 2.0  # a new connection takes a dozen round trips
PAUSE_S: Final = 15.0  # as often as the sweeper rings

log = structlog.get_logger(__name__)


class BrokerIsAway(dramatiq.errors.BrokerError):
    """The broker did not answer recently, so the call was not made."""


ERRORS: Final = (dramatiq.errors.BrokerError, redis.RedisError, pika.exceptions.AMQPError, OSError)


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
                raise BrokerIsAway(f"did not answer within the last {PAUSE_S:.0f} s")  # type: ignore[no-untyped-call]
            if self._try_at:
                self._try_at = time.monotonic() + PAUSE_S  # concurrent calls fail at once while this call tries
        try:
            answer = act()
        except ERRORS:
            self._try_at = time.monotonic() + PAUSE_S
            raise
        self._try_at = 0.0
        return answer

    def reset(self) -> None:
        self._try_at = 0.0


breaker: Final = Breaker()
# A connection to RabbitMQ belongs to one thread and has no time limit for an answer: this thread asks, callers wait.
_caller: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rabbitmq")


@cache
def get_broker() -> dramatiq.Broker:
    """Return the only broker of this process. Creating it opens no connection."""
    timeout_s = RABBITMQ_TIMEOUT_S if scheme_of(settings.BROKER_URL) in RABBITMQ else ANSWER_TIMEOUT_S
    return open_broker(settings.BROKER_URL, settings.BROKER_CA_FILE, timeout_s=timeout_s)


def gpu_queue(hardware: str) -> str:
    return f"gpu.{hardware}"


def ring(*, hardware: str, hint: str) -> bool:
    """Announce work to one runner of this hardware. False: the broker did not take the message."""
    wake(hardware)
    if (rings_waiting(hardware) or 0) >= MOST_RINGS:
        return True
    options = {"max_age": DOORBELL_MAX_AGE_MS}
    return _enqueue(gpu_queue(hardware), DOORBELL, {"hint": hint}, options, if_lost="doorbell_not_rung")


def wake(hardware: str) -> None:
    """Wake a runner of this hardware that waits over HTTP (web/runners/bells.py). It needs no broker."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, hardware])
    except DatabaseError as error:
        log.warning("runners_not_woken", error=str(error), hardware=hardware)


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
    return _call(lambda: _messages_in(gpu_queue(hardware)), "broker_does_not_answer", hardware=hardware)


def answers() -> bool:
    """Return whether the broker answers now, or did at the last call."""
    try:
        return breaker.call(lambda: _within_its_time(lambda: _messages_in(SITE_QUEUE))) >= 0
    except ERRORS:
        return False


def _messages_in(queue: str) -> int:
    broker = get_broker()
    if isinstance(broker, RedisBroker):
        return int(broker.do_qsize(queue))
    assert isinstance(broker, RabbitmqBroker)
    try:
        return int(broker.get_queue_message_counts(queue)[0])
    except pika.exceptions.AMQPError:  # the server has closed the idle connection, or was restarted
        del broker.connection
        return int(broker.get_queue_message_counts(queue)[0])


def _call(act: Callable[[], Answer], if_lost: str, **about: str) -> Answer | None:
    """Return the broker's answer; None, with a line in the log, if it gives none."""
    try:
        return breaker.call(lambda: _within_its_time(act))
    except ERRORS as error:
        log.warning(if_lost, error=str(error) or type(error).__name__, **about)
        return None


def _within_its_time(act: Callable[[], Answer]) -> Answer:
    """Return the answer. Raises the broker's error, or TimeoutError."""
    if isinstance(get_broker(), RedisBroker):  # its connections have time limits of their own
        return act()
    answer = _caller.submit(act)
    try:
        return answer.result(RABBITMQ_TIMEOUT_S)
    except TimeoutError:
        answer.cancel()
        raise
