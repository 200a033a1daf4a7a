"""Feedback on submissions as their viewers may see it: the stored reports, with the state of the submissions."""

from collections.abc import Iterable

from leaderboard.accounts.models import User
from leaderboard.judging.archive import look_at_all
from leaderboard.judging.models import AttemptEvent, Result
from leaderboard.standings.read.status import COVERED, statuses_of
from leaderboard.submissions.models import Candidate, Submission
from leaderboard.submissions.permissions import code_for
from runner.evidence.feedback import About, Feedback, feedback

COPIED = ("outcome", "reason", "message", "flags", "score_us", "ratio", "half_width")


def feedback_on(submissions: Iterable[Submission], viewer: User) -> list[Feedback]:
    """Return the feedback on each submission, in their order. An unfinished submission has a state and no verdict."""
    wanted = list(submissions)
    statuses = statuses_of(wanted)
    results = list(
        Result.objects.filter(attempt__submission__in=wanted, attempt__is_current=True).select_related("attempt")
    )
    readings = dict(zip((one.attempt.submission_id for one in results), look_at_all(results), strict=True))
    places = {one.submission_id: one for one in Candidate.objects.filter(submission__in=wanted)}
    found = []
    for submission in wanted:
        status, place = statuses[submission.pk], places.get(submission.pk)
        about = About(
            submission=submission.pk,
            candidate=place.number if place else None,
            arrival=place.arrival if place else None,
            board=submission.board.slug,
            hardware=submission.board.hardware,
            mode=submission.mode,
            filename=submission.filename,
            status=status.status,
            review=status.review,
            published=status.published,
        )
        report, problem = readings.get(submission.pk, ({}, ""))
        # The columns of a result outlive its report.
        report = report | {name: getattr(status, name) for name in COPIED}
        if submission.pk not in readings:
            report["message"] = _last_message(submission)
        covered = hasattr(submission, "takedown") and code_for(viewer, submission)[0] is None
        found.append(feedback(report, about=about, covered=covered, problem=COVERED if covered else problem))
    return found


def _last_message(submission: Submission) -> str:
    events = AttemptEvent.objects.since(submission.created_at).filter(submission=submission).exclude(message="")
    last = events.order_by("-id").first()
    return last.message if last else ""
