"""Tags of pages about people: addresses of entrants and boards, factors."""

from typing import Any

from django import template
from django.template.context import RequestContext
from django.utils import timezone

from leaderboard.inbox import tell
from leaderboard.web.people import links

register = template.Library()
register.simple_tag(links.entrant_url, name="entrant_url")
register.simple_tag(links.board_url, name="board_url")


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
