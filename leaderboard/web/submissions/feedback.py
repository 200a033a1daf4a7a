"""Feedback on submissions as their viewers may see it: the stored reports, with the state of the submissions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from leaderboard.accounts.models import User
from leaderboard.judging.archive import look_at_all
from leaderboard.judging.models import AttemptEvent, Result
from leaderboard.review.models import Finding
from leaderboard.review.rules.findings import OF_OTHERS, Evidence
from leaderboard.review.rules.screen import held_alone, is_unscreened
from leaderboard.standings.read.status import COVERED, SubmissionStatus, statuses_of
from leaderboard.submissions.models import Candidate, Submission
from leaderboard.submissions.permissions import code_for
from runner.evidence.feedback import About, Feedback, HeldBy, feedback

COPIED = ("outcome", "reason", "message", "flags", "score_us", "ratio", "half_width")


def feedback_on(submissions: Iterable[Submission], viewer: User) -> list[Feedback]:
    """Return the feedback on each submission, in their order. An unfinished submission has a state and no verdict."""
    wanted = list(submissions)
    statuses = statuses_of(wanted)
    results = list(
        Result.objects.filter(attempt__submission__in=wanted, attempt__is_current=True).select_related(
            "measurement", "attempt__submission__board__competition", "attempt__submission__board__version"
        )
    )
    readings = dict(zip((one.attempt.submission_id for one in results), look_at_all(results), strict=True))
    for result in results:
        result.loaded = readings[result.attempt.submission_id].report
    held_by = _held_by(results, statuses)
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
        problem = COVERED if covered else problem
        rules = held_by.get(submission.pk, ())
        found.append(feedback(report, about=about, held_by=rules, covered=covered, problem=problem))
    return found


def _held_by(results: Iterable[Result], statuses: Mapping[int, SubmissionStatus]) -> dict[int, list[HeldBy]]:
    """Map submissions to the rules that hold them, without those that compare with other entrants' kernels.

    Of a screened result these are its findings while it does not stand; of others, what would hold it in mode ranked.
    """
    found: dict[int, list[HeldBy]] = defaultdict(list)
    unscreened = {one.pk: one.attempt.submission_id for one in results if one.loaded and is_unscreened(one)}
    for pk, held in held_alone([one for one in results if one.pk in unscreened]).items():
        found[unscreened[pk]] = [_held_by_one(one) for one in held]
    stopped = {one.pk: one.attempt.submission_id for one in results if statuses[one.attempt.submission_id].review}
    for finding in Finding.objects.filter(result__in=list(stopped)).exclude(rule__in=OF_OTHERS):
        found[stopped[finding.result_id]].append(_held_by_one(finding))
    return found


def _held_by_one(found: Evidence | Finding) -> HeldBy:
    return HeldBy(
        rule=found.rule,
        case=found.figures.get("case") or "",
        value=found.figures.get("value"),
        threshold=found.threshold,
        sentence=found.sentence,
    )


def _last_message(submission: Submission) -> str:
    events = AttemptEvent.objects.since(submission.created_at).filter(submission=submission).exclude(message="")
    last = events.order_by("-id").first()
    return last.message if last else ""
