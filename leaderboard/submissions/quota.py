"""Pure: may this owner send another submission now?

There are two kinds of limit. Outer limits hold over all submissions of an owner: a number in any hour, and a number
unfinished; the candidates of batches are counted apart, with larger limits. A quota is a bucket of tokens for each
board and mode: one token per submission, refilled evenly through the day. The level of a bucket is never stored. It is
found by replaying the tokens spent and given back (submissions/ledger.py keeps them).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from leaderboard.errors import RateLimited, UserError

WINDOW: Final = timedelta(hours=1)
RETRY_UNFINISHED_S: Final = 30
DAY: Final = timedelta(days=1)
MOST: Final = 10_000  # tokens in a bucket, and per day


@dataclass(frozen=True)
class Usage:
    recent: Sequence[datetime]  # counted submissions of the last WINDOW, oldest first
    unfinished: int  # queued or running, for the first time


@dataclass(frozen=True)
class Bucket:
    """A quota of at most `capacity` tokens that refills evenly, with `per_day` tokens a day."""

    capacity: int
    per_day: int

    @property
    def period(self) -> timedelta:
        """Return the time in which one token comes back."""
        return DAY / self.per_day

    @property
    def full(self) -> timedelta:
        return self.capacity * self.period


USUAL: Final[Mapping[str, Bucket]] = {  # by mode, on each board
    "ranked": Bucket(12, 12),
    "profile": Bucket(24, 24),
    "benchmark": Bucket(48, 48),
    "test": Bucket(192, 192),
}


class Movement(NamedTuple):
    """Tokens spent (below zero) or given back (above) at a moment."""

    at: datetime
    tokens: int


@dataclass(frozen=True)
class Level:
    """Level of a bucket at a moment, as the time spent on refilling: exact, where tokens would round."""

    bucket: Bucket
    filled: timedelta
    at: datetime

    @property
    def left(self) -> int:
        return self.filled // self.bucket.period

    @property
    def next_at(self) -> datetime | None:
        """Return the time of the next new token; None if the bucket is full."""
        period = self.bucket.period
        return None if self.filled >= self.bucket.full else self.at + period - self.filled % period


def level_at(bucket: Bucket, movements: Iterable[Movement], now: datetime, *, opening: Level | None = None) -> Level:
    """Return the level of a bucket that was full before the first movement, or had the level `opening`.

    The order of the movements does not matter. Movements of the same moment are added up first. A movement that lies in
    the future by another machine's clock counts as of now.
    """
    full, period = bucket.full, bucket.period
    filled, before = (min(opening.filled, full), min(opening.at, now)) if opening else (full, None)
    ordered = sorted((min(at, now), tokens) for at, tokens in movements)
    for at, together in groupby(ordered, key=itemgetter(0)):
        passed = max(at - before, timedelta()) if before else timedelta()
        before = max(at, before) if before else at
        tokens = sum(count for _, count in together)
        filled = max(timedelta(), min(full, min(full, filled + passed) + tokens * period))
    return Level(bucket, min(full, filled + (now - before)) if before else full, now)


def check_bucket(level: Level, *, mode: str, board: str, now: datetime, wanted: int = 1) -> None:
    """Raise RateLimited if fewer tokens are left than a batch wants. `board` is the name for the message."""
    capacity, free_at = level.bucket.capacity, level.next_at
    if wanted > capacity:
        text = f"{wanted} candidates to {board} are more than the {capacity} {mode} submissions that can be saved up "
        raise UserError("candidates", wanted, f"{text}there; send at most {capacity}")
    if level.left >= wanted or free_at is None:
        return
    if wanted == 1:
        text = f"none left of your {capacity} {mode} submissions to {board}"
        text += f"; the next one comes at {free_at:%Y-%m-%d %H:%M:%S} UTC"
    else:
        free_at += (wanted - level.left - 1) * level.bucket.period
        text = f"{level.left} left of your {capacity} {mode} submissions to {board}, fewer than these {wanted} "
        text += f"candidates; enough will be there at {free_at:%Y-%m-%d %H:%M:%S} UTC"
    raise _limited("mode", mode, text, free_at - now, "quota_used_up")


def check_batch_quota(usage: Usage, *, wanted: int, per_hour: int, unfinished_at_once: int, now: datetime) -> None:
    """Raise RateLimited if a batch of this size exceeds the owner's limits for candidates, which are never below it."""
    if usage.unfinished + wanted > unfinished_at_once:
        text = f"{usage.unfinished} of your candidates wait or run, and {wanted} more exceed the {unfinished_at_once} "
        text += "that may at once; wait for some to finish, or send a smaller batch"
        code = "too_many_unfinished"
        raise RateLimited("candidates", wanted, text, retry_after_s=RETRY_UNFINISHED_S, code=code)
    over = len(usage.recent) + wanted - per_hour
    if over > 0:
        text = f"{len(usage.recent)} candidates in the last hour, and {wanted} more exceed {per_hour}"
        raise _limited("candidates", wanted, text, usage.recent[over - 1] + WINDOW - now)


def check_quota(usage: Usage, *, per_hour: int, unfinished_at_once: int, now: datetime) -> None:
    count = len(usage.recent)
    if usage.unfinished >= unfinished_at_once:
        text = f"{usage.unfinished} of your submissions wait or run; at most {unfinished_at_once} may at once, "
        text += "so wait for one to finish"
        code = "too_many_unfinished"
        raise RateLimited("submission", usage.unfinished, text, retry_after_s=RETRY_UNFINISHED_S, code=code)
    if count >= per_hour:
        text = f"{count} submissions in the last hour; at most {per_hour}"
        raise _limited("submission", count, text, usage.recent[count - per_hour] + WINDOW - now)


def _limited(field: str, value: object, text: str, wait: timedelta, code: str = "") -> RateLimited:
    wait_s = max(1, math.ceil(wait.total_seconds()))
    return RateLimited(field, value, f"{text}; try again in {wait_s} s", retry_after_s=wait_s, code=code)


def parse_quotas(value: object) -> dict[str, Bucket]:
    """Return a competition's quotas by mode: USUAL, except for the modes in `value`.

    Raise UserError that names the wrong part.

    {"ranked": 5}                                  5 at once, and 5 a day
    {"ranked": {"capacity": 20, "per_day": 5}}     20 at once, then 5 a day
    """
    if not isinstance(value, Mapping):
        raise UserError("quotas", value, 'expected an object such as {"ranked": 5}')
    for mode in value:
        if mode not in USUAL:
            raise UserError("quotas", mode, f"no such mode; there are {', '.join(USUAL)}")
    quotas = dict(USUAL)
    for mode, given in value.items():
        name = f"quotas.{mode}"
        if not isinstance(given, Mapping):
            quotas[mode] = Bucket(_whole(name, given), _whole(name, given))
            continue
        unknown = sorted(map(str, set(given) - {"capacity", "per_day"}))
        if unknown or len(given) != 2:
            raise UserError(name, ", ".join(unknown), 'expected "capacity" and "per_day", and nothing else')
        quotas[mode] = Bucket(**{part: _whole(f"{name}.{part}", given[part]) for part in ("capacity", "per_day")})
    return quotas


def unusual(quotas: Mapping[str, Bucket]) -> dict[str, dict[str, int]]:
    """Return the input for parse_quotas that gives these quotas: only the modes that differ from USUAL."""
    return {mode: asdict(bucket) for mode, bucket in quotas.items() if bucket != USUAL[mode]}


def _whole(name: str, given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST:
        raise UserError(name, given, f"expected a whole number from 1 to {MOST:,}")
    return given
