"""Filters and tags of the templates: figures, text, the page a link stands on."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from django import template
from django.template.context import RequestContext
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from leaderboard.web import figures, markup

IMPORT_CHIPS: Final = {"created": "good", "updated": "good", "unsupported": "warn", "refused": "bad"}

register = template.Library()
register.filter("duration_us", figures.duration_us)
register.filter("speedup", figures.speedup)
register.filter("interval", figures.interval)
register.filter("share", figures.share)
register.filter("percent", figures.percent)
register.filter("markdown", markup.markdown)
register.filter("highlight", markup.code)


@register.filter
def when(moment: dt.datetime | None) -> SafeString:
    """A `<time>` that says how long ago; the exact moment is in its title."""
    if moment is None:
        return SafeString("–")
    utc = moment.astimezone(dt.UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        utc.isoformat(timespec="seconds"),
        utc.strftime("%Y-%m-%d %H:%M:%S UTC"),
        figures.ago(utc, timezone.now()),
    )


@register.filter
def moment(value: dt.datetime) -> SafeString:
    """A `<time>` with date and minute in UTC."""
    utc = value.astimezone(dt.UTC)
    return format_html(
        '<time datetime="{}">{}</time>', utc.isoformat(timespec="seconds"), utc.strftime("%-d %b %Y, %H:%M UTC")
    )


@register.filter
def general(value: float) -> str:
    """Short for very small numbers: 1e-09."""
    return f"{value:g}"


@register.simple_tag(takes_context=True)
def current(context: RequestContext, prefix: str) -> SafeString:
    """`aria-current` for a link of the navigation whose section this page is in."""
    request: Any = context.get("request")
    return SafeString('aria-current="page"' if request and request.path.startswith(prefix) else "")


@register.simple_tag
def chip(status: str) -> str:
    """The class of the chip that says what an import did with a problem."""
    return IMPORT_CHIPS.get(status, "")
