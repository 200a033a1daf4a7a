"""`Idempotency-Key`: a submission that is sent twice is taken once, and both senders get the same answer.

The key and the submission commit together. Of two requests at once, the second waits for the first at the unique index.
A refused submission leaves no key and may be sent again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from django.db import transaction

from leaderboard.errors import UserError
from leaderboard.web.models import KeyedAnswer

HEADER: Final = "Idempotency-Key"
KEPT: Final = timedelta(hours=24)
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


@transaction.atomic
def answer_once(
    *, account_id: int, key: str, sent: dict[str, Any], now: datetime, act: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], bool]:
    """Return the answer for this key, and whether it is a repeated answer.

    The answer is that of `act`, or the answer that this key had within a day. Raises UserError for a key that is
    malformed or was used for another submission.
    """
    if not _KEY.fullmatch(key):
        raise UserError(HEADER, key, "expected 1 to 255 visible ASCII characters, such as a UUID")
    KeyedAnswer.objects.filter(created_at__lt=now - KEPT).delete()
    plain = {name: sha256(value).hexdigest() if isinstance(value, bytes) else value for name, value in sent.items()}
    digest = sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    row = KeyedAnswer(account_id=account_id, key=key, digest=digest, created_at=now)
    KeyedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    kept = KeyedAnswer.objects.select_for_update().get(account_id=account_id, key=key)
    if kept.digest != digest:
        problem = "was used for another submission within the last 24 hours; send a new key with each submission"
        raise UserError(HEADER, key, problem, status=409)
    if kept.answer:
        return kept.answer, True
    kept.answer = act()
    kept.save(update_fields=["answer"])
    return kept.answer, False
