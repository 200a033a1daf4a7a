"""Tags of pages about people: addresses of entrants and boards, unread messages, factors.

An address never contains a name that its page does not show.
"""

from typing import Any, Final
from urllib.parse import quote

from django import template
from django.template.context import RequestContext
from django.utils import timezone

from leaderboard.competitions.models import PUBLIC, Board, Competition
from leaderboard.entrants.closing import GONE
from leaderboard.entrants.models import Entrant
from leaderboard.inbox import tell

register = template.Library()
ERASED: Final = GONE.format("")


@register.simple_tag
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


@register.simple_tag
def board_url(board: Board) -> str:
    return f"/boards/{board.slug}/{quote(board.hardware, safe='')}"


@register.simple_tag(takes_context=True)
def unread_messages(context: RequestContext) -> int:
    """Return the number of the user's unread messages. One query; a page without a request asks no database."""
    request: Any = context.get("request")
    user: Any = context.get("user")
    return tell.unread(user, request.path, timezone.now()) if request and user and user.is_authenticated else 0


@register.filter
def times(factor: float) -> str:
    """Format a factor: 1.25×."""
    return f"{factor:.3f}×"
