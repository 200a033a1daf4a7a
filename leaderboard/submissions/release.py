"""An owner publishes the code of a submission before everybody's is published. Cannot be taken back, and says so."""

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
    """False: it was published already."""
    if not may_dispose(actor, submission):
        raise UserError("actor", actor.get_username(), "only its owner may publish a submission's code", status=403)
    _, is_new = CodeRelease.objects.get_or_create(submission=submission, defaults={"actor": actor, "created_at": now})
    if is_new:
        record(act="release_code", target=submission, actor=actor, reason="its owner's wish", now=now)
    return is_new
