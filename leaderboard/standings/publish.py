"""The single writer of Entry: publish a result's line, or withdraw the lines of a submission or of a whole kernel.

`refusal` and `light_share` are pure: whether a passing ranked result can have a line before any review, and its share
of the speed of light.

To retract takes a kernel off its board; to restore lets it return. Its lines come and go in the same transaction, and
therefore everywhere at once: boards, overall standings, history and exports all read Entry. Its owner may retract it
until the standing is final. An organiser with the reviewer role or above may retract other entrants' kernels at any
time and undo that, except for kernels of their own or their team.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any, Final

from django.contrib.postgres.functions import RandomUUID
from django.db import connection, transaction
from django.db.models import QuerySet

from leaderboard.accounts.logins import lock_accounts
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Phase, Stage, phase_at
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.judging.archive import report_of
from leaderboard.judging.epochs import pin_contests
from leaderboard.judging.models import Attempt, Result
from leaderboard.review.permissions import check_reviewer, may_review
from leaderboard.standings.models import Entry, Retraction, Revision
from leaderboard.standings.read.table import stage_at
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import may_dispose

NO_TELEMETRY: Final = "no_telemetry"  # clocks and temperatures were not watched, so the measurement is unreliable
WRITTEN: Final = (  # columns that replace the old values of a line
    *("board", "owner", "entrant", "attempt", "score_us", "ratio", "half_width", "epoch", "code_digest", "forgeable"),
    *("telemetry", "light", "submitted_at", "published_at"),
)


def refusal(*, telemetry: str) -> str:
    """Return why a result cannot rank; "": it can. Older runners do not report telemetry at all, and can rank."""
    return NO_TELEMETRY if telemetry == "none" else ""


def light_share(report: Mapping[str, Any]) -> float | None:
    """Return the geometric mean over the timed cases of hard bound / measured time, 1 at most.

    None unless the report has both for every timed case.
    """
    limits = _mapping(_mapping(report.get("evidence")).get("limits")).get("cases")
    bounds = {str(one.get("case")): _mapping(one.get("hard")).get("ns") for one in _mappings(limits)}
    timed = [case for case in _mappings(report.get("cases")) if case.get("stage") == "time"]
    pairs = [(_positive(bounds.get(str(case.get("name")))), _positive(case.get("measured_us"))) for case in timed]
    known = [(ns / 1e3, us) for ns, us in pairs if ns is not None and us is not None]
    if not known or len(known) < len(pairs):
        return None
    return min(1.0, math.exp(fmean(math.log(bound) - math.log(took) for bound, took in known)))


def _positive(value: Any) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list | tuple) else []


def publish(*, result: Result, now: datetime) -> bool:
    """Publish the submission's line in place of an earlier attempt's. False: its kernel is retracted."""
    light = light_share(report_of(result))
    return bool(publish_all(results=[result], lights={result.pk: light}, now=now))


def publish_all(*, results: Sequence[Result], lights: Mapping[int, float | None], now: datetime) -> set[int]:
    """Publish many results at once; return the keys of results that have a line now.

    `lights`: light_share of each report.
    """
    for result in results:
        if result.score_us is None or result.ratio is None or refusal(telemetry=result.telemetry):
            raise ValueError(f"{result} cannot rank")
    submissions = [result.attempt.submission for result in results]
    lock_entrants(submission.entrant_id for submission in submissions)
    retracted = retracted_kernels({submission.board_id for submission in submissions})
    may = [result for result in results if result.attempt.submission.kernel_key not in retracted]
    entries = []
    for result in may:
        submission = result.attempt.submission
        assert result.score_us is not None
        assert result.ratio is not None
        entries.append(
            Entry(
                submission=submission,
                board_id=submission.board_id,
                owner_id=submission.owner_id,
                entrant_id=submission.entrant_id,
                attempt=result.attempt,
                score_us=result.score_us,
                ratio=result.ratio,
                half_width=result.half_width,
                epoch=result.epoch,
                code_digest=submission.kernel,
                forgeable=result.forgeable,
                telemetry=result.telemetry,
                light=lights[result.pk],
                submitted_at=submission.created_at,
                published_at=now,
            )
        )
    Entry.objects.bulk_create(entries, update_conflicts=True, unique_fields=["submission"], update_fields=WRITTEN)
    pin_contests(may, now=now)  # after the boards' revisions, which a writer of many lines has locked before
    return {result.pk for result in may}


def withdraw_all(*, submissions: Iterable[Submission]) -> int:
    """Take the submissions' lines off their boards. Return the number of lines."""
    deleted, _ = Entry.objects.filter(submission__in=[submission.pk for submission in submissions]).delete()
    return deleted


def withdraw(*, submission: Submission, attempt: Attempt | None = None) -> bool:
    """Take the submission's line off its board, if it has one. `attempt`: the line of a newer attempt stays."""
    lines = Entry.objects.filter(submission=submission)
    if attempt is not None:
        lines = lines.filter(attempt__number__lte=attempt.number)
    return lines.delete()[0] > 0


def kernel_lines(submission: Submission) -> QuerySet[Entry]:
    """Return the lines of all published runs of its kernel."""
    return Entry.objects.filter(board=submission.board_id, entrant=submission.entrant_id, code_digest=submission.kernel)


def lock_entrants(entrants: Iterable[int]) -> None:
    """Lock entrants until the end of the transaction: no kernel is retracted between the check and its line.

    A transaction that locks accounts as well locks them before entrants.
    """
    found = Entrant.objects.filter(pk__in=set(entrants)).order_by("pk")
    list(found.select_for_update(no_key=True).values_list("pk"))


_LOCK_LINES: Final = """
INSERT INTO standings_revision AS known (board_id, token)
SELECT board_id, gen_random_uuid() FROM unnest(%s::bigint[]) AS board_id ORDER BY board_id
    ON CONFLICT (board_id) DO UPDATE SET token = known.token
"""


def lock_lines(boards: Iterable[int]) -> None:
    """Lock the lines of these boards against writers until the end of the transaction.

    A trigger locks a board's revision with the first line that is written. An act on lines of several boards locks all
    of them here first, after accounts and entrants; otherwise two acts could wait for each other.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_LINES, [sorted(set(boards))])


def renew_revisions(boards: Iterable[int]) -> None:
    """Give boards a new revision after an act that writes no line, but changes the lines they show."""
    revisions = Revision.objects.filter(board__in=list(boards))
    list(revisions.order_by("pk").select_for_update().values_list("pk"))  # in the order of lock_lines
    revisions.update(token=RandomUUID())


def retracted_kernels(boards: Iterable[int]) -> set[tuple[int, int, str]]:
    """Return the retracted kernels of these boards as (board, entrant, kernel). One query."""
    rows = Retraction.objects.filter(board__in=boards).order_by("id")
    newest = {(row.board_id, row.entrant_id, row.code_digest): row.act for row in rows}
    return {kernel for kernel, act in newest.items() if act == Retraction.RETRACT}


def retraction_of(submission: Submission) -> Retraction | None:
    """Return the retraction of its kernel, unless it was restored later."""
    rows = Retraction.objects.filter(
        board=submission.board_id, entrant=submission.entrant_id, code_digest=submission.kernel
    )
    last = rows.select_related("actor").order_by("-id").first()
    return last if last is not None and last.act == Retraction.RETRACT else None


BY_OWNER: Final = "retracted by its owner"


def may_retract(actor: User, submission: Submission, now: datetime) -> bool:
    """Return whether this person may retract the kernel: its owner not once a line of the contest is final."""
    if may_review(actor, submission):
        return True
    if not may_dispose(actor, submission):
        return False
    board = submission.board
    if phase_at(board.competition.schedule, now) not in (Phase.FINAL, Phase.OPEN):
        return True
    sent = (submission.created_at, *kernel_lines(submission).values_list("submitted_at", flat=True))
    return not any(stage_at(board, at) is Stage.CONTEST for at in sent)


@transaction.atomic
def retract(*, submission: Submission, actor: User, reason: str, now: datetime) -> int:
    """Retract all runs of this submission's kernel and return the number of lines.

    The same code does not rank again. The owner need not give a reason; an organiser must.
    """
    if not may_retract(actor, submission, now):
        text = "only its owner, until the standing is final, or a reviewer may retract it"
        raise UserError("actor", actor.get_username(), text, status=403)
    if not reason and may_dispose(actor, submission):
        reason = BY_OWNER
    check_reason(reason)
    lock_entrants([submission.entrant_id])
    if retraction_of(submission) is not None:
        return 0
    lines, _ = kernel_lines(submission).delete()
    if not lines:
        raise UserError("submission", submission.pk, "has no line on its board that could be retracted", status=409)
    _write(Retraction.RETRACT, submission, actor, reason, now, before=lines, after=0)
    return lines


@transaction.atomic
def restore(*, submission: Submission, actor: User, reason: str, now: datetime) -> bool:
    """Allow the kernel on its board again; pipeline then publishes its lines. False: it was already allowed."""
    check_reviewer(actor, submission, "put a retracted kernel back")
    check_reason(reason)
    owners = User.objects.filter(submissions__entrant=submission.entrant_id, submissions__board=submission.board_id)
    lock_accounts(owner.account_id for owner in owners)
    lock_entrants([submission.entrant_id])
    if retraction_of(submission) is None:
        return False
    _write(Retraction.RESTORE, submission, actor, reason, now)
    return True


def _write(
    act: str, submission: Submission, actor: User, reason: str, now: datetime, *, before: int = 0, after: int = 0
) -> None:
    Retraction.objects.create(
        board_id=submission.board_id,
        entrant_id=submission.entrant_id,
        code_digest=submission.kernel,
        submission=submission,
        act=act,
        actor=actor,
        reason=reason,
        created_at=now,
    )
    sides = {"before": {"lines": before}, "after": {"lines": after}}
    record(f"{act}_entry", submission, actor=actor, reason=reason, now=now, **sides)
