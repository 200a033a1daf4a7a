"""The owner's view of a submission: derived from its current attempt, its result, its review and its line.

This package has it because it reads judging, review and standings; it stores no state. Time and ratio are those of the
submission's own run; the ranked value, over all runs of its kernel, is in `standing`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from leaderboard.judging.archive import look
from leaderboard.judging.models import Attempt, AttemptEvent
from leaderboard.review.standing import reviews_of
from leaderboard.standings.publish import refusal, retracted_kernels
from leaderboard.standings.read.boards import Standing, published_among, standing_of
from leaderboard.submissions.models import Submission
from runner.evidence import profiled

COVERED: Final = "The code is taken down, and with it its logs and messages."


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
    forgeable: float | None = None
    telemetry: str = ""
    epoch: str = ""
    flags: list[str] = field(default_factory=list)
    stage: str = ""  # the last stage that the code reached (feedback.py); "": no result, or an older one
    published: bool = False
    review: str | None = None  # review.standing: UNDER_REVIEW, REJECTED
    unranked: str | None = None  # reason why a passing ranked result cannot have a line, from publish.py
    withdrawn: bool = False  # its kernel is retracted
    standing: Standing | None = None  # only from `status_of`
    cases: list[dict[str, Any]] = field(default_factory=list)  # only from `status_of`
    logs: dict[str, str] = field(default_factory=dict)  # only from `status_of`
    profile: profiled.Profiled | None = None  # only from `status_of`
    report_problem: str = ""  # why logs and perhaps cases are missing; only from `status_of`

    @property
    def rank(self) -> int | None:
        return self.standing.rank if self.standing else None


def status_of(submission: Submission, *, now: datetime, covered: bool = False) -> SubmissionStatus:
    """Return all fields, for the page of a submission. `covered`: without texts that its code may have written."""
    attempts = Attempt.objects.current().select_related("result", "submission").defer("result__inline")
    attempt = attempts.get(submission=submission)
    [status] = _statuses([attempt])
    if not hasattr(attempt, "result"):
        events = AttemptEvent.objects.since(attempt.created_at).filter(attempt=attempt)
        last = events.exclude(message="").order_by("-id").first()
        return replace(status, message="" if last is None or covered else last.message)
    report, problem = look(attempt.result)
    parts = {"cases": report.get("cases", []), "logs": report.get("logs", {}), "report_problem": problem}
    if not covered:
        parts["profile"] = profiled.read(report.get("profile"))
    else:
        cases = [without_text(case) for case in parts["cases"]]
        parts = {"cases": cases, "logs": {}, "report_problem": COVERED, "message": ""}
    return replace(status, standing=standing_of(submission, now=now), **parts)


def without_text(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case of a report without the text that the code may have written."""
    return {name: value for name, value in case.items() if name != "message"}


def statuses_of(submissions: Iterable[Submission]) -> dict[int, SubmissionStatus]:
    """Map submission ids to the fields of a list, without messages where the code is taken down.

    The number of queries is fixed.
    """
    attempts = list(
        Attempt.objects.current()
        .filter(submission__in=list(submissions))
        .select_related("result", "submission__takedown")
        .defer("result__inline", "submission__source")
    )
    statuses = {}
    for attempt, status in zip(attempts, _statuses(attempts), strict=True):
        covered = hasattr(attempt.submission, "takedown")
        statuses[attempt.submission_id] = replace(status, message="") if covered else status
    return statuses


def _statuses(attempts: Sequence[Attempt]) -> list[SubmissionStatus]:
    reviews = reviews_of([attempt.pk for attempt in attempts])
    published = published_among(attempt.submission_id for attempt in attempts)
    ranked = [attempt.submission for attempt in attempts if _could_rank(attempt)]
    boards = {submission.board_id for submission in ranked if submission.pk not in published}
    retracted = retracted_kernels(boards) if boards else set()
    return [
        _status(
            attempt,
            review=reviews.get(attempt.pk),
            published=attempt.submission_id in published,
            withdrawn=_could_rank(attempt) and attempt.submission.kernel_key in retracted,
        )
        for attempt in attempts
    ]


def _could_rank(attempt: Attempt) -> bool:
    return attempt.outcome == "passed" and attempt.submission.mode == "ranked"


def _status(attempt: Attempt, **found: Any) -> SubmissionStatus:
    """Return the fields of a list. `found`: fields that are read for many attempts at once."""
    status = SubmissionStatus(
        status=attempt.state,
        attempt=attempt.number,
        outcome=attempt.outcome,
        reason=attempt.reason,
        **found,
    )
    if not hasattr(attempt, "result"):
        return status
    result = attempt.result
    return replace(
        status,
        message=result.message,
        score_us=result.score_us,
        ratio=result.ratio,
        half_width=result.half_width,
        forgeable=result.forgeable,
        telemetry=result.telemetry,
        epoch=result.epoch,
        flags=list(result.flags),
        stage=result.stage,
        unranked=(refusal(telemetry=result.telemetry) or None) if _could_rank(attempt) else None,
    )
