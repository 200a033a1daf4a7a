"""Listener on the queue "gpu.<hardware>": a dramatiq worker inside this process, with one thread and prefetch 1.

A message carries no truth, only the hint that there may be work. It is kept until the runner has found the site empty,
so that a busy runner does not swallow the bell of an idle runner, and is then dropped: no retries, no time limit,
no middleware. After the loss of a broker, the worker waits for it in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker

from runner.log import get_logger

log = get_logger(__name__)

BROKER_TIMEOUT_S: Final = 5.0
HEARTBEAT_TIMEOUT_MS: Final = 15_000  # a runner silent for this long is dead: its messages go to other runners
MAINTENANCE_CHANCE: Final = 1_000_000  # in a million: check for dead runners at every command
WORKER_TIMEOUT_MS: Final = 50  # longest pause between two looks at an empty queue
SHUTDOWN_MS: Final = 5_000


@contextmanager
def listening(broker_url: str, hardware: str, answer: Callable[[], None]) -> Iterator[None]:
    """Call `answer` in a separate thread for every bell, one after another."""
    queue = f"gpu.{hardware}"
    client = redis.Redis.from_url(broker_url, socket_timeout=BROKER_TIMEOUT_S, socket_connect_timeout=BROKER_TIMEOUT_S)
    broker = RedisBroker(  # type: ignore[no-untyped-call]
        client=client, middleware=[], heartbeat_timeout=HEARTBEAT_TIMEOUT_MS, maintenance_chance=MAINTENANCE_CHANCE
    )

    @dramatiq.actor(broker=broker, actor_name="doorbell", queue_name=queue)
    def doorbell(hint: str = "") -> None:
        log.debug("doorbell", hint=hint[:64])
        answer()

    worker = dramatiq.Worker(broker, queues={queue}, worker_timeout=WORKER_TIMEOUT_MS, worker_threads=1)
    worker.queue_prefetch = 1  # dramatiq reads the environment variable for it only at its first import
    worker.start()
    log.info("listening", queue=queue)
    try:
        yield
    finally:
        worker.stop(timeout=SHUTDOWN_MS)
