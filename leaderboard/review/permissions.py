"""Who may look at a case, who may decide on it, and who speaks for its owner."""

from __future__ import annotations

from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import check_role, has_role
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.models import Case
from leaderboard.submissions.models import Submission


def has_conflict(user: User, submission: Submission) -> bool:
    """The owner and everybody who is or was in their team, by any login: they may never decide."""
    if submission.owner.account_id == user.account_id:
        return True
    return Membership.objects.filter(entrant_id=submission.entrant_id, user__in=logins_of(user)).exists()


def may_review(user: User, submission: Submission) -> bool:
    return has_role(user, submission.board.competition, Role.REVIEWER) and not has_conflict(user, submission)


def check_reviewer(actor: User, submission: Submission, act: str) -> None:
    """Raises UserError (403)."""
    check_role(actor, submission.board.competition, Role.REVIEWER, act)
    if has_conflict(actor, submission):
        raise UserError("actor", actor.get_username(), f"may not {act}: it is their own or their team's", status=403)


def is_party(user: User, submission: Submission) -> bool:
    """Its owner, or who is in the entrant now."""
    if submission.owner.account_id == user.account_id:
        return True
    mates = Membership.objects.filter(entrant_id=submission.entrant_id, user__in=logins_of(user))
    return mates.filter(left_at__isnull=True).exists()


def check_party(actor: User, submission: Submission, act: str) -> None:
    """Raises UserError (403)."""
    if not is_party(actor, submission):
        raise UserError("actor", actor.get_username(), f"only the owner of a submission may {act}", status=403)


def cases_for(user: User) -> QuerySet[Case]:
    """What this person may look at as a reviewer or viewer: never their own, never their team's."""
    teams = Membership.objects.filter(user__in=logins_of(user)).values("entrant")
    # From their side, which is few, each by its own index: else the submission of every case is looked up for this.
    by_them = Result.objects.filter(attempt__submission__owner__in=logins_of(user)).values("pk")
    by_their_teams = Result.objects.filter(attempt__submission__entrant__in=teams).values("pk")
    cases = Case.objects.exclude(result__in=by_them).exclude(result__in=by_their_teams)
    if user.is_staff or user.is_superuser:
        return cases
    return cases.filter(board__competition__in=Role.objects.filter(user=user).values("competition"))


def may_suspend_somewhere(user: User) -> bool:
    return user.is_staff or Role.objects.filter(user=user, role=Role.OWNER).exists()


def is_reviewer_anywhere(user: User) -> bool:
    """Whether there is a queue to show this person at all."""
    return user.is_staff or user.is_superuser or Role.objects.filter(user=user).exists()
