"""Permission to read a submission's code, to publish it early or take its line off a board; the early publication.

The publication cannot be taken back, and the site warns of this.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from leaderboard.accounts.logins import logins_and_agents, logins_of
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import Viewer, has_role
from leaderboard.entrants.models import Membership
from leaderboard.entrants.permissions import members_of
from leaderboard.errors import UserError
from leaderboard.submissions.models import CodeRelease, Submission, Takedown


def is_own(user: User) -> Q:
    """Match the submissions of this person and their agents, by any login, and of the teams that they are in now."""
    own = logins_and_agents([user.account_id])
    mine = Membership.objects.filter(user__in=own, left_at=None).values("entrant")
    return Q(owner__in=own) | Q(entrant__in=mine)


def may_dispose(user: User, submission: Submission) -> bool:
    """Return whether `user` sent it, by any login of the account; for a team, only while still a member.

    A submission for a team belongs to the team.
    """
    if not user.is_active or submission.owner.account_id != user.account_id:
        return False
    entrant = submission.entrant
    return not entrant.is_team or members_of(entrant).filter(user__in=logins_of(user)).exists()


def code_for(viewer: Viewer, submission: Submission) -> tuple[str | None, str]:
    """Return the code and the reason why it is taken down; None: not for this viewer, "": it is not taken down.

    The viewer is known to see the submission.
    """
    taken_down = Takedown.objects.filter(submission=submission).first()
    if taken_down is None:
        return submission.source, ""
    may_read = has_role(viewer, submission.board.competition, Role.REVIEWER)
    return submission.source if may_read else None, taken_down.reason


@transaction.atomic
def release_code(*, submission: Submission, actor: User, now: datetime) -> bool:
    """Publish the code; return False if it was published already."""
    if not may_dispose(actor, submission):
        raise UserError("actor", actor.get_username(), "only its owner may publish a submission's code", status=403)
    _, is_new = CodeRelease.objects.get_or_create(submission=submission, defaults={"actor": actor, "created_at": now})
    if is_new:
        record("release_code", submission, actor=actor, reason="its owner's wish", now=now)
    return is_new
