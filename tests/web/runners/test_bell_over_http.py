"""The doorbell of runners without a broker: who is woken, and a real server that holds the call back."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

from leaderboard.web.runners.bells import Bells
from runner.daemon.client import SiteClient
from runner.errors import SiteError, Unauthorised
from runner.wire import Software
from tests.web.live_site import live_site

SOON_S = 0.01


def test_ring_wakes_the_runner_that_waited_longest() -> None:
    async def play() -> None:
        bells = Bells()
        rex, tex = (asyncio.ensure_future(bells.wait("cpu", number, 5)) for number in (1, 2))
        other = asyncio.ensure_future(bells.wait("H200", 3, 5))
        await asyncio.sleep(SOON_S)
        bells.ring("cpu")
        assert await rex
        await asyncio.sleep(SOON_S)
        assert not tex.done()
        bells.ring_all()
        assert await tex
        assert await other

    asyncio.run(play())


def test_ring_that_no_runner_hears_is_kept_once() -> None:
    async def play() -> None:
        bells = Bells()
        bells.ring("cpu")
        bells.ring("cpu")
        assert await bells.wait("cpu", 1, 5)
        assert not await bells.wait("cpu", 1, SOON_S)

    asyncio.run(play())


def test_ring_for_a_runner_that_went_away_goes_to_the_next() -> None:
    async def play() -> None:
        bells = Bells()
        rex = asyncio.ensure_future(bells.wait("cpu", 1, 5))
        tex = asyncio.ensure_future(bells.wait("cpu", 2, 5))
        await asyncio.sleep(SOON_S)
        bells.ring("cpu")
        rex.cancel()
        assert await tex
        tex = asyncio.ensure_future(bells.wait("cpu", 2, 5))
        await asyncio.sleep(SOON_S)
        tex.cancel()
        await asyncio.sleep(SOON_S)
        assert not await bells.wait("cpu", 1, SOON_S), "without a ring, none is passed on"

    asyncio.run(play())


@pytest.fixture
def live_stage(transactional_db: None):
    from tests.leaderboard.stage import make_stage

    return make_stage()


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    with live_site() as running:
        yield running.address


def test_submission_ends_the_wait_of_a_runner_without_a_broker(site: str, live_stage, settings) -> None:
    """More runners wait than the site has places for runners, and a claim is answered meanwhile."""
    from leaderboard import broker
    from leaderboard.judging.runners import create_runner

    settings.BROKER_URL = "unix:///nowhere/at/all.sock"  # a submission rings without any broker
    broker.get_broker.cache_clear()
    clients = [
        SiteClient(site, create_runner(name=f"host{number}", hardware="cpu", now=live_stage.now)[1])
        for number in range(8)
    ]
    rung: list[tuple[int, bool]] = []

    def wait(number: int) -> None:
        with contextlib.suppress(SiteError):  # at the end of the test the site goes away
            while not rung:  # the first answer may be spurious: the server has begun to listen only now
                answer = clients[number].await_bell("cpu")
                if submitted.is_set():
                    rung.append((number, answer))

    submitted = threading.Event()
    for number in range(8):
        threading.Thread(target=wait, args=(number,), daemon=True).start()
    time.sleep(2)
    assert clients[0].claim("cpu", Software()) is None
    assert not rung
    submitted.set()
    began = time.monotonic()
    live_stage.submit()
    while not rung and time.monotonic() - began < 10:
        time.sleep(0.01)
    assert time.monotonic() - began < 2
    assert rung[0][1]
    assert clients[0].claim("cpu", Software()) is not None
    broker.get_broker.cache_clear()
    broker.breaker.reset()


def test_process_that_ends_answers_the_runners_that_wait(live_stage) -> None:
    from leaderboard.judging.runners import create_runner

    _, token = create_runner(name="host", hardware="cpu", now=live_stage.now)
    answers: list[bool] = []
    with live_site() as running:
        client = SiteClient(running.address, token)
        client.await_bell("cpu")  # the server begins to listen, and may wake the runner for that
        waiting = threading.Thread(target=lambda: answers.append(client.await_bell("cpu")))
        waiting.start()
        time.sleep(1)
        assert not answers
        running.stop()
        waiting.join(timeout=10)
    assert answers == [True]


def test_bell_is_for_a_runner_of_that_hardware(site: str, live_stage) -> None:
    from leaderboard.judging.runners import create_runner

    _, token = create_runner(name="host", hardware="H200", now=live_stage.now)
    with pytest.raises(Unauthorised, match="this token is for hardware H200"):
        SiteClient(site, token).await_bell("cpu")
    with pytest.raises(Unauthorised, match="401"):
        SiteClient(site, "pfr_unknown").await_bell("H200")
