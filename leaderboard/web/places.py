"""Concurrent requests by class: slow pages must not starve the runners' API, sign-in or the API.

Django gives every request a thread and a database connection of its own. Each class of addresses therefore has a number
of places, and all places together are no more than the connections of the pool. A request waits for a place without
thread work and without a connection, and is refused with 503 after WAIT_S. It holds its place from the time its body
was read until its answer is made: a slow reader or sender holds no place. A single network address never gets the last
place of a class, so a single visitor cannot fill it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponseBase

from leaderboard.web import limits, metrics
from leaderboard.web.middleware import refuse

RUNNERS: Final = "runners"
ACCOUNTS: Final = "accounts"
API: Final = "api"
FRONT: Final = "front"
PAGES: Final = "pages"
STREAMS: Final = "streams"  # to open one
READS: Final = "reads"  # of streams that are open; they take turns (web/stream.py)
READY: Final = "ready"  # questions of monitors
STATIC: Final = "static"

SHARES: Final = {RUNNERS: 5, ACCOUNTS: 3, API: 4, FRONT: 4, PAGES: 3, STREAMS: 2, READS: 2, READY: 1}
POOL: Final = sum(SHARES.values())  # connections of a pool in which each class has exactly its share
STATIC_PLACES: Final = 8  # they read files and use no connection
SLOW: Final = frozenset(("submit", "draft", "picture.png"))  # last parts of paths below pages of FRONT
WAIT_S: Final = 8.0  # below the 15 s of a runner's own patience
RETRY_AFTER_S: Final = 5
MOST_WAITING: Final = 200  # requests per class; each has an idle thread
MOST_WAITING_AT_AN_ADDRESS: Final = 60

CLASSES: Final = {  # by the first part of a path
    **dict.fromkeys(("sign-in", "sign-up", "sign-out", "account", "tokens", "invite-code"), ACCOUNTS),
    **dict.fromkeys(
        (
            "",
            "boards",
            "competitions",
            "datasets",
            "docs",
            "feeds",
            "status",
            "runners",
            "hosts",
            "robots.txt",
            "sitemap.xml",
        ),
        FRONT,
    ),  # pages that everybody asks for
    **dict.fromkeys(("static", "favicon.ico", "apple-touch-icon.png"), STATIC),
    "readyz": READY,
    "metrics": READY,
}

Answer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class Busy(Exception):
    """No place became free in time."""


class Places:
    """The places of a class. Lives in one event loop."""

    def __init__(self, count: int, *, for_one: int) -> None:
        self._free = asyncio.Semaphore(count)
        self._for_one = for_one
        self._own: dict[str, asyncio.Semaphore] = {}
        self._present: dict[str, int] = {}  # requests of an address that wait or run
        self._waiting = 0

    async def enter(self, address: str) -> None:
        """Wait for a place. Each successful call needs a call of `leave`.

        Raises Busy.
        """
        present = self._present.get(address, 0)
        if self._waiting >= MOST_WAITING or present >= self._for_one + MOST_WAITING_AT_AN_ADDRESS:
            raise Busy
        own = self._own.setdefault(address, asyncio.Semaphore(self._for_one))
        self._present[address] = present + 1
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_S):
                await own.acquire()
                try:
                    await self._free.acquire()
                except BaseException:
                    own.release()
                    raise
        except BaseException as error:
            self._depart(address)
            if isinstance(error, TimeoutError):
                raise Busy from None
            raise
        finally:
            self._waiting -= 1

    def leave(self, address: str) -> None:
        self._free.release()
        self._own[address].release()
        self._depart(address)

    def _depart(self, address: str) -> None:
        self._present[address] -= 1
        if not self._present[address]:
            del self._present[address], self._own[address]


def counts_for(pool: int) -> dict[str, int]:
    """Return the connections of each class for a pool of `pool` connections; 0: no pool."""
    return {kind: max(1, share * (pool or POOL) // POOL) for kind, share in SHARES.items()}


def class_of(path: str) -> str:
    first, *rest = path.removeprefix("/").split("/")
    if first == "popcorn":
        return API
    if first == "api":
        return RUNNERS if rest[:1] == ["runner"] else STREAMS if path.endswith("/events") else API
    kind = CLASSES.get(first, PAGES)
    return PAGES if kind == FRONT and not SLOW.isdisjoint(rest[-1:]) else kind


class Entrance:
    """Admits requests of a process to the places of their classes."""

    def __init__(self) -> None:
        counts = counts_for(settings.DATABASE_POOL_MAX) | {STATIC: STATIC_PLACES}
        self._places = {kind: Places(count, for_one=max(1, count - 1)) for kind, count in counts.items()}
        # A farm of runners may share an address, and each runner has a token.
        self._places[RUNNERS] = Places(counts[RUNNERS], for_one=counts[RUNNERS])

    async def answer(self, request: HttpRequest, make: Answer) -> HttpResponseBase:
        kind = class_of(request.path)
        if kind not in (RUNNERS, STATIC) and (wait := limits.floods.take(*limits.by_address(limits.ANY_IP, request))):
            return self._refuse(request, kind, 429, wait)
        places, address = self._places[kind], limits.address(request)
        try:
            with metrics.PLACE_WAIT_S.labels(kind).time():
                await places.enter(address)
        except Busy:
            return self._refuse(request, kind, 503, RETRY_AFTER_S)
        # A thread cannot be cancelled. If the client goes away, the place stays taken until the thread is done.
        work = asyncio.ensure_future(_make_and_close(request, make))
        work.add_done_callback(lambda _: places.leave(address))
        return await asyncio.shield(work)

    @staticmethod
    def _refuse(request: HttpRequest, kind: str, status: int, retry_after_s: int) -> HttpResponseBase:
        metrics.REFUSED.labels(kind, str(status)).inc()
        return refuse(request.path, status, retry_after_s)


async def _make_and_close(request: HttpRequest, make: Answer) -> HttpResponseBase:
    """Return the answer, with the thread's connection back in the pool before any of it is sent."""
    try:
        return await make(request)
    finally:
        await sync_to_async(close_old_connections)()
