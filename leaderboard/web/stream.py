"""The live stream of a submission (server-sent events): replay what the table has after Last-Event-ID, then follow it.

Truth is AttemptEvent in PostgreSQL; a notification only says "look again". So a lost notification costs at most one
PING_S, and a reconnect costs nothing. One LISTEN connection a process wakes all its streams; each ends after `done`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import structlog
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from psycopg.conninfo import make_conninfo

from leaderboard.accounts.models import User
from leaderboard.judging.events import CHANNEL
from leaderboard.judging.models import Attempt, AttemptEvent
from leaderboard.judging.states import FINISHED
from leaderboard.submissions.models import Submission
from leaderboard.web import shape
from leaderboard.web.api.auth import Refused, reader_of

PING_S: Final = 15
RECONNECT_S: Final = 1
MAX_STREAMS: Final = 500  # in one process
MAX_STREAMS_A_USER: Final = 20
RETRY_AFTER_S: Final = 5
BATCH: Final = 200  # events read at once

log = structlog.get_logger(__name__)


class Hub:
    """The streams of this process and the one connection that wakes them. Lives in one event loop."""

    def __init__(self) -> None:
        self._wakes: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        self._users: Counter[int] = Counter()
        self._listener: asyncio.Task[None] | None = None

    def is_full(self, user_id: int) -> bool:
        return self._users.total() >= MAX_STREAMS or self._users[user_id] >= MAX_STREAMS_A_USER

    @contextmanager
    def watch(self, submission_id: int, user_id: int) -> Iterator[asyncio.Event]:
        """An event that is set whenever the submission may have news."""
        if self._listener is None or self._listener.done():
            self._listener = asyncio.get_running_loop().create_task(self._listen())
        wake = asyncio.Event()
        self._wakes[submission_id].add(wake)
        self._users[user_id] += 1
        try:
            yield wake
        finally:
            self._users[user_id] -= 1
            self._wakes[submission_id].discard(wake)
            if not self._wakes[submission_id]:
                del self._wakes[submission_id]

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, OSError) as error:
                log.warning("listener_lost", error=str(error))
            await asyncio.sleep(RECONNECT_S)

    async def _listen_once(self) -> None:
        async with await psycopg.AsyncConnection.connect(_conninfo(), autocommit=True) as listener:
            await listener.execute(f"LISTEN {CHANNEL}")
            self._wake_all()  # whatever was said while nobody listened
            async for notification in listener.notifies():
                for wake in self._wakes.get(_whole(notification.payload), ()):
                    wake.set()

    def _wake_all(self) -> None:
        for wakes in self._wakes.values():
            for wake in wakes:
                wake.set()


hub: Final = Hub()


async def events(request: HttpRequest, pk: int) -> HttpResponseBase:
    """GET /api/v1/submissions/{id}/events: the owner or an organiser follows one submission."""
    if request.method != "GET":
        return _refuse(405, "Only GET is answered here.")
    try:
        user = await reader_of(request)
    except Refused as refused:
        return _refuse(refused.status, str(refused))
    if not await sync_to_async(shape.visible_to(user).filter(pk=pk).exists)():
        return _refuse(404, "There is no such submission, or it is not yours.")
    if hub.is_full(user.pk):
        response = _refuse(429, f"Too many open streams. Try again in {RETRY_AFTER_S} s.")
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
    after = _whole(request.headers.get("Last-Event-ID", ""))
    return StreamingHttpResponse(
        _follow(pk, user, after),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _follow(submission_id: int, user: User, after: int) -> AsyncIterator[str]:
    with hub.watch(submission_id, user.pk) as wake:
        yield ": hello\n\n"
        while True:
            wake.clear()
            try:
                rows, done = await sync_to_async(_read)(submission_id, user, after)
            except Submission.DoesNotExist:  # they left the team that it was sent for
                return
            for row in rows:
                after = row.pk
                yield _message(row.kind, row.pk, _shown(row))
            if done is not None:
                yield _message("done", after, done)
                return
            if len(rows) == BATCH:
                continue
            try:
                await asyncio.wait_for(wake.wait(), PING_S)
            except TimeoutError:
                yield ": ping\n\n"


def _read(submission_id: int, user: User, after: int) -> tuple[list[AttemptEvent], dict[str, Any] | None]:
    """Events after that id and, once all of them are read and the current attempt is finished, the submission.

    Raises Submission.DoesNotExist where this person may not see it any more.
    """
    try:
        reader = User.objects.filter(pk=user.pk, is_active=True).first()  # as they are now: a stream lasts
        if reader is None or not shape.visible_to(reader).filter(pk=submission_id).exists():
            raise Submission.DoesNotExist
        current = Attempt.objects.current().get(submission_id=submission_id)  # before the events: then none is missed
        newer = AttemptEvent.objects.filter(submission_id=submission_id, pk__gt=after).select_related("attempt")
        rows = list(newer.order_by("pk")[:BATCH])
        if current.state not in FINISHED or len(rows) == BATCH:
            return rows, None
        return rows, shape.submission_json(submission_id, reader, with_code=False)
    finally:
        _give_back()


def _give_back() -> None:
    """Return this thread's connection to the pool: a stream lasts, and must not hold one of the few while it waits."""
    connection.close_if_unusable_or_obsolete()


def _shown(row: AttemptEvent) -> dict[str, Any]:
    return {
        "id": row.pk,
        "attempt": row.attempt.number,
        "state": row.state,
        "message": row.message,
        "data": row.data,
        "at": row.created_at.isoformat(),
    }


def _message(kind: str, row_id: int, data: dict[str, Any]) -> str:
    return f"id: {row_id}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _refuse(status: int, detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail, "errors": []}, status=status)


def _conninfo() -> str:
    """The database of this process, as Django knows it (in tests that is not the one of DATABASE_URL)."""
    known = connection.settings_dict
    options = {name: value for name, value in known["OPTIONS"].items() if isinstance(value, str)}
    parts = {name: known[name.upper()] for name in ("user", "password", "host", "port") if known[name.upper()]}
    return make_conninfo(dbname=known["NAME"], **parts, **options)
