"""What the owner of a submission sees of it: derived from its current attempt, its result, its review and its line.

It lives up here because it reads judging, review and standings; nothing is stored. The time of a published submission
is that of its board, so both pages say the same; any other's is on the scale of its own run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from leaderboard.judging.models import Attempt, AttemptEvent, Result
from leaderboard.review.models import Decision, Finding
from leaderboard.review.standing import REJECTED, UNDER_REVIEW
from leaderboard.standings.boards import published_times, rank_of
from leaderboard.submissions.models import Submission


@dataclass(frozen=True)
class SubmissionStatus:
    status: str  # the attempt's state
    attempt: int  # its number within the submission
    outcome: str = ""
    reason: str = ""
    message: str = ""
    score_us: float | None = None
    ratio: float | None = None
    half_width: float | None = None
    flags: list[str] = field(default_factory=list)
    published: bool = False
    rank: int | None = None  # only from `status_of`
    review: str | None = None  # UNDER_REVIEW, REJECTED
    cases: list[dict[str, Any]] = field(default_factory=list)  # only from `status_of`
    logs: dict[str, str] = field(default_factory=dict)  # only from `status_of`


def status_of(submission: Submission) -> SubmissionStatus:
    """Everything, for the page of one submission."""
    attempt = Attempt.objects.current().select_related("result").get(submission=submission)
    result = _result_of(attempt)
    status = _status(
        attempt,
        result,
        review=_reviews([attempt.pk]).get(attempt.pk),
        board_us=published_times([submission.pk]).get(submission.pk),
        message=result.message if result else _last_message(attempt),
        rank=rank_of(submission),
    )
    if result is None:
        return status
    return _with_details(status, result.report)


def statuses_of(submissions: Iterable[Submission]) -> dict[int, SubmissionStatus]:
    """Submission id → what a list shows, in five queries however many there are."""
    attempts = list(
        Attempt.objects.current()
        .filter(submission__in=list(submissions))
        .select_related("result")
        .defer("result__report")
    )
    reviews = _reviews([attempt.pk for attempt in attempts])
    times = published_times(attempt.submission_id for attempt in attempts)
    statuses = {}
    for attempt in attempts:
        result = _result_of(attempt)
        statuses[attempt.submission_id] = _status(
            attempt,
            result,
            review=reviews.get(attempt.pk),
            board_us=times.get(attempt.submission_id),
            message=result.message if result else "",
            rank=None,
        )
    return statuses


def _status(
    attempt: Attempt,
    result: Result | None,
    *,
    review: str | None,
    board_us: float | None,
    message: str,
    rank: int | None,
) -> SubmissionStatus:
    return SubmissionStatus(
        status=attempt.state,
        attempt=attempt.number,
        outcome=attempt.outcome,
        reason=attempt.reason,
        message=message,
        score_us=(board_us or result.score_us) if result else None,
        ratio=result.ratio if result else None,
        half_width=result.half_width if result else None,
        flags=list(result.flags) if result else [],
        published=board_us is not None,
        rank=rank,
        review=review,
    )


def _with_details(status: SubmissionStatus, report: dict[str, Any]) -> SubmissionStatus:
    return replace(status, cases=report.get("cases", []), logs=report.get("logs", {}))


def _result_of(attempt: Attempt) -> Result | None:
    return getattr(attempt, "result", None)


def _reviews(attempt_ids: list[int]) -> dict[int, str]:
    """Attempt id → where its result stands in review; absent: never held, or published by a person."""
    held = set(Finding.objects.filter(result__attempt_id__in=attempt_ids).values_list("result__attempt_id", flat=True))
    acts = dict(Decision.objects.filter(result__attempt_id__in=held).values_list("result__attempt_id", "act"))
    standing = {None: UNDER_REVIEW, Decision.REJECT: REJECTED}
    return {attempt_id: standing[acts.get(attempt_id)] for attempt_id in held if acts.get(attempt_id) in standing}


def _last_message(attempt: Attempt) -> str:
    last = AttemptEvent.objects.filter(attempt=attempt).exclude(message="").order_by("-id").first()
    return "" if last is None else last.message
