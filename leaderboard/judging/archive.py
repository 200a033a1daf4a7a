"""Reports of runners: the only module that writes and reads them, wherever they lie.

A report's content goes into the store (content_store.py) before the transaction of the row that refers to it. A crash
between the two leaves a content without a row, which `sweep_contents` deletes after a day. A report that is expired,
missing or damaged is an empty report with a sentence; the columns of its row keep the verdict.

Without REPORT_STORE new reports stay in the database. `move_reports` moves them later.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from leaderboard.competitions.calendar import Stage, stage_of
from leaderboard.errors import StoreAway, UserError
from leaderboard.judging import content_store
from leaderboard.judging.models import Archived, Reported, Result, ResultArchived
from leaderboard.operations.notices import tell_operators
from leaderboard.submissions.models import Submission

AT_ONCE: Final = 8  # reads from the store
PASS: Final = 500  # reports that a pass of a chore deletes
ORPHAN_AGE: Final = timedelta(days=1)
GONE: Final = "The details of this result cannot be shown: its report is {state}. Operators know. The verdict stands."
AWAY: Final = "The details of this result cannot be shown at the moment: the store of reports does not answer."
EXPIRED: Final = "The details of this result were deleted on {:%-d %B %Y}, as its kind of report is not kept for ever."

HEAVY: Final = ("of__inline", "of__attempt__submission__source")  # columns that a list leaves out

log = structlog.get_logger(__name__)


class Content(NamedTuple):
    """A report whose content is in the store."""

    digest: str
    size: int


class Reading(NamedTuple):
    report: dict[str, Any]  # {} where it cannot be read
    problem: str = ""  # sentence for a page


def canonical(report: Mapping[str, Any]) -> bytes:
    """Return the bytes that a report's digest is of. Raises UserError for a report that is too large."""
    content = json.dumps(report, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    if len(content) >= content_store.MOST_BYTES:
        most = f"{content_store.MOST_BYTES:,}"
        raise UserError("report", None, f"has {len(content):,} bytes, and may have less than {most}", status=413)
    return content


def keep(report: Mapping[str, Any]) -> Content | None:
    """Write a report's content into the store; call it before the transaction of its row. None: there is no store.

    Raises StoreAway.
    """
    if not content_store.is_configured():
        return None
    content = canonical(report)
    try:
        return Content(content_store.put(content), len(content))
    except StoreAway as error:
        _tell_away(error)
        raise


def create(row: Reported, report: dict[str, Any], content: Content | None, *, phase: str) -> None:
    """Insert the row about a report, and the row about its content. The caller has a transaction."""
    row.inline = {} if content else report
    row.save(force_insert=True)
    if content:
        archived_of(type(row)).objects.create(of=row, phase=phase, created_at=row.created_at, **content._asdict())
    row.loaded = report


def archived_of(kind: Any) -> Any:
    """Return the table about the contents of this table's reports."""
    return kind._meta.get_field("archived").related_model


def phase_of(submission: Submission) -> str:
    """Return the kind of a submission's reports, which decides how long they are kept: settings.REPORT_DAYS."""
    if submission.mode != "ranked":
        return submission.mode
    board = submission.board
    return stage_of(board.competition.schedule, submission.created_at, board_deadline=board.deadline)


def look(row: Reported) -> Reading:
    """Read a report for a page or an answer of the API. Any state of the store yields a sentence."""
    return look_at_all([row])[0]


def look_at_all(rows: Sequence[Reported]) -> list[Reading]:
    """Read reports like `look`, in the order of their rows."""
    try:
        return _read_all(rows)
    except StoreAway as error:
        _tell_away(error)
        return [Reading({}, AWAY)] * len(rows)


def report_of(row: Reported) -> dict[str, Any]:
    """Return a report for a decision; {} if it is gone, which rules take as unreadable. Raises StoreAway."""
    return _read_all([row])[0].report


def load(rows: Sequence[Reported]) -> None:
    """Read the reports of many rows into memory, until their `loaded` is None again. Raises StoreAway."""
    for row, reading in zip(rows, _read_all(rows), strict=True):
        row.loaded = reading.report


def _read_all(rows: Sequence[Reported]) -> list[Reading]:
    absent = [row for row in rows if row.loaded is None]
    kinds = {type(row) for row in absent}
    places: dict[tuple[type[Reported], int], Archived] = {}
    inline: dict[tuple[type[Reported], int], dict[str, Any]] = {}
    for kind in kinds:
        keys = [row.pk for row in absent if type(row) is kind]
        places |= {(kind, one.of_id): one for one in archived_of(kind).objects.filter(of__in=keys)}
        rest = [key for key in keys if (kind, key) not in places]
        found = kind._default_manager.filter(pk__in=rest).values_list("pk", "inline")
        inline |= {(kind, pk): report for pk, report in found}
    digests = {place.digest for place in places.values() if place.expired_at is None}
    contents: dict[str, bytes | Exception | None] = {}
    if len(digests) == 1:
        contents = {digest: _content(digest) for digest in digests}
    elif digests:
        with ThreadPoolExecutor(AT_ONCE) as pool:  # a bucket takes many milliseconds for each
            contents = dict(zip(digests, pool.map(_content, digests), strict=True))
    return [
        Reading(row.loaded)
        if row.loaded is not None
        else _reading(places[type(row), row.pk], contents)
        if (type(row), row.pk) in places
        else Reading(inline[type(row), row.pk])
        for row in rows
    ]


def _content(digest: str) -> bytes | Exception | None:
    try:
        return content_store.get(digest)
    except content_store.Damaged as error:
        return error


def _reading(place: Archived, contents: Mapping[str, bytes | Exception | None]) -> Reading:
    if place.expired_at is not None:
        return Reading({}, EXPIRED.format(place.expired_at))
    content = contents[place.digest]
    if isinstance(content, bytes):
        report: dict[str, Any] = json.loads(content)
        return Reading(report)
    state = "missing" if content is None else "damaged"
    remedy = "Restore its file from a backup of the store (docs/operate.md)."
    text = f"The report of {place.of} is {state}: {content_store.name_of(place.digest)}. {remedy}"
    tell_operators(f"report_{state}", text, subject=place.digest, now=timezone.now())
    return Reading({}, GONE.format(state=state))


def _tell_away(error: StoreAway) -> None:
    tell_operators("report_store_away", error.why, subject="reports", now=timezone.now())


# Chores: each pass is bounded, and any number of sweepers may run them at once ------------------------------------


def expire(*, now: datetime) -> int:
    """Delete contents that are older than settings.REPORT_DAYS allows; return their number.

    Reports of lines on a board and of review cases are kept. So are those of submissions that belong to a contest
    since its times were changed.
    """
    deleted = 0
    for phase, days in settings.REPORT_DAYS.items():
        if not days:
            continue
        living = ResultArchived.objects.filter(phase=phase, expired_at=None, created_at__lt=now - timedelta(days=days))
        parts = "of__attempt__submission__board__competition"
        due = list(living.select_related(parts).defer(*HEAVY).order_by("created_at")[: PASS - deleted])
        needed = _needed([one.of_id for one in due])
        for one in due:
            now_in = phase_of(one.of.attempt.submission)
            if one.of_id in needed or now_in != phase:
                ResultArchived.objects.filter(pk=one.pk).update(phase=Archived.KEPT if one.of_id in needed else now_in)
                continue
            ResultArchived.objects.filter(pk=one.pk).update(expired_at=now)
            if not _referred([one.digest]):
                content_store.delete(one.digest)
            deleted += 1
    if deleted:
        log.info("reports_expired", reports=deleted)
    return deleted


def _needed(results: Sequence[int]) -> set[int]:
    """Return the results with a line or a case. Their apps are above this app, so their rows are queried by name."""
    rows = Result.objects.filter(pk__in=results)
    return {
        pk
        for needs in ({"attempt__entry__isnull": False}, {"case__isnull": False})
        for pk in rows.filter(**needs).values_list("pk", flat=True)
    }


def sweep_contents(*, now: datetime) -> int:
    """Delete contents without a row, a sixteenth of the store at each hour; return their number."""
    if not content_store.is_configured():
        return 0
    hours = int(now.timestamp()) // 3600
    deleted = 0
    for digests in _batches(content_store.older(content_store.SLICES[hours % 16], now - ORPHAN_AGE)):
        for digest in set(digests) - _referred(digests):
            content_store.delete(digest)
            deleted += 1
        if deleted >= PASS:
            break
    if deleted:
        log.info("orphans_deleted", reports=deleted)
    return deleted


def _referred(digests: Sequence[str]) -> set[str]:
    """Return the digests that living rows refer to."""
    found: set[str] = set()
    for table in Archived.__subclasses__():
        living = table._default_manager.filter(digest__in=digests, expired_at=None)
        found |= set(living.values_list("digest", flat=True))
    return found


def _batches(digests: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for digest in digests:
        batch.append(digest)
        if len(batch) == 1000:
            yield batch
            batch = []
    if batch:
        yield batch


def move(*, kind: type[Reported], after: int, most: int) -> list[int]:
    """Copy the next reports that lie in the database into the store; return the keys of the rows that were looked at.

    `after`: a key. The rows stay as they are, so that the code of the last release reads them.
    """
    table = archived_of(kind)
    every: Any = kind._default_manager
    found = every.filter(pk__gt=after, archived=None).exclude(inline={}).order_by("pk")
    if kind is Result:
        found = found.select_related("attempt__submission__board__competition").defer("attempt__submission__source")
    rows = list(found[:most])
    made = []
    for row in rows:
        if content := keep(row.inline):
            phase = phase_of(row.attempt.submission) if isinstance(row, Result) else Stage.CONTEST
            made.append(table(of=row, phase=phase, created_at=row.created_at, **content._asdict()))
    with transaction.atomic():
        table.objects.bulk_create(made, ignore_conflicts=True)
    return [row.pk for row in rows]
