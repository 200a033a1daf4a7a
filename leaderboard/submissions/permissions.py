"""Permission to publish a submission's code early or take its line off a board."""

from __future__ import annotations

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.entrants.checks import members_of
from leaderboard.submissions.models import Submission


def may_dispose(user: User, submission: Submission) -> bool:
    """Return whether `user` sent it, by any login of the account; for a team, only while still a member.

    A submission for a team belongs to the team.
    """
    if not user.is_active or submission.owner.account_id != user.account_id:
        return False
    entrant = submission.entrant
    return not entrant.is_team or members_of(entrant).filter(user__in=logins_of(user)).exists()
