"""A competition's public page of review results."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.review.integrity import LEAST, Integrity, Outcomes
from leaderboard.web.review.integrity import meaning, show


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    shown = show(slug, request.user, timezone.now())
    if shown is None:
        raise Http404
    competition, found = shown
    context = {
        "competition": competition,
        "found": found,
        "rules": [_row(one, found) for one in found.rules],
        "total": _row(found.total, found),
        "by_itself": _row(found.by_itself, found),
        "appeals": [
            (name, _said(number, found))
            for name, number in (("made", found.appeals), ("granted", found.granted), ("upheld", found.upheld))
        ],
        "rejudged": _said(found.rejudged, found),
    }
    return render(request, "web/integrity.html", context)


def _row(one: Outcomes, found: Integrity) -> dict[str, Any]:
    numbers = {name: _said(getattr(one, name), found) for name in ("held", "cleared", "rejected", "waiting", "again")}
    return {"rule": one.rule, "meaning": meaning(one.rule), **numbers}


def _said(number: int, found: Integrity) -> str:
    told = found.told(number)
    return f"< {LEAST}" if told is None else f"{told:,}"
