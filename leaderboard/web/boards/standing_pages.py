"""The standing over a competition's boards."""

from __future__ import annotations

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import has_role
from leaderboard.web.boards import overall


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    given = request.GET
    stage, start = given.get("stage"), given.get("from", "0")
    if stage not in (None, *Stage) or not re.fullmatch(r"[0-9]{1,6}", start):
        raise Http404
    shown = overall.show(
        slug,
        request.user,
        timezone.now(),
        hardware=given.get("hardware", ""),
        scoring=given.get("scoring", ""),
        stage=Stage(stage) if stage else None,
        wants_full="public" not in given,
        start=int(start),
    )
    if shown is None:
        raise Http404
    context = {
        "shown": shown,
        "scorings": overall.SAID,
        "said": overall.SAID[shown.standing.scoring],
        "explained": overall.EXPLAINED[shown.standing.scoring],
        "is_owner": has_role(request.user, shown.competition, Role.OWNER),
    }
    return render(request, "web/standings.html", context)
