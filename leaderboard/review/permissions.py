"""Permissions to see a case, to decide on it, and to speak for its owner."""

from typing import Any

from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_and_agents
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import check_role, has_role
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.models import Case
from leaderboard.submissions.models import Submission


def has_conflict(user: User, submission: Submission) -> bool:
    """Return whether the user may never decide: the owner and all present and former team members.

    Any login counts, and so does an agent: it is its owner's.
    """
    if submission.owner.person == user.person:
        return True
    own = logins_and_agents([user.person.pk])
    return Membership.objects.filter(entrant_id=submission.entrant_id, user__in=own).exists()


def may_review(user: User, submission: Submission) -> bool:
    return has_role(user, submission.board.competition, Role.REVIEWER) and not has_conflict(user, submission)


def check_reviewer(actor: User, submission: Submission, act: str) -> None:
    """Check that the actor may review this submission. Raises UserError (403)."""
    check_role(actor, submission.board.competition, Role.REVIEWER, act)
    if has_conflict(actor, submission):
        raise UserError("actor", actor.get_username(), f"may not {act}: it is their own or their team's", status=403)


def is_party(user: User, submission: Submission) -> bool:
    """Return whether the user or their agent is the owner or a current member of the entrant."""
    if user.account in (submission.owner.account, submission.owner.person):
        return True
    own = logins_and_agents([user.account_id])
    return Membership.objects.filter(entrant_id=submission.entrant_id, user__in=own, left_at=None).exists()


def check_party(actor: User, submission: Submission, act: str) -> None:
    """Check that the actor may speak for the owner. Raises UserError (403)."""
    if not is_party(actor, submission):
        raise UserError("actor", actor.get_username(), f"only the owner of a submission may {act}", status=403)


def cases_for(user: User) -> QuerySet[Case]:
    """Return the cases that this person may see as a reviewer or viewer."""
    cases = without_conflicts(Case.objects.all(), user)
    if user.is_staff or user.is_superuser:
        return cases
    return cases.filter(board__competition__in=Role.objects.filter(user=user).values("competition"))


def without_conflicts(rows: QuerySet[Any], user: User) -> QuerySet[Any]:
    """Return the rows whose `result` the user may decide on: has_conflict for many."""
    own = logins_and_agents([user.person.pk])
    teams = Membership.objects.filter(user__in=own).values("entrant")
    # Start from the user's few results, each by its own index: otherwise the query looks up every row's submission.
    by_them = Result.objects.filter(attempt__submission__owner__in=own).values("pk")
    by_their_teams = Result.objects.filter(attempt__submission__entrant__in=teams).values("pk")
    return rows.exclude(result__in=by_them).exclude(result__in=by_their_teams)


def may_suspend_somewhere(user: User) -> bool:
    return user.is_staff or Role.objects.filter(user=user, role=Role.OWNER).exists()


def is_reviewer_anywhere(user: User) -> bool:
    """Return whether this person has any queue to see."""
    return user.is_staff or user.is_superuser or Role.objects.filter(user=user).exists()
