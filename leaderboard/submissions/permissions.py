"""Who disposes of a submission: publishes its code early, takes its line off a board."""

from __future__ import annotations

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.entrants.checks import members_of
from leaderboard.submissions.models import Submission


def may_dispose(user: User, submission: Submission) -> bool:
    """Who sent it, by any of their logins; of a team, as long as they are in it: what they sent for it is its own."""
    if not user.is_active or submission.owner.account_id != user.account_id:
        return False
    entrant = submission.entrant
    return not entrant.is_team or members_of(entrant).filter(user__in=logins_of(user)).exists()
