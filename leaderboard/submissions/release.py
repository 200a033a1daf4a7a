"""Early publication of a submission's code by its owner. It cannot be taken back, and the site warns of this."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.submissions.models import CodeRelease, Submission
from leaderboard.submissions.permissions import may_dispose


@transaction.atomic
def release_code(*, submission: Submission, actor: User, now: datetime) -> bool:
    """Publish the code; return False if it was published already."""
    if not may_dispose(actor, submission):
        raise UserError("actor", actor.get_username(), "only its owner may publish a submission's code", status=403)
    _, is_new = CodeRelease.objects.get_or_create(submission=submission, defaults={"actor": actor, "created_at": now})
    if is_new:
        record(act="release_code", target=submission, actor=actor, reason="its owner's wish", now=now)
    return is_new
