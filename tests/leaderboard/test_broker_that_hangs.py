"""A broker that accepts connections but never answers costs a single wait, not a wait per submission."""

import socket
import time
from collections.abc import Iterator

import pytest

from leaderboard import broker


@pytest.fixture
def hanging_broker(settings) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        settings.BROKER_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        broker.get_broker.cache_clear()
        yield
    broker.get_broker.cache_clear()
    broker.breaker.reset()


pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("hanging_broker")
def test_broker_that_hangs_is_left_alone_after_one_try() -> None:
    began = time.monotonic()
    assert [broker.ring(hardware="cpu", hint="test") for _ in range(20)] == [False] * 20
    assert broker.rings_waiting("cpu") is None
    assert not broker.answers()
    assert time.monotonic() - began < 5, "3 s and more for each ring before there was a breaker"


@pytest.mark.usefixtures("hanging_broker")
def test_broker_that_answers_again_is_rung_after_the_pause(settings, monkeypatch) -> None:
    import os

    monkeypatch.setattr(broker, "PAUSE_S", 2.0)
    assert not broker.ring(hardware="cpu", hint="test")
    settings.BROKER_URL = os.environ["BROKER_URL"]
    broker.get_broker.cache_clear()
    assert not broker.ring(hardware="cpu", hint="test"), "within the pause nobody asks"
    time.sleep(2.1)
    assert broker.ring(hardware="cpu", hint="test")
    broker.get_broker().flush(broker.gpu_queue("cpu"))
