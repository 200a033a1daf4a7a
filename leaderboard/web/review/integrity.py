"""Results of review in a competition, as page and API show them: numbers without names."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by
from leaderboard.review.integrity import LEAST, OTHERS, Integrity, integrity
from leaderboard.review.rules.thresholds import RULES

MEANINGS: Final = {name: rule.meaning for name, rule in RULES.items()} | {
    OTHERS: "all rules that held fewer than five results each",
    "by_hand": "a reviewer held it, for example after a complaint",
    "rejected_before": "an earlier result of the same kernel had been rejected",
    "held_before": "an earlier result of the same kernel was held for a reason that no rule measures",
    "kernel_rejected": "another run of the same kernel was rejected",
    "record_failed": "its first place was not confirmed on fresh seeds",
}


def figures(slug: str, viewer: Viewer, now: datetime) -> tuple[Competition, Integrity]:
    """Return the figures. Raises Http404 for an unknown competition and for a hidden one."""
    competition = get_object_or_404(competitions_seen_by(viewer), slug=slug)
    return competition, integrity(competition, boards_seen_by(viewer).filter(competition=competition), now)


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    competition, found = figures(slug, request.user, timezone.now())

    def shown(number: int) -> str:
        told = found.told(number)
        return f"< {LEAST}" if told is None else f"{told:,}"

    def row(outcomes: Any) -> dict[str, str]:
        return {name: shown(getattr(outcomes, name)) for name in ("held", "cleared", "rejected", "waiting", "again")}

    context = {
        "competition": competition,
        "found": found,
        "rules": [row(one) | {"rule": one.rule, "meaning": MEANINGS.get(one.rule, "")} for one in found.rules],
        "total": row(found.total),
        "by_itself": row(found.by_itself),
        "appeals": {"made": shown(found.appeals), "granted": shown(found.granted), "upheld": shown(found.upheld)},
        "rejudged": shown(found.rejudged),
    }
    return render(request, "web/integrity.html", context)
