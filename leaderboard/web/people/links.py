"""Addresses of people and entrants. An address never contains a name that the page does not show."""

from typing import Final
from urllib.parse import quote

from leaderboard.competitions.models import PUBLIC, Board, Competition
from leaderboard.entrants.closing import GONE
from leaderboard.entrants.models import Entrant

ERASED: Final = GONE.format("")


def entrant_url(entrant: Entrant, competition: Competition) -> str:
    """Return the page of a name on a board: the person's profile, or the entrant's own page.

    Teams and pseudonyms have a page within their competition. So have people in an unlisted or closed competition,
    because a profile shows listed competitions only.
    """
    is_hidden = bool(entrant.pseudonym) and entrant.revealed_at is None
    name = entrant.pseudonym or entrant.name
    if is_hidden or entrant.is_team or competition.visibility != PUBLIC or name.startswith(ERASED):
        return f"/competitions/{competition.slug}/entrants/{quote(name, safe='')}"
    return f"/people/{quote(entrant.name, safe='')}"


def board_url(board: Board) -> str:
    return f"/boards/{board.slug}/{quote(board.hardware, safe='')}"
