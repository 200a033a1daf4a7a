"""Pure: may this owner send one more now?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from leaderboard.errors import RateLimited

WINDOW: Final = timedelta(hours=1)
RETRY_UNFINISHED_S: Final = 30


@dataclass(frozen=True)
class Usage:
    recent: Sequence[datetime]  # submissions of the last WINDOW that count, oldest first
    unfinished: int  # queued or running


def check_quota(usage: Usage, *, per_hour: int, unfinished_at_once: int, now: datetime) -> None:
    if usage.unfinished >= unfinished_at_once:
        raise RateLimited(
            "submission",
            usage.unfinished,
            f"{usage.unfinished} of your submissions wait or run; at most {unfinished_at_once} may at once, "
            "so wait for one to finish",
            retry_after_s=RETRY_UNFINISHED_S,
        )
    if len(usage.recent) >= per_hour:
        free_at = usage.recent[len(usage.recent) - per_hour] + WINDOW
        wait_s = max(1, math.ceil((free_at - now).total_seconds()))
        raise RateLimited(
            "submission",
            len(usage.recent),
            f"{len(usage.recent)} submissions in the last hour; at most {per_hour}; try again in {wait_s} s",
            retry_after_s=wait_s,
        )
