"""Names of boards are unique on the whole site; public sets share names (sort, matmul), and so do clones."""

from __future__ import annotations

from leaderboard.competitions.checks import MAX_SLUG_CHARS
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError


def free_slug(competition: Competition, wanted: str) -> str:
    """`wanted` where no other competition has it, else with the competition's name behind it: each time the same."""
    if not _is_elsewhere(competition, wanted):
        return wanted
    slug = f"{wanted}-{competition.slug}"[:MAX_SLUG_CHARS].rstrip("-")
    if _is_elsewhere(competition, slug):
        raise UserError("name", wanted, f"other competitions have boards {wanted} and {slug}; rename it")
    return slug


def _is_elsewhere(competition: Competition, slug: str) -> bool:
    return Board.objects.filter(slug=slug).exclude(competition=competition).exists()
