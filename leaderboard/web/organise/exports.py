"""Exports for organisers: rows of a competition as CSV, JSON or Parquet, written page by page.

Only one page of rows is in memory at a time, or one row group of Parquet. A cell of CSV that a spreadsheet would take
for a formula is marked as text, because competitors choose names and file names.
"""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Exists, Model, OuterRef, Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.competitions.permissions import ORDER, role_of
from leaderboard.dataset import parquet
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.judging.models import Attempt, Result
from leaderboard.review.models import Decision
from leaderboard.review.permissions import without_conflicts
from leaderboard.standings.read.boards import lines_of, look
from leaderboard.standings.read.table import NO_LINES
from leaderboard.submissions.models import Submission, Takedown
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.gate import competition_page, shell
from leaderboard.wording.spreadsheet import csv_lines, plain

PAGE_ROWS: Final = 500
CODE_ROWS: Final = 10  # a source may have 1 MB
CSV: Final = "csv"
JSON: Final = "json"
PARQUET: Final = "parquet"
TYPES: Final = {CSV: "text/csv; charset=utf-8", JSON: "application/json"} | (
    {PARQUET: parquet.MEDIA_TYPE} if parquet.IS_INSTALLED else {}
)
GROUP_ROWS: Final = 10_000  # of a row group
KINDS: Final = {  # columns of Parquet that are no text
    **dict.fromkeys(
        ["entrant", "submission", "result", "decision", "attempt", "size_bytes", "rank", "runs", "about"], parquet.WHOLE
    ),
    **dict.fromkeys(["ratio", "half_width", "score_us", "forgeable"], parquet.REAL),
    **dict.fromkeys(["is_team", "is_current", "is_current_epoch", "is_tied", "needs_two"], parquet.TRUTH),
    **dict.fromkeys(("created_at", "submitted_at"), parquet.TIME),
}

Column = str | Callable[[Any], Any]  # an attribute's dotted path, or a function of the exported object


def columns(words: str) -> dict[str, Column]:
    """Return columns from words: `name=dotted.path`, or `name` for the attribute of that name."""
    pairs = (word.partition("=") for word in words.split())
    return {name: path or name for name, _, path in pairs}


@dataclass(frozen=True)
class Export:
    """An exported table. `rows` are Django objects of every competition, and `of` is their field for the competition.

    With `split`, each row yields several exported objects. `least`: the lowest role that gets it. `of_cases`: its rows
    have a `result`, and are not for its owner and team.
    """

    about: str
    rows: QuerySet[Any]
    of: str
    columns: Mapping[str, Column]
    split: Callable[[Any], Iterable[Any]] | None = None
    page_rows: int = PAGE_ROWS
    least: str = Role.VIEWER
    of_cases: bool = False

    def page(self, competition: Competition, after: int) -> tuple[list[list[Any]], int | None]:
        """Return the next rows after the object of that id, and the id for the following page; None: last page."""
        page_rows = 1 if self.split else self.page_rows
        try:
            rest = self.rows.filter(**{self.of: competition}, pk__gt=after).order_by("pk")
            found: list[Model] = list(rest[:page_rows])
            exported = [part for row in found for part in self.split(row)] if self.split else found
            read = [attrgetter(column) if isinstance(column, str) else column for column in self.columns.values()]
            rows = [[value(one) for value in read] for one in exported]
        finally:
            if not connection.in_atomic_block:  # else the connection belongs to a caller inside a transaction
                connection.close_if_unusable_or_obsolete()  # a slow reader must not hold a scarce connection
        return rows, found[-1].pk if len(found) == page_rows else None


@competition_page("GET", "HEAD")
def index(request: HttpRequest, competition: Competition) -> HttpResponse:
    role = role_of(user_of(request), competition)
    allowed = {name: export for name, export in EXPORTS.items() if ORDER[role] >= ORDER[export.least]}
    return shell(request, competition, "exports", {"exports": allowed, "kinds": list(TYPES)})


@competition_page("GET", "HEAD")
def file(request: HttpRequest, competition: Competition, name: str, kind: str) -> StreamingHttpResponse:
    return saved(request, user_of(request), competition, name, kind)


def saved(request: HttpRequest, actor: User, competition: Competition, name: str, kind: str) -> StreamingHttpResponse:
    """Return the file for a person with a role in the competition. Raise Http404, PermissionDenied."""
    if name not in EXPORTS or kind not in TYPES:
        raise Http404
    export = EXPORTS[name]
    if ORDER[role_of(actor, competition)] < ORDER[export.least]:
        raise PermissionDenied
    if export.least != Role.VIEWER and request.method == "GET":
        record(f"export_{name}", competition, actor=actor, now=timezone.now())
    if export.of_cases:
        export = replace(export, rows=without_conflicts(export.rows, actor))
    saved_as = f"{competition.slug}-{name}-{timezone.now():%Y-%m-%d}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{saved_as}"'}
    pieces = parquet_pieces(export, competition) if kind == PARQUET else stream(export, competition, kind)
    return StreamingHttpResponse(pieces, content_type=TYPES[kind], headers=headers)


async def stream(export: Export, competition: Competition, kind: str) -> AsyncIterator[str]:
    """Yield the file in pieces."""
    after: int | None = 0
    yield csv_lines([list(export.columns)]) if kind == CSV else "["
    is_first = True
    while after is not None:
        rows, after = await sync_to_async(export.page)(competition, after)
        if kind == CSV:
            yield csv_lines(rows)
        elif rows:
            objects = (json.dumps(dict(zip(export.columns, map(plain, row), strict=True))) for row in rows)
            yield ("\n" if is_first else ",\n") + ",\n".join(objects)
            is_first = False
    yield "" if kind == CSV else "\n]\n"


async def parquet_pieces(export: Export, competition: Competition) -> AsyncIterator[bytes]:
    writer = await sync_to_async(parquet.Writer)({name: KINDS.get(name, parquet.TEXT) for name in export.columns})
    most = GROUP_ROWS if export.page_rows == PAGE_ROWS else export.page_rows
    after: int | None = 0
    waiting: list[list[Any]] = []
    while after is not None:
        rows, after = await sync_to_async(export.page)(competition, after)
        waiting += rows
        if waiting and (after is None or len(waiting) >= most):
            yield await sync_to_async(writer.group)(waiting)
            waiting = []
    yield await sync_to_async(writer.end)()


def _of_attempt(name: str) -> Callable[[Any], str]:
    return lambda submission: getattr(submission.current[0], name) if submission.current else ""


def _standings(board: Board) -> Iterator[SimpleNamespace]:
    """Yield lines of all stages, including frozen lines, because an export is for organisers."""
    for stage in Stage:
        seen = look(board, stage=stage, now=timezone.now(), in_full=True)
        for group, epoch in itertools.product(seen.groups, seen.epochs):
            table = group.tables.get(epoch.name, NO_LINES)
            for line in lines_of(table, table.places):
                about = {"board": board, "stage": stage, "group": group.group, "epoch": epoch}
                yield SimpleNamespace(**about, **vars(line), runs=len(line.value.submissions))


PRESENT: Final = Membership.objects.filter(left_at=None).select_related("user")
EXPORTS: Final = {
    "entrants": Export(
        "Entrants with their members, division, cost, affiliation and declarations.",
        Entrant.objects.prefetch_related(Prefetch("memberships", PRESENT, to_attr="members")),
        "competition",
        columns("entrant=pk name shown_name is_team division model_name cost_usd affiliation declared")
        | {
            "members": lambda entrant: [one.user.get_username() for one in entrant.members],
            "accepted_rules": lambda entrant: sorted({one.rules_digest for one in entrant.members} - {""}),
            "created_at": "created_at",
        },
    ),
    "submissions": Export(
        "All submissions with their state and outcome, without their code.",
        Submission.objects.select_related("owner", "entrant", "board")
        .prefetch_related(Prefetch("attempts", Attempt.objects.current(), to_attr="current"))
        .defer("source"),
        "board__competition",
        columns(
            "submission=pk board=board.slug hardware=board.hardware entrant=entrant_id shown_name=entrant.shown_name "
            "owner=owner.username mode filename size_bytes source_digest code_digest licence created_at"
        )
        | {name: _of_attempt(name) for name in ("state", "outcome", "reason")},
    ),
    "code": Export(
        "The source of each submission, private code included, but not code that the site has taken down. For owners; "
        "each download is recorded.",
        Submission.objects.select_related("entrant", "board").exclude(
            Exists(Takedown.objects.filter(submission=OuterRef("pk")))
        ),
        "board__competition",
        columns(
            "submission=pk board=board.slug hardware=board.hardware shown_name=entrant.shown_name mode filename "
            "licence source_digest created_at source"
        ),
        page_rows=CODE_ROWS,
        least=Role.OWNER,
    ),
    "results": Export(
        "All reports of runners: verdict, ratio to the baseline, interval, measured time, telemetry.",
        Result.objects.filter(attempt__is_shadow=False)
        .select_related("attempt__submission__board", "attempt__runner", "attempt__version")
        .defer("inline", "attempt__submission__source", "attempt__version__bundle"),
        "attempt__submission__board__competition",
        columns(
            "result=pk submission=attempt.submission_id board=attempt.submission.board.slug hardware=attempt.hardware "
            "attempt=attempt.number is_current=attempt.is_current cause=attempt.cause version=attempt.version.digest"
        )
        | {"runner": lambda result: result.attempt.runner.name if result.attempt.runner else ""}
        | columns("outcome reason flags ratio half_width score_us forgeable telemetry epoch created_at"),
    ),
    "standings": Export(
        "The current ranking of each board, by timing epoch.",
        Board.objects.select_related("competition"),
        "competition",
        columns(
            "board=board.slug hardware=board.hardware stage group epoch=epoch.name "
            "is_current_epoch=epoch.is_current rank is_tied entrant=entry.entrant_id "
            "shown_name=entry.entrant.shown_name submission=entry.submission_id "
            "submitted_at=entry.submitted_at ratio=value.ratio half_width=value.half_width score_us "
            "forgeable=value.forgeable runs"
        ),
        split=_standings,
    ),
    "decisions": Export(
        "The log of each review case, but not of your own or your team's: acts of reviewers and owners with times and "
        "reasons.",
        Decision.objects.select_related("actor", "result__attempt__submission__board").defer(
            "result__inline", "result__attempt__submission__source"
        ),
        "result__attempt__submission__board__competition",
        columns(
            "decision=pk result=result_id submission=result.attempt.submission_id "
            "board=result.attempt.submission.board.slug hardware=result.attempt.submission.board.hardware act code "
            "actor=actor.username reason public_reason about=about_id rank needs_two created_at"
        ),
        of_cases=True,
    ),
}
