"""Rows of a data set: kernels with a pass that everybody may read, and kernels without one that their owners share.

Rows come problem by problem, so that only the sketches of one problem and hardware are in memory.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, OuterRef, Q

from leaderboard.accounts.logins import logins_that_left, logins_that_share_all
from leaderboard.competitions.calendar import is_frozen_at, is_over_at
from leaderboard.competitions.checks import ALL_RIGHTS_RESERVED, LICENCES
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.dataset import columns
from leaderboard.dataset.folder import Row
from leaderboard.dataset.likeness import keys_of
from leaderboard.entrants.models import Membership
from leaderboard.judging.archive import look_at_all
from leaderboard.judging.models import Epoch, Result
from leaderboard.judging.verdicts import judged_since
from leaderboard.review.case import states
from leaderboard.review.models import Case, Decision
from leaderboard.standings.models import Entry
from leaderboard.standings.read.code import LINEAGE, PARTS, is_public, origins_seen
from leaderboard.submissions.models import Lineage, Parent, Submission
from leaderboard.submissions.tokens import code_digest
from leaderboard.web.submissions.starter_code import REFERENCE

AT_ONCE: Final = 50  # rows with their source and report in memory
ALLOWED: Final = tuple(name for name in LICENCES if name != ALL_RIGHTS_RESERVED)

T = TypeVar("T")


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
    machines = _machines()
    public = (entry for entry in ordered.iterator(chunk_size=AT_ONCE) if is_public(entry, now))
    for some in _batches(public):
        lineages = _lineages([entry.submission for entry in some], now)
        for entry, reading in zip(some, look_at_all([entry.attempt.result for entry in some]), strict=True):
            timed = [case for case in reading.report.get("cases", []) if case.get("stage") == "time"]
            values = _shared(entry.submission, entry.board, entry.attempt.version_id) | lineages[entry.submission_id]
            values |= {
                "schema": columns.KERNELS_SCHEMA,
                "outcome": entry.attempt.outcome,
                "epoch": entry.epoch,
                "machine": machines.get((entry.board.hardware, entry.epoch), {}),
                "speedup": 1 / entry.ratio,
                **{name: getattr(entry, name) for name in ("ratio", "half_width", "score_us", "forgeable", "light")},
                "telemetry": entry.telemetry,
                "cases": [{name: case.get(name) for name in columns.CASE_FIGURES} for case in timed],
            }
            yield _row(entry.submission, entry.board, values, "")


def rejected(now: datetime) -> Iterator[Row]:
    """Yield kernels without a pass and rejected kernels, by problem and hardware, once their contest is over.

    The site shows no such code. Only kernels whose owner has published the code or shares all kernels are here.
    """
    sent = "attempt__submission"
    case = Case.objects.filter(result=OuterRef("pk"))
    is_settled = ~Exists(case) | Exists(case.filter(state=states.REJECTED))
    failed = Q(outcome__in=columns.FAULTS) | Exists(case.filter(state=states.REJECTED))
    shared = Q(**{f"{sent}__code_release__isnull": False}) | Q(**{f"{sent}__owner__in": logins_that_share_all()})
    found = Result.objects.filter(is_settled, failed, shared, attempt__is_current=True)
    found = found.filter(
        **{f"{sent}__board__in": _boards(), f"{sent}__licence__in": ALLOWED, f"{sent}__takedown": None}
    )
    found = found.filter(~judged_since("attempt")).filter(_may_share(sent))
    found = found.select_related(f"{sent}__board__problem", f"{sent}__board__competition", f"{sent}__entrant")
    found = found.prefetch_related("decisions", "findings").defer("inline")
    ordered = found.order_by(f"{sent}__board__problem__slug", f"{sent}__board__hardware", "pk")
    machines = _machines()
    for some in _batches(one for one in ordered.iterator(chunk_size=AT_ONCE) if _is_over(one, now)):
        lineages = _lineages([result.attempt.submission for result in some], now)
        for result, reading in zip(some, look_at_all(some), strict=True):
            submission = result.attempt.submission
            cases = [one for one in reading.report.get("cases", []) if not one.get("good", True)]
            values = _shared(submission, submission.board, result.attempt.version_id) | lineages[submission.pk]
            values |= {
                "schema": columns.REJECTED_SCHEMA,
                "outcome": result.outcome,
                "epoch": result.epoch,
                "machine": machines.get((submission.board.hardware, result.epoch), {}),
                **_reason_of(result),
                "rules": sorted({finding.rule for finding in result.findings.all()}),
                "failed_cases": [{name: one.get(name) for name in ("name", "reason", "message")} for one in cases],
            }
            yield _row(submission, submission.board, values, f"{values['kind']} {values['reason']} ")


def _boards() -> Any:
    return boards_seen_by(AnonymousUser(), listed=True)


def _may_share(submission: str) -> Q:
    """Match rows none of whose people has left data sets: neither the sender nor a member of the entrant, ever."""
    without = logins_that_left()
    members = Membership.objects.filter(entrant=OuterRef(f"{submission}__entrant"), user__in=without)
    return ~Exists(members) & ~Q(**{f"{submission}__owner__in": without})


def _is_over(result: Result, now: datetime) -> bool:
    board = result.attempt.submission.board
    schedule = board.competition.schedule
    return is_over_at(schedule, now, board_deadline=board.deadline) and not is_frozen_at(schedule, now)


def _shared(submission: Submission, board: Board, version: int) -> dict[str, Any]:
    return {
        "source": columns.SUBMISSIONS,
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


def _lineages(submissions: list[Submission], now: datetime) -> dict[int, dict[str, Any]]:
    """Return the columns of lineage by submission. Of parents and originals, those that everybody sees on a board."""
    keys = [one.pk for one in submissions]
    known = {lineage.pk: lineage for lineage in Lineage.objects.filter(pk__in=keys)}
    pairs = list(Parent.objects.filter(child__in=keys).values_list("child", "parent"))
    named = {parent for _, parent in pairs} | {one.remixed_from_id for one in submissions if one.remixed_from_id}
    seen = origins_seen(named, AnonymousUser(), now)
    return {
        one.pk: {
            "remixed_from": one.remixed_from_id if one.remixed_from_id in seen else None,
            "parents": [parent for child, parent in pairs if child == one.pk and parent in seen],
            **{name: getattr(known.get(one.pk), name, None) for name in LINEAGE},
        }
        for one in submissions
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


def _machines() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the public facts of all epochs by hardware and name."""
    return {
        (one.hardware, one.name): {name: one.fingerprint[name] for name in columns.MACHINE if name in one.fingerprint}
        for one in Epoch.objects.all()
    }


def _reason_of(result: Result) -> dict[str, str]:
    """Return kind, reason and message. A reviewer's own words are for the owner; `public_reason` is for everybody."""
    decisions: list[Decision] = [one for one in result.decisions.all() if one.act == states.REJECT]
    if decisions:
        last = decisions[-1]
        return {"kind": columns.CHEATING, "reason": last.code or "other", "message": last.public_reason}
    kind = columns.CHEATING if result.outcome == "policy" else columns.FAILED
    return {"kind": kind, "reason": result.reason or result.outcome, "message": result.message}


def _row(submission: Submission, board: Board, values: dict[str, Any], reason: str) -> Row:
    digest = f"{reason}{submission.kernel}"
    return Row((board.problem.slug, board.hardware), digest, submission.source, values)


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    rows = iter(rows)
    while some := list(islice(rows, AT_ONCE)):
        yield some
