"""Rows of a data set: kernels with a pass that everybody may read, and kernels without one that their owners share.

Rows come problem by problem, so that only the sketches of one problem and hardware are in memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, OuterRef, Q

from leaderboard.accounts.models import ALL, NONE
from leaderboard.accounts.permissions import logins_that_chose
from leaderboard.competitions.calendar import is_frozen_at, is_over_at
from leaderboard.competitions.checks import ALL_RIGHTS_RESERVED, LICENCES
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.entrants.models import Membership
from leaderboard.judging.archive import look_at_all
from leaderboard.judging.models import Result
from leaderboard.judging.verdicts import judged_since
from leaderboard.review.case import states
from leaderboard.review.models import Case, Decision
from leaderboard.standings.models import Entry
from leaderboard.standings.read.code import PARTS, is_public
from leaderboard.submissions.models import Submission
from leaderboard.submissions.tokens import code_digest
from leaderboard.web import parquet
from leaderboard.web.dataset.likeness import keys_of
from leaderboard.web.submissions.starter_code import REFERENCE

AT_ONCE: Final = 50  # rows with their source and report in memory
FAULTS: Final = ("wrong", "build_error", "runtime_error", "timeout", "out_of_memory", "policy")
ALLOWED: Final = tuple(name for name in LICENCES if name != ALL_RIGHTS_RESERVED)

SHARED: Final = {  # columns of both tables
    "schema": parquet.TEXT,
    "submission": parquet.WHOLE,
    "problem": parquet.TEXT,
    "problem_digest": parquet.TEXT,
    "title": parquet.TEXT,
    "description": parquet.TEXT,
    "reference": parquet.TEXT,
    "competition": parquet.TEXT,
    "hardware": parquet.TEXT,
    "mode": parquet.TEXT,
    "filename": parquet.TEXT,
    "code": parquet.TEXT,
    "code_digest": parquet.TEXT,
    "licence": parquet.TEXT,
    "author": parquet.TEXT,
    "submitted_at": parquet.TIME,
    "outcome": parquet.TEXT,
    "epoch": parquet.TEXT,
}
KERNELS: Final = SHARED | {
    "speedup": parquet.REAL,
    "ratio": parquet.REAL,
    "half_width": parquet.REAL,
    "score_us": parquet.REAL,
    "forgeable": parquet.REAL,
    "light": parquet.REAL,
    "telemetry": parquet.TEXT,
    "cases": parquet.TEXT,
}
REJECTED: Final = SHARED | {
    "kind": parquet.TEXT,
    "reason": parquet.TEXT,
    "message": parquet.TEXT,
    "rules": parquet.TEXT,
    "failed_cases": parquet.TEXT,
}
MEANINGS: Final = {
    "schema": "name and version of the table's schema",
    "submission": "number on the site",
    "problem": "name of the problem; all its rows are in one split",
    "problem_digest": "version of the problem that the kernel was judged by",
    "reference": "source of the reference implementation",
    "code": "source of the kernel",
    "code_digest": "digest that near-identical sources share",
    "licence": "SPDX licence of the code",
    "author": "public name of the entrant",
    "outcome": "verdict of the judge",
    "epoch": "timing epoch; times of two epochs are not comparable",
    "speedup": "baseline / kernel, above 1 faster",
    "ratio": "kernel / baseline",
    "half_width": "relative half-width of the ratio's 95 % interval",
    "score_us": "measured time in microseconds",
    "forgeable": "at most this share of the true time is missing",
    "light": "share of the speed of light",
    "telemetry": "device state that the runner watched",
    "cases": "JSON: name, measured_us, baseline_us, ratio and half_width of each timed case",
    "kind": "`failed` by the judge, or `cheating`: rejected by a reviewer or by a rule without one",
    "reason": "code of the reason",
    "message": "the reason in a sentence",
    "rules": "JSON: rules that held it",
    "failed_cases": "JSON: name, reason and message of each failed case",
}
T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """A row, with the part of its problem and hardware by which duplicates are found."""

    group: tuple[str, str]
    digest: str
    source: str
    values: dict[str, Any]


def split_keys() -> dict[str, str]:
    """Return the key of the split of each problem that a board has."""
    references: dict[str, set[str]] = {}
    versions = ProblemVersion.objects.filter(problem__boards__isnull=False).distinct().order_by("pk")
    for version in versions.annotate(slug=F("problem__slug")).iterator(chunk_size=AT_ONCE):
        reference = version.part("files", {}).get(REFERENCE) or ""
        references.setdefault(version.slug, set()).update([code_digest(reference)] if reference else [])
    return keys_of(references)


def kernels(now: datetime) -> Iterator[Row]:
    """Yield the entries with public code, by problem and hardware, the fastest first."""
    found = Entry.objects.filter(board__in=_boards(), submission__licence__in=ALLOWED).filter(_may_share("submission"))
    found = found.select_related(*PARTS, "board__problem", "attempt__result").defer("attempt__result__inline")
    ordered = found.order_by("board__problem__slug", "board__hardware", "ratio", "pk")
    public = (entry for entry in ordered.iterator(chunk_size=AT_ONCE) if is_public(entry, now))
    for some in _batches(public):
        for entry, reading in zip(some, look_at_all([entry.attempt.result for entry in some]), strict=True):
            timed = [case for case in reading.report.get("cases", []) if case.get("stage") == "time"]
            figures = ("name", "measured_us", "baseline_us", "ratio", "half_width")
            values = _shared(entry.submission, entry.board, entry.attempt.version_id, "kernels/1") | {
                "outcome": entry.attempt.outcome,
                "epoch": entry.epoch,
                "speedup": 1 / entry.ratio,
                **{name: getattr(entry, name) for name in ("ratio", "half_width", "score_us", "forgeable", "light")},
                "telemetry": entry.telemetry,
                "cases": [{name: case.get(name) for name in figures} for case in timed],
            }
            yield _row(entry.submission, entry.board, values, "")


def rejected(now: datetime) -> Iterator[Row]:
    """Yield kernels without a pass and rejected kernels, by problem and hardware, once their contest is over.

    The site shows no such code. Only kernels whose owner has published the code or shares all kernels are here.
    """
    sent = "attempt__submission"
    case = Case.objects.filter(result=OuterRef("pk"))
    is_settled = ~Exists(case) | Exists(case.filter(state=states.REJECTED))
    failed = Q(outcome__in=FAULTS) | Exists(case.filter(state=states.REJECTED))
    shared = Q(**{f"{sent}__code_release__isnull": False}) | Q(**{f"{sent}__owner__in": logins_that_chose(ALL)})
    found = Result.objects.filter(is_settled, failed, shared, attempt__is_current=True)
    found = found.filter(
        **{f"{sent}__board__in": _boards(), f"{sent}__licence__in": ALLOWED, f"{sent}__takedown": None}
    )
    found = found.filter(~judged_since("attempt")).filter(_may_share(sent))
    found = found.select_related(f"{sent}__board__problem", f"{sent}__board__competition", f"{sent}__entrant")
    found = found.prefetch_related("decisions", "findings").defer("inline")
    ordered = found.order_by(f"{sent}__board__problem__slug", f"{sent}__board__hardware", "pk")
    for some in _batches(one for one in ordered.iterator(chunk_size=AT_ONCE) if _is_over(one, now)):
        for result, reading in zip(some, look_at_all(some), strict=True):
            submission = result.attempt.submission
            cases = [one for one in reading.report.get("cases", []) if not one.get("good", True)]
            values = _shared(submission, submission.board, result.attempt.version_id, "rejected/1") | {
                "outcome": result.outcome,
                "epoch": result.epoch,
                **_reason_of(result),
                "rules": sorted({finding.rule for finding in result.findings.all()}),
                "failed_cases": [{name: one.get(name) for name in ("name", "reason", "message")} for one in cases],
            }
            yield _row(submission, submission.board, values, f"{values['kind']} {values['reason']} ")


def _boards() -> Any:
    return boards_seen_by(AnonymousUser(), listed=True)


def _may_share(submission: str) -> Q:
    """Match rows none of whose people has left data sets: neither the sender nor a member of the entrant, ever."""
    without = logins_that_chose(NONE).values("pk")
    members = Membership.objects.filter(entrant=OuterRef(f"{submission}__entrant"), user__in=without)
    return ~Exists(members) & ~Q(**{f"{submission}__owner__in": without})


def _is_over(result: Result, now: datetime) -> bool:
    board = result.attempt.submission.board
    schedule = board.competition.schedule
    return is_over_at(schedule, now, board_deadline=board.deadline) and not is_frozen_at(schedule, now)


def _shared(submission: Submission, board: Board, version: int, schema: str) -> dict[str, Any]:
    return {
        "schema": schema,
        "submission": submission.pk,
        "problem": board.problem.slug,
        **_problem(version),
        "competition": board.competition.slug,
        "hardware": board.hardware,
        "mode": submission.mode,
        "filename": submission.filename,
        "code": submission.source,
        "code_digest": submission.kernel,
        "licence": submission.licence,
        "author": submission.entrant.shown_name,
        "submitted_at": submission.created_at,
    }


@lru_cache(maxsize=16)
def _problem(version: int) -> dict[str, str]:
    """Return the public parts of a version, which never changes."""
    found = ProblemVersion.objects.select_related("problem").get(pk=version)
    return {
        "problem_digest": found.digest,
        "title": found.problem.title,
        "description": str(found.part("description", "")),
        "reference": found.part("files", {}).get(REFERENCE) or "",
    }


def _reason_of(result: Result) -> dict[str, str]:
    """Return kind, reason and message. A reviewer's own words are for the owner; `public_reason` is for everybody."""
    decisions: list[Decision] = [one for one in result.decisions.all() if one.act == states.REJECT]
    if decisions:
        last = decisions[-1]
        return {"kind": "cheating", "reason": last.code or "other", "message": last.public_reason}
    kind = "cheating" if result.outcome == "policy" else "failed"
    return {"kind": kind, "reason": result.reason or result.outcome, "message": result.message}


def _row(submission: Submission, board: Board, values: dict[str, Any], reason: str) -> Row:
    digest = f"{reason}{submission.kernel}"
    return Row((board.problem.slug, board.hardware), digest, submission.source, values)


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    rows = iter(rows)
    while some := list(islice(rows, AT_ONCE)):
        yield some
