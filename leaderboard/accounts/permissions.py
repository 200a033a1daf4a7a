"""Checks for acts of organisers: permission, and a written reason."""

from typing import Final

from leaderboard.accounts.models import User
from leaderboard.errors import UserError

MAX_REASON_CHARS: Final = 2_000


def check_staff(actor: User, act: str) -> None:
    if not (actor.is_active and (actor.is_staff or actor.is_superuser)):
        raise UserError("actor", actor.get_username(), f"only an organiser may {act}", status=403)


def check_reason(reason: str) -> None:
    if not reason.strip() or len(reason) > MAX_REASON_CHARS or "\x00" in reason:
        raise UserError("reason", reason, f"say why, in 1 to {MAX_REASON_CHARS:,} characters")
