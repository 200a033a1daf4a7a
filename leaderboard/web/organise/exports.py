"""Exports for organisers: rows of a competition as CSV or JSON, written page by page.

Only one page of rows is in memory at a time. A cell that a spreadsheet would take for a formula is marked as text,
because competitors choose names and file names.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.db import connection
from django.db.models import Prefetch
from django.utils import timezone

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.judging.models import Attempt, Result
from leaderboard.review.models import Decision
from leaderboard.standings.read.boards import BoardEpoch, RankedEntry, lines_of, look
from leaderboard.standings.read.table import NO_LINES
from leaderboard.submissions.models import Submission

PAGE_ROWS: Final = 500
CSV: Final = "csv"
JSON: Final = "json"
TYPES: Final = {CSV: "text/csv; charset=utf-8", JSON: "application/json"}
FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # a spreadsheet may run these

Row = dict[str, Any]
Page = tuple[list[Row], int | None]  # rows, and the id that the next page begins after; None: last page


@dataclass(frozen=True)
class Export:
    name: str
    about: str
    columns: tuple[str, ...]
    page: Callable[[Competition, int], Page]


async def stream(export: Export, competition: Competition, kind: str) -> AsyncIterator[str]:
    """Yield the file in pieces."""
    after: int | None = 0
    yield csv_lines([export.columns]) if kind == CSV else "["
    is_first = True
    while after is not None:
        rows, after = await sync_to_async(_read)(export, competition, after)
        if kind == CSV:
            yield csv_lines([row[name] for name in export.columns] for row in rows)
        elif rows:
            told = (json.dumps({name: _plain(row[name]) for name in export.columns}) for row in rows)
            yield ("\n" if is_first else ",\n") + ",\n".join(told)
            is_first = False
    yield "" if kind == CSV else "\n]\n"


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, list | dict):
        value = json.dumps(value)
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULAS):
        return f"'{value}"
    return "" if value is None else value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _read(export: Export, competition: Competition, after: int) -> Page:
    try:
        return export.page(competition, after)
    finally:
        if not connection.in_atomic_block:  # else the connection belongs to a caller inside a transaction
            connection.close_if_unusable_or_obsolete()  # a slow reader must not hold a scarce connection


def _paged(rows: Sequence[Any], told: Callable[[Any], Row]) -> Page:
    return [told(row) for row in rows], rows[-1].pk if len(rows) == PAGE_ROWS else None


def _entrants(competition: Competition, after: int) -> Page:
    members = Prefetch("memberships", Membership.objects.select_related("user"))
    rows = Entrant.objects.filter(competition=competition, pk__gt=after).prefetch_related(members)
    return _paged(list(rows.order_by("pk")[:PAGE_ROWS]), _entrant)


def _entrant(entrant: Entrant) -> Row:
    members = [one for one in entrant.memberships.all() if one.left_at is None]
    return {
        "entrant": entrant.pk,
        "name": entrant.name,
        "shown_name": entrant.shown_name,
        "is_team": entrant.is_team,
        "division": entrant.division,
        "model_name": entrant.model_name,
        "affiliation": entrant.affiliation,
        "declared": entrant.declared,
        "members": [one.user.get_username() for one in members],
        "accepted_rules": [one.rules_digest for one in members],
        "created_at": entrant.created_at,
    }


def _submissions(competition: Competition, after: int) -> Page:
    rows = (
        Submission.objects.filter(board__competition=competition, pk__gt=after)
        .select_related("owner", "entrant", "board")
        .prefetch_related(Prefetch("attempts", Attempt.objects.current(), to_attr="current"))
        .defer("source")
    )
    return _paged(list(rows.order_by("pk")[:PAGE_ROWS]), _submission)


def _submission(row: Any) -> Row:
    attempt: Attempt | None = row.current[0] if row.current else None
    return {
        "submission": row.pk,
        "board": row.board.slug,
        "hardware": row.board.hardware,
        "entrant": row.entrant_id,
        "shown_name": row.entrant.shown_name,
        "owner": row.owner.get_username(),
        "mode": row.mode,
        "filename": row.filename,
        "size_bytes": row.size_bytes,
        "source_digest": row.source_digest,
        "code_digest": row.code_digest,
        "licence": row.licence,
        "created_at": row.created_at,
        "state": attempt.state if attempt else "",
        "outcome": attempt.outcome if attempt else "",
        "reason": attempt.reason if attempt else "",
    }


def _results(competition: Competition, after: int) -> Page:
    rows = (
        Result.objects.filter(
            attempt__submission__board__competition=competition, attempt__is_shadow=False, pk__gt=after
        )
        .select_related("attempt__submission__board", "attempt__runner", "attempt__version")
        .defer("report", "attempt__submission__source", "attempt__version__bundle")
    )
    return _paged(list(rows.order_by("pk")[:PAGE_ROWS]), _result)


def _result(result: Result) -> Row:
    attempt = result.attempt
    figures = ("outcome", "reason", "flags", "ratio", "half_width", "score_us", "forgeable", "telemetry", "epoch")
    return {
        "result": result.pk,
        "submission": attempt.submission_id,
        "board": attempt.submission.board.slug,
        "hardware": attempt.hardware,
        "attempt": attempt.number,
        "is_current": attempt.is_current,
        "cause": attempt.cause,
        "version": attempt.version.digest,
        "runner": attempt.runner.name if attempt.runner else "",
        **{name: getattr(result, name) for name in figures},
        "created_at": result.created_at,
    }


def _standings(competition: Competition, after: int) -> Page:
    """Return the lines of the next board: a page is a board."""
    board = (
        Board.objects.select_related("competition").filter(competition=competition, pk__gt=after).order_by("pk").first()
    )
    return ([], None) if board is None else (list(_lines(board)), board.pk)


def _lines(board: Board) -> Iterator[Row]:
    """Yield lines of all stages, including frozen lines, because an export is for organisers."""
    for stage in Stage:
        seen = look(board, stage=stage, now=timezone.now(), in_full=True)
        for epoch in seen.epochs:
            table = seen.tables.get(epoch.name, NO_LINES)
            yield from (_standing_row(board, stage, epoch, line) for line in lines_of(table, table.places))


def _standing_row(board: Board, stage: Stage, epoch: BoardEpoch, line: RankedEntry) -> Row:
    return {
        "board": board.slug,
        "hardware": board.hardware,
        "stage": stage,
        "epoch": epoch.name,
        "is_current_epoch": epoch.is_current,
        "rank": line.rank,
        "is_tied": line.is_tied,
        "entrant": line.entry.entrant_id,
        "shown_name": line.entry.entrant.shown_name,
        "submission": line.entry.submission_id,
        "submitted_at": line.entry.submitted_at,
        "ratio": line.value.ratio,
        "half_width": line.value.half_width,
        "score_us": line.score_us,
        "forgeable": line.value.forgeable,
        "runs": len(line.value.submissions),
    }


def _decisions(competition: Competition, after: int) -> Page:
    rows = Decision.objects.filter(result__attempt__submission__board__competition=competition, pk__gt=after)
    rows = rows.select_related("actor", "result__attempt__submission__board")
    rows = rows.defer("result__report", "result__attempt__submission__source")
    return _paged(list(rows.order_by("pk")[:PAGE_ROWS]), _decision)


def _decision(decision: Decision) -> Row:
    submission = decision.result.attempt.submission
    return {
        "decision": decision.pk,
        "result": decision.result_id,
        "submission": submission.pk,
        "board": submission.board.slug,
        "hardware": submission.board.hardware,
        "act": decision.act,
        "code": decision.code,
        "actor": decision.actor.get_username(),
        "reason": decision.reason,
        "public_reason": decision.public_reason,
        "about": decision.about_id,
        "rank": decision.rank,
        "needs_two": decision.needs_two,
        "created_at": decision.created_at,
    }


def _columns(names: str) -> tuple[str, ...]:
    return tuple(names.split())


_ALL: Final = (
    Export(
        "entrants",
        "Who entered: name, members, division, affiliation, what they declared.",
        _columns(
            "entrant name shown_name is_team division model_name affiliation declared members accepted_rules created_at"
        ),
        _entrants,
    ),
    Export(
        "submissions",
        "Everything that was sent, without its code, and what became of it.",
        _columns(
            "submission board hardware entrant shown_name owner mode filename size_bytes source_digest code_digest"
            " licence created_at state outcome reason"
        ),
        _submissions,
    ),
    Export(
        "results",
        "Every report of a runner: verdict, ratio to the baseline, interval, measured time, what was watched.",
        _columns(
            "result submission board hardware attempt is_current cause version runner outcome reason flags ratio"
            " half_width score_us forgeable telemetry epoch created_at"
        ),
        _results,
    ),
    Export(
        "standings",
        "Every board as it ranks now, by timing epoch.",
        _columns(
            "board hardware stage epoch is_current_epoch rank is_tied entrant shown_name submission submitted_at"
            " ratio half_width score_us forgeable runs"
        ),
        _standings,
    ),
    Export(
        "decisions",
        "The log of every case: what reviewers and owners did, when and why.",
        _columns(
            "decision result submission board hardware act code actor reason public_reason about rank needs_two"
            " created_at"
        ),
        _decisions,
    ),
)
EXPORTS: Final = {export.name: export for export in _ALL}
