"""Review as the owner of a submission sees it: dates, expected wait, a question, a reason, an appeal.

Never the reviewers' names, their internal notes or the rule that held it: the aims of a rule are for reviewers only.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from leaderboard.accounts.models import User
from leaderboard.judging.verdicts import judged_since
from leaderboard.review import permissions
from leaderboard.review.case import log, states
from leaderboard.review.case.acts import REASONS, appeal_until
from leaderboard.review.models import Case, Decision
from leaderboard.review.standing import median_wait
from leaderboard.review.suspension import suspensions_of
from leaderboard.submissions.models import Submission
from leaderboard.web.review.acts import OwnerForm


def for_owner(submission: Submission, viewer: User, now: datetime, form: OwnerForm | None = None) -> dict[str, Any]:
    """Return the template context; without a case, only suspensions. `case_link`: the case's page for reviewers."""
    row = case_of(submission)
    suspensions = {"suspensions": suspensions_of(submission.owner, submission.board.competition)}
    if row is None:
        return suspensions
    lines = list(Decision.objects.filter(result=row.result_id).order_by("id"))
    plain = [log.plain(line) for line in lines]
    standing = log.standing_of(row, plain)
    by_id: dict[int | None, Decision] = {line.pk: line for line in lines}
    rejection, appeal = by_id.get(standing.rejection), by_id.get(standing.appeal)
    kept = {line.id for line in states.standing_rows(plain)}
    answers = [line for line in lines if line.act == states.UPHOLD and line.about_id == standing.appeal]
    until = appeal_until(row, standing)
    may_appeal = until is not None and until > now
    is_party = permissions.is_party(viewer, submission)
    form = form or OwnerForm(auto_id="review_%s")
    return suspensions | {
        "review_case": row,
        "review_state": standing.state,
        "is_overturned": row.origin == Case.BY_ITSELF and not standing.is_by_itself,
        "median_wait": median_wait(submission.board.competition, now) if standing.state in states.HELD else None,
        "question": by_id.get(standing.question),
        "rejection": rejection,
        "rejection_code": REASONS.get(rejection.code, "") if rejection else "",
        "appeal": appeal,
        "appeal_answer": next((line for line in reversed(answers) if appeal and line.pk in kept), None),
        "appeal_until": until if may_appeal else None,
        "may_answer": is_party and standing.question in by_id,
        "may_appeal": is_party and may_appeal,
        "review_form": form,
        "case_link": f"/review/{row.pk}" if permissions.cases_for(viewer).filter(pk=row.pk).exists() else "",
    }


def case_of(submission: Submission) -> Case | None:
    """Return the case of the current result."""
    cases = Case.objects.filter(~judged_since("result__attempt"), result__attempt__submission=submission)
    return cases.select_related("board").order_by("-result").first()
