"""Filters and tags of the templates: figures, text, the current page of the navigation."""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

from django import template
from django.conf import settings
from django.forms import BaseForm, BoundField
from django.template.context import RequestContext
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from leaderboard.awards.winners import ordinal
from leaderboard.competitions.models import FAST_P, GEOMETRIC_MEAN, POINTS, PUBLIC, Board, Competition
from leaderboard.competitions.permissions import competitions_of
from leaderboard.operations import maintenance as operations
from leaderboard.operations.models import Maintenance
from leaderboard.standings.ranking.overall import OverallLine
from leaderboard.web import markup
from leaderboard.web.boards import contests
from leaderboard.web.organise.state_pages import title_of
from leaderboard.wording import figures

IMPORT_CHIPS: Final = {"created": "good", "updated": "good", "unsupported": "warn", "refused": "bad"}

register = template.Library()
for name in ("duration_us", "speedup", "times", "interval", "share", "percent", "change", "span"):
    register.filter(name, getattr(figures, name))
register.filter("markdown", markup.markdown)
register.filter("highlight", markup.code)
register.filter("ordinal", ordinal)
register.filter("epoch_title", title_of)
register.simple_tag(contests.track_said, name="track_said")
register.simple_tag(contests.prize_said, name="prize_said")


class Ranked(Protocol):
    @property
    def rank(self) -> int | None: ...
    @property
    def is_tied(self) -> bool: ...


@register.filter
def rank_number(line: Ranked) -> SafeString:
    """Render a rank, as 1= if it is shared."""
    tied = '<span aria-hidden="true">=</span><span class="visually-hidden">, tied</span>' if line.is_tied else ""
    return SafeString(f"{line.rank}{tied}")


@register.filter
def faulty(form: BaseForm) -> list[BoundField]:
    return [field for field in form if field.errors]


@register.filter
def when(moment: dt.datetime | None) -> SafeString:
    """Render a `<time>` with the relative time; the exact moment is in its title."""
    if moment is None:
        return SafeString("–")
    utc = moment.astimezone(dt.UTC)
    exact, said = f"{utc:%Y-%m-%d %H:%M:%S} UTC", figures.ago(utc, timezone.now())
    return SafeString(f'<time datetime="{utc.isoformat(timespec="seconds")}" title="{exact}">{said}</time>')


@register.filter
def moment(value: dt.datetime) -> SafeString:
    """Render a `<time>` with date and minute in UTC; site.js adds the reader's local time."""
    utc = value.astimezone(dt.UTC)
    return format_html(
        '<time datetime="{}" data-utc>{}</time>',
        utc.isoformat(timespec="seconds"),
        utc.strftime("%-d %b %Y, %H:%M UTC"),
    )


@register.filter
def phase(competition: Competition) -> contests.PhaseShown:
    """Return the competition's current phase, in words."""
    return contests.phase_shown(competition.schedule, timezone.now())


@register.filter
def span_s(seconds: float) -> str:
    """Format a duration: "5 hours"."""
    return figures.span(dt.timedelta(seconds=seconds))


@register.filter
def general(value: float) -> str:
    """Format very small numbers briefly: 1e-09."""
    return f"{value:g}"


@register.filter
def words(code: str) -> str:
    """Return a code of a report in words: "not_converged" becomes "not converged"."""
    return code.replace("_", " ")


@register.filter
def get(items: dict[str, Any] | None, name: str) -> Any:
    """Return the value of a dict at a name that only the template knows."""
    return (items or {}).get(name)


@register.simple_tag(takes_context=True)
def current(context: RequestContext, *prefixes: str, exactly: bool = False) -> SafeString:
    """Return `aria-current` for a link of the navigation whose section, or with `exactly` whose page, this page is."""
    path = context["request"].path if context.get("request") else ""
    is_current = path in prefixes if exactly else path.startswith(prefixes)
    return SafeString('aria-current="page"' if is_current else "")


@register.simple_tag
def site_url() -> str:
    """Return the address of the site, for addresses that other sites use."""
    return settings.SITE_URL


@register.inclusion_tag("web/parts/social.html", takes_context=True)
def social(
    context: RequestContext, title: str, text: str, picture: str = "", competition: Competition | None = None
) -> dict[str, Any]:
    """Render how other sites preview the page. Only pages of public competitions have a picture and are indexed."""
    is_listed = competition is None or competition.visibility == PUBLIC
    return {
        "title": title,
        "text": text,
        "is_listed": is_listed,
        "url": f"{settings.SITE_URL}{context['request'].path}" if competition else "",  # no error repeats an address
        "picture": settings.SITE_URL + (picture if picture and is_listed else "/picture.png"),
    }


@register.simple_tag(takes_context=True)
def organises(context: RequestContext) -> bool:
    """Return whether the user has access to the organisers' pages."""
    user: Any = context.get("user")
    return bool(user and (user.is_staff or competitions_of(user).exists()))


@register.simple_tag(takes_context=True)
def maintenance(context: RequestContext) -> Maintenance | None:
    """Return the current maintenance. A page without a request asks no database, which may be the fault it shows."""
    return operations.current() if context.get("request") else None


@register.simple_tag
def live(table: str, key: str, name: str, value: Any) -> SafeString:
    """Render a figure that state.js keeps up to date."""
    return format_html('<span data-live="{}">{}</span>', f"{table}/{quote(key, safe='')}/{name}", value)


@register.simple_tag
def chip(status: str) -> str:
    """Return the class of the chip for the outcome of importing a problem."""
    return IMPORT_CHIPS.get(status, "")


@register.simple_tag
def overall_score(line: OverallLine, scoring: str) -> SafeString:
    """Render an entrant's score over several boards, with its interval unless both bounds read alike."""
    say: Callable[[float], str] = {
        POINTS: lambda value: f"{value:.1f}".removesuffix(".0"),
        GEOMETRIC_MEAN: lambda value: figures.speedup(1 / value),
        FAST_P: figures.percent,
    }[scoring]
    if line.low is None or line.high is None or say(line.low) == say(line.high):
        return format_html("{}", say(line.score))
    return format_html('{} <span class="detail line">{} to {}</span>', say(line.score), say(line.low), say(line.high))


@register.simple_tag
def board_at(boards: Sequence[Board], place: int) -> str:
    """Return the title of the board of a column, for a table that folds."""
    return boards[place].title
