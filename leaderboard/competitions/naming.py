"""Board names: unique on the whole site, although public sets share names (sort, matmul), and clones too.

Acts that give names run one at a time until their transactions end. Otherwise two concurrent acts could both find a
name free.
"""

from __future__ import annotations

from typing import Final

from django.db import connection

from leaderboard.competitions.checks import MAX_SLUG_CHARS
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError

LOCK: Final = 0x70686F74  # PostgreSQL's advisory lock for names: an arbitrary number, unused elsewhere


def lock_names() -> None:
    """Lock board names, before any lock that a concurrent naming act could wait for. Repeated calls are allowed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def free_slug(competition: Competition, wanted: str) -> str:
    """Return `wanted` if no other competition has it, else `wanted` with the competition's name appended.

    The result is the same each time.
    """
    lock_names()
    if not _is_elsewhere(competition, wanted):
        return wanted
    slug = f"{wanted}-{competition.slug}"[:MAX_SLUG_CHARS].rstrip("-")
    if _is_elsewhere(competition, slug):
        raise UserError("name", wanted, f"other competitions have boards {wanted} and {slug}; rename it")
    return slug


def _is_elsewhere(competition: Competition, slug: str) -> bool:
    return Board.objects.filter(slug=slug).exclude(competition=competition).exists()
