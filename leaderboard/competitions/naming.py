"""Names of boards are unique on the whole site; public sets share names (sort, matmul), and so do clones.

One act at a time gives names, until its transaction ends: two that looked at once would both find a name free.
"""

from __future__ import annotations

from typing import Final

from django.db import connection

from leaderboard.competitions.checks import MAX_SLUG_CHARS
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError

LOCK: Final = 0x70686F74  # PostgreSQL's advisory lock for this: any number that nothing else takes


def lock_names() -> None:
    """Before anything else is locked that another act which gives names could wait for. May be called again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def free_slug(competition: Competition, wanted: str) -> str:
    """`wanted` where no other competition has it, else with the competition's name behind it: each time the same."""
    lock_names()
    if not _is_elsewhere(competition, wanted):
        return wanted
    slug = f"{wanted}-{competition.slug}"[:MAX_SLUG_CHARS].rstrip("-")
    if _is_elsewhere(competition, slug):
        raise UserError("name", wanted, f"other competitions have boards {wanted} and {slug}; rename it")
    return slug


def _is_elsewhere(competition: Competition, slug: str) -> bool:
    return Board.objects.filter(slug=slug).exclude(competition=competition).exists()
