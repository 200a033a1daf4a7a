"""Tags of pages about people: addresses of entrants and boards, factors."""

from django import template

from leaderboard.web.people import links

register = template.Library()
register.simple_tag(links.entrant_url, name="entrant_url")
register.simple_tag(links.board_url, name="board_url")


@register.filter
def times(factor: float) -> str:
    """Format a factor: 1.25×."""
    return f"{factor:.3f}×"
