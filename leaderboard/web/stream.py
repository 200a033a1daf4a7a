"""The live stream of a submission (server-sent events): replays the table after Last-Event-ID, then follows it.

The truth is AttemptEvent in PostgreSQL; a notification only asks for another look. A lost notification therefore costs
at most one PING_S, and a reconnect costs nothing. A single LISTEN connection per process wakes all its streams, and the
runners that wait for work over HTTP; each stream ends after `done`.

A stream has its place from the moment of its request. If all places are taken, a newcomer gets the newest place of the
address, else of the user, with the most places: many accounts cannot shut everybody else out. A client that is refused
or loses its place polls the submission itself, with its ETag. When the process ends, its streams end before, with a
time to reconnect.
"""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.utils import timezone
from psycopg.conninfo import make_conninfo
from rest_framework.exceptions import APIException

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.errors import error_body
from leaderboard.judging.attempts import CHANNEL
from leaderboard.judging.models import FINISHED, QUEUED, Attempt, AttemptEvent
from leaderboard.judging.queue import Place, place_of
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import code_for
from leaderboard.web import limits, metrics
from leaderboard.web.api.base import reader_of
from leaderboard.web.api.serializers import FinishedSubmission, QueuePlace
from leaderboard.web.errors import code_of
from leaderboard.web.limits import share
from leaderboard.web.places import READS, counts_for
from leaderboard.web.runners.bells import bells
from leaderboard.web.submissions import view

PING_S: Final = 15
PLACE_S: Final = 4  # between two looks at the place of a submission that waits
NEAR: Final = 20  # a place beyond this is looked at every PING_S
RECONNECT_S: Final = 1
MAX_STREAMS: Final = 500  # in one process
MAX_STREAMS_A_USER: Final = 20  # on one host
MAX_STREAMS_AN_ADDRESS: Final = 100  # on one host; a class room with two pages each
RETURN_MS: Final = (500, 3_000)  # when the clients of a process that ends come back, not all at once
UNREAD_S: Final = 10.0  # a place whose stream has not begun by then is free again: its client went away before
RETRY_AFTER_S: Final = 5
BATCH: Final = 200  # events read at once

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class Seat:
    """The place of a stream."""

    about: int | str  # a submission, or the topic of a batch
    user_id: int
    address: str
    taken_at: float
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    is_read: bool = False
    is_lost: bool = False  # a newcomer has the place now

    @property
    def submission_id(self) -> int:
        assert isinstance(self.about, int)
        return self.about


@dataclass(frozen=True, eq=False)
class Seen:
    """New events of a submission, and the submission itself once it is finished."""

    events: list[AttemptEvent] = field(default_factory=list)
    done: dict[str, Any] | None = None
    place: Place | None = None  # in the queue


QUIET: Final = Seen()  # nothing new in PING_S
Form = Callable[[view.Opened], dict[str, Any]]


class Hub:
    """The streams of this process and the one connection that wakes them. Lives in one event loop."""

    def __init__(self) -> None:
        self._seats: dict[Seat, None] = {}  # the oldest first
        self._by_topic: defaultdict[str, set[Seat]] = defaultdict(set)  # by the payload that wakes them
        self._listener: asyncio.Task[None] | None = None
        self.has_ended = False

    def reserve(self, about: int | str, user_id: int, address: str) -> Seat | None:
        """Return a place for another stream, or None if that exceeds a fair share."""
        now = time.monotonic()
        for seat in [seat for seat in self._seats if not seat.is_read and seat.taken_at < now - UNREAD_S]:
            self.leave(seat)
        users = Counter(seat.user_id for seat in self._seats)
        addresses = Counter(seat.address for seat in self._seats)
        if users[user_id] >= share(MAX_STREAMS_A_USER) or addresses[address] >= share(MAX_STREAMS_AN_ADDRESS):
            return None
        if len(self._seats) >= MAX_STREAMS:
            # The newest place of the address or user that holds at least two more than the newcomer.
            by_address, at_address = addresses.most_common(1)[0]
            by_user, of_user = users.most_common(1)[0]
            if at_address > addresses[address] + 1:
                lost = next(seat for seat in reversed(self._seats) if seat.address == by_address)
            elif of_user > users[user_id] + 1:
                lost = next(seat for seat in reversed(self._seats) if seat.user_id == by_user)
            else:
                return None
            lost.is_lost = True
            lost.wake.set()
            self.leave(lost)
        taken = Seat(about, user_id, address, now)
        self._seats[taken] = None
        self._by_topic[str(about)].add(taken)
        metrics.STREAMS.inc()
        return taken

    def leave(self, seat: Seat) -> None:
        """Give the place back. A second call is harmless."""
        if self._seats.pop(seat, seat) is seat:
            return
        metrics.STREAMS.dec()
        watching = self._by_topic[str(seat.about)]
        watching.discard(seat)
        if not watching:
            del self._by_topic[str(seat.about)]

    def end(self) -> None:
        """End all streams of this process, and the waits of its runners."""
        self.has_ended = True
        for seat in self._seats:
            seat.wake.set()
        bells.ring_all()

    def listen(self) -> None:
        """Start the listener unless it runs."""
        if self._listener is None or self._listener.done():
            self._listener = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        known = connection.settings_dict  # of this process: in tests DATABASE_URL names a different database
        options = {name: value for name, value in known["OPTIONS"].items() if isinstance(value, str)}
        parts = {name: known[name.upper()] for name in ("user", "password", "host", "port") if known[name.upper()]}
        database = make_conninfo(dbname=known["NAME"], **parts, **options)
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(database, autocommit=True) as listener:
                    await listener.execute(f"LISTEN {CHANNEL}")
                    await listener.execute(f"LISTEN {broker.CHANNEL}")
                    for seat in self._seats:  # notifications were lost while no connection listened
                        seat.wake.set()
                    bells.ring_all()
                    async for notification in listener.notifies():
                        if notification.channel == broker.CHANNEL:
                            bells.ring(notification.payload)
                            continue
                        for seat in self._by_topic.get(notification.payload, ()):
                            seat.wake.set()
            except (psycopg.Error, OSError) as error:
                log.warning("listener_lost", error=str(error))
            await asyncio.sleep(RECONNECT_S)


hub: Final = Hub()
reads: Final = asyncio.Semaphore(counts_for(settings.DATABASE_POOL_MAX)[READS])


async def events(request: HttpRequest, pk: int) -> HttpResponseBase:
    """GET /api/v1/submissions/{id}/events: the owner or an organiser follows a submission."""
    if request.method != "GET":
        return refuse(405, "This address answers GET only.")
    try:
        user = await reader_of(request)
    except APIException as refused:
        return refuse(refused.status_code, str(refused.detail), code=code_of(refused))
    if wait_s := limits.floods.take((limits.STREAM_USER, str(user.pk))):
        return refuse(429, f"Too many streams were opened. Try again in {wait_s} s.", wait_s)
    if not await sync_to_async(view.visible_to(user).filter(pk=pk).exists)():
        return refuse(404, "This submission does not exist, or you have no access to it.")
    seat = hub.reserve(pk, user.pk, limits.address(request))
    if seat is None:
        way_out = f"Try again in {RETRY_AFTER_S} s, or poll /api/v1/submissions/{pk}."
        return refuse(429, f"Too many open streams. {way_out}", RETRY_AFTER_S)
    after = whole(request.headers.get("Last-Event-ID", ""))
    return StreamingHttpResponse(
        _follow(seat, user, after),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _follow(seat: Seat, user: User, after: int) -> AsyncIterator[str]:
    comment = "hello"
    try:
        async for seen in looks(seat, user, after, lambda item: FinishedSubmission(item).data):
            if seen is QUIET:
                yield f": {comment}\n\n"
                comment = "ping"
            for row in seen.events:
                after = row.pk
                shown = {"id": row.pk, "attempt": row.attempt.number, "state": row.state, "message": row.message}
                yield message(row.kind, row.pk, shown | {"data": row.data, "at": row.created_at.isoformat()})
            if seen.place is not None:
                yield message("queue", after, QueuePlace(seen.place).data)
            if seen.done is not None:
                yield message("done", after, seen.done)
                return
        if hub.has_ended:
            yield f"retry: {random.randint(*RETURN_MS)}\n\n"  # noqa: S311 - spreads load
    finally:
        hub.leave(seat)


async def looks(seat: Seat, user: User, after: int, form: Form) -> AsyncIterator[Seen]:
    """Follow the submission of a place: look now, after each notification, and every PING_S.

    The first look is QUIET, before the database is asked. Ends after the finished submission in this form, or early if
    the place is lost, the process ends, or the user may not see the submission any more. The caller leaves the place.
    """
    seat.is_read = True
    hub.listen()
    yield QUIET
    while not (seat.is_lost or hub.has_ended):
        seat.wake.clear()
        try:
            async with reads:
                seen = await sync_to_async(_read)(seat.submission_id, user, after, form)
        except Submission.DoesNotExist:  # the user left the team of the submission
            return
        yield seen
        if seen.done is not None:
            return
        if seen.events:
            after = seen.events[-1].pk
        if len(seen.events) == BATCH:
            continue
        is_near = seen.place is not None and seen.place.position <= NEAR
        try:
            await asyncio.wait_for(seat.wake.wait(), PLACE_S if is_near else PING_S)
        except TimeoutError:
            if not is_near:
                yield QUIET


def _read(submission_id: int, user: User, after: int, form: Form) -> Seen:
    """Return events after that id and, once all are read and the current attempt is finished, the submission.

    Raises Submission.DoesNotExist if this person may not see it any more.
    """
    try:
        reader = User.objects.filter(pk=user.pk, is_active=True).first()  # as they are now: a stream lasts
        if reader is None:
            raise Submission.DoesNotExist
        seen = view.visible_to(reader).defer("source").select_related("takedown").get(pk=submission_id)
        current = Attempt.objects.current().get(submission_id=submission_id)  # before the events: then none is missed
        events = AttemptEvent.objects.since(current.sent_at).filter(submission_id=submission_id, pk__gt=after)
        rows = list(events.select_related("attempt").order_by("pk")[:BATCH])
        if hasattr(seen, "takedown") and code_for(reader, seen)[0] is None:
            for row in rows:
                row.message = ""
        if current.state not in FINISHED or len(rows) == BATCH:
            return Seen(rows, place=place_of(seen, now=timezone.now()) if current.state == QUEUED else None)
        return Seen(rows, form(view.Opened(seen, reader)))
    finally:
        connection.close_if_unusable_or_obsolete()  # a stream lasts, and must not hold a connection while it waits


def message(kind: str, row_id: int, data: dict[str, Any]) -> str:
    return f"id: {row_id}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"


def whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def refuse(status: int, detail: str, retry_after_s: int = 0, code: str = "") -> JsonResponse:
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else None
    return JsonResponse(error_body(status, detail, code), status=status, headers=headers)
