"""Change a password. The form has checked the old and the new password (web/forms.py)."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from leaderboard.accounts.models import User
from leaderboard.audit.record import record


@transaction.atomic
def change_password(*, login: User, account: User, password: str, now: datetime) -> User:
    """Change the password of `login`, which is the account or linked to it; return the updated account.

    All sessions of the account end; its API tokens stay.
    """
    held = User.objects.select_for_update(no_key=True).get(pk=login.pk)
    held.set_password(password)
    held.save(update_fields=["password"])
    User.objects.filter(pk=account.pk).update(session_generation=F("session_generation") + 1)
    record(act="change_password", target=login, actor=account, reason="", now=now)
    return User.objects.get(pk=account.pk)
