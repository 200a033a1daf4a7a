"""Messages about a single submission: its verdict, and acts of review on it. Reports of posts to moderators."""

from datetime import datetime
from typing import Final
from urllib.parse import quote

from django.db import transaction

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.models import Row
from leaderboard.audit.record import record
from leaderboard.discussion.acts import is_open, is_own
from leaderboard.discussion.models import Post
from leaderboard.errors import UserError
from leaderboard.inbox.models import REVIEW, VERDICT
from leaderboard.inbox.tell import tell, tell_organisers
from leaderboard.judging.models import Result
from leaderboard.review.case import states
from leaderboard.review.models import Case
from leaderboard.review.standing import UNDER_REVIEW, may_stand, reviews_of
from leaderboard.submissions.models import Submission
from leaderboard.wording import figures
from leaderboard.wording.outcomes import verdict

REPORT: Final = "report_post"
SAID: Final = {  # state of a case, in words for the owner
    states.WAITING: "Under review",
    states.ASKED: "A reviewer has a question",
    states.CLEARED: "Cleared",
    states.REJECTED: "Rejected",
    states.NOT_HELD: "No longer under review",
}


def tell_verdict(result: Result, now: datetime) -> None:
    """Write to the sender about a verdict. A spoiled try that is repeated is no verdict yet.

    If the result does not stand, the owner of an agent can act, and gets the message as well. The caller has locked
    the attempt.
    """
    attempt, submission = result.attempt, result.attempt.submission
    if not attempt.is_current:
        return
    title = verdict(result.outcome, result.reason).title
    if reviews_of([attempt.pk]).get(attempt.pk) == UNDER_REVIEW:
        title = f"{title}, under review"
        tell_held(submission, now)
    people = [submission.owner.account_id]
    if not may_stand(result):
        people.append(submission.owner.person.pk)
    speed = f" {figures.speedup(result.ratio)} as fast as the baseline." if result.ratio is not None else ""
    tell(
        people,
        VERDICT,
        subject=f"board:{submission.board_id}",
        title=f"{title}: {place_of(submission)}",
        text=f"Submission {submission.pk}, {submission.mode}.{speed}",
        url=f"/submissions/{submission.pk}",
        now=now,
    )


def tell_review(result: Result, now: datetime) -> None:
    """Write to the sender about the state of a result's case after an act on it, if the state concerns them.

    The owner of an agent gets the message as well.
    """
    state = Case.objects.filter(result=result).values_list("state", flat=True).first()
    submission = result.attempt.submission
    if state not in SAID:
        return
    if state == states.WAITING:
        tell_held(submission, now)
    tell(
        [submission.owner.account_id, submission.owner.person.pk],
        REVIEW,
        subject=f"submission:{submission.pk}",
        title=f"{SAID[state]}: {place_of(submission)}",
        text=f"Submission {submission.pk}. Its page has the reason and what you can do.",
        url=f"/submissions/{submission.pk}",
        now=now,
    )


def tell_held(submission: Submission, now: datetime) -> None:
    """Write to organisers that a result waits for review. All results of a competition share an unread message."""
    competition = submission.board.competition
    subject = f"held:{competition.pk}"
    title, text = "a result waits for review", f"Submission {submission.pk}, {place_of(submission)}."
    tell_organisers(competition, subject=subject, title=title, text=text, url="/review", now=now)


@transaction.atomic
def report_post(*, post: Post, actor: User, reason: str, now: datetime) -> None:
    """Ask the organisers to look at a post. Its author does not learn of it, and a person reports a post once."""
    reason = reason.strip()
    check_reason(reason)
    if not is_open(post.board, now):
        raise UserError("post", post.pk, "nobody sees it now", 409, "discussion_closed")
    if is_own(actor, post):
        raise UserError("post", post.pk, "it is yours; remove it instead", status=409)
    known = Row.objects.filter(act=REPORT, object_type=post._meta.label_lower, object_id=str(post.pk))
    if known.filter(actor__in=logins_of(actor)).exists():
        raise UserError("post", post.pk, "you reported it already", 409, "already_reported")
    record(REPORT, post, actor=actor, reason=reason, now=now)
    board = post.board
    url = f"/boards/{board.slug}/{quote(board.hardware, safe='')}/discussion"
    title = f"a post on {board.title}, {board.hardware}, is reported"
    tell_organisers(board.competition, subject=f"post:{post.pk}", title=title, text=reason, url=url, now=now)


def place_of(submission: Submission) -> str:
    return f"{submission.board.title} on {submission.board.hardware}"
