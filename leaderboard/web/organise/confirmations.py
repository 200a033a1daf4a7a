"""A competition's confirmations with candidate, cause (record or award) and result.

Undecided confirmations are asked for again, or closed.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.confirmations import models as confirmations
from leaderboard.confirmations.models import Confirmation, Found
from leaderboard.entrants.models import Membership
from leaderboard.judging.work import AT_WORK, ERROR
from leaderboard.review.case.acts import ask_again, close_confirmation, unsettled
from leaderboard.review.permissions import has_conflict
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.gate import Act, competition_page, press, shell
from leaderboard.wording.figures import THIN

MOST: Final = 200  # on one page
OUTCOMES: Final = {
    confirmations.CONFIRMED: ("confirmed", "good"),
    confirmations.REFUSED: ("no lead shown", "warn"),
    confirmations.FAILED: ("failed on fresh seeds", "bad"),
    confirmations.HELD: ("held for a person", "warn"),
    ERROR: ("could not be run", "warn"),
    confirmations.DROPPED: ("dropped", ""),
}
ACTS: Final[dict[str, tuple[Act, str]]] = {
    "ask": (ask_again, "Asked again: a runner makes five more runs on fresh seeds."),
    "close": (close_confirmation, "Closed: nothing waits for this confirmation any more."),
}


def rows_of(competition: Competition, reader: User) -> list[dict[str, Any]]:
    """Return the newest confirmations with their words, in a fixed number of queries.

    `waits`: for a person. `is_own`: the reader's or their team's; they may neither settle it nor read its report.
    """
    whose = ("candidate__entrant", "incumbent__entrant", "board__problem", "asked_by", "closed_by", "runner")
    every = Confirmation.objects.filter(board__competition=competition).select_related(*whose)
    found = list(every.defer("candidate__source", "incumbent__source").order_by("-id")[:MOST])
    results = Found.objects.filter(confirmation__in=[one.pk for one in found]).defer("report")  # reports are large
    reports = {row.confirmation_id: row for row in results}
    waits = set(unsettled(competition).values_list("pk", flat=True))
    logins = set(logins_of(reader).values_list("pk", flat=True))
    teams = set(Membership.objects.filter(user__in=logins).values_list("entrant", flat=True))
    return [
        {
            "asked": asked,
            "said": said_of(asked),
            "runs": runs_said(reports.get(asked.pk)),
            "waits": asked.pk in waits,
            "is_own": any(
                one.owner_id in logins or one.entrant_id in teams for one in (asked.candidate, asked.incumbent)
            ),
            "has_report": asked.pk in reports,
        }
        for asked in found
    ]


def said_of(asked: Confirmation) -> tuple[str, str]:
    if not asked.is_done:
        return ("running" if asked.state == AT_WORK else "waiting for a runner", "running")
    return OUTCOMES[asked.outcome]


def runs_said(found: Found | None) -> str:
    """Format signs and gains of the runs: "4 of 5 faster, +2.00 % in the median, +1.80 % at the bound"."""
    if found is None or not found.gains:
        return ""
    parts = [f"{found.wins} of {len(found.gains)} faster"]
    if found.median_gain is not None:
        parts.append(f"{_gain(found.median_gain)} in the median")
    if found.least_gain is not None:
        parts.append(f"{_gain(found.least_gain)} at the bound")
    return ", ".join(parts)


def _gain(value: float) -> str:
    """Format a gain, signed, in per cent: a record needs half of one per cent."""
    return f"{'−' if value < 0 else '+'}{100 * abs(value):.2f}{THIN}%"


@competition_page("GET", "HEAD")
def index(request: HttpRequest, competition: Competition) -> HttpResponse:
    rows = rows_of(competition, user_of(request))
    context = {"rows": rows, "open": [row for row in rows if row["waits"]], "most": MOST}
    return shell(request, competition, "confirmations", context)


@competition_page("POST", to_change=Role.REVIEWER)
def act(request: HttpRequest, competition: Competition, pk: int, name: str) -> HttpResponse:
    if name not in ACTS:
        raise Http404
    asked = get_object_or_404(Confirmation, pk=pk, board__competition=competition)
    do, done = ACTS[name]
    settle = partial(do, asked=asked, reason=request.POST.get("reason", ""))
    return press(request, settle, to=f"/organise/{competition.slug}/confirmations", done=done)


@competition_page("GET", "HEAD")
def report(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    """The report as the runner sent it. Refused with 404 to owners of the code that it covers."""
    found = get_object_or_404(Found, confirmation=pk, confirmation__board__competition=competition)
    asked = found.confirmation
    if any(has_conflict(user_of(request), one) for one in (asked.candidate, asked.incumbent)):
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="{asked.attempt_id}.json"'}
    return JsonResponse(found.report, headers=headers)
