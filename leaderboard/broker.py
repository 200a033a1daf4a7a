"""The queue as the site sees it: a doorbell for runners, and small chores for the site's own worker.

No truth lives here. A message to the queue `gpu.<hardware>` only says that there is work; the runner that hears it
claims the next over HTTP. So a broker that is down costs nobody anything but time: ringing never raises, and the
sweeper rings again. The runner's actor is not imported: its message is built by hand.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import dramatiq
import redis
import structlog
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker

SITE_QUEUE: Final = "site"
DOORBELL: Final = "doorbell"  # the runner's actor
DOORBELL_MAX_AGE_MS: Final = 60_000  # an older ring says nothing that the sweeper has not said again
HEARTBEAT_TIMEOUT_MS: Final = 15_000  # a worker that was killed is noticed after this
ALWAYS_MAINTAIN: Final = 1_000_000  # of a million commands
ANSWER_TIMEOUT_S: Final = 3.0

log = structlog.get_logger(__name__)


@cache
def get_broker() -> RedisBroker:
    """The one broker of this process. Making it opens no connection."""
    client = redis.Redis.from_url(
        settings.BROKER_URL, socket_timeout=ANSWER_TIMEOUT_S, socket_connect_timeout=ANSWER_TIMEOUT_S
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
        get_broker().enqueue(message)
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
        get_broker().enqueue(message)
    except (redis.RedisError, dramatiq.errors.BrokerError) as error:
        log.warning("chore_not_sent", actor=actor_name, error=str(error))
        return False
    return True


def rings_waiting(hardware: str) -> int | None:
    """Doorbells that no runner has answered yet; None where the broker does not say."""
    try:
        return int(get_broker().do_qsize(gpu_queue(hardware)))
    except (redis.RedisError, dramatiq.errors.BrokerError) as error:
        log.warning("broker_does_not_answer", hardware=hardware, error=str(error))
        return None
