"""The public page of a competition that says what review came to, in numbers that name nobody."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.visible import boards_seen_by, competitions_seen_by
from leaderboard.review.integrity import LEAST, OTHERS, Integrity, Outcomes, integrity
from leaderboard.review.thresholds import RULES

MEANINGS = {
    OTHERS: "rules that held fewer than five results each",
    "by_hand": "a reviewer held it, of their own accord or after a complaint",
    "rejected_before": "an earlier result of the same kernel had been rejected",
    "held_before": "an earlier result of the same kernel was held, for what no rule measures",
    "record_failed": "it failed when its first place was confirmed on fresh seeds",
}


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    boards = boards_seen_by(request.user).filter(competition=competition)
    found = integrity(competition, boards, timezone.now())
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
    return {"rule": one.rule, "meaning": _meaning(one.rule), **numbers}


def _meaning(rule: str) -> str:
    return MEANINGS.get(rule) or (RULES[rule].meaning if rule in RULES else "")


def _said(number: int, found: Integrity) -> str:
    return f"{number:,}" if found.is_exact or number >= LEAST else f"< {LEAST}"
