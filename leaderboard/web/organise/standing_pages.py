"""The standings of a competition as a whole: freeze, reveal and declare final; confirmations of records and awards.

The first page shows the currently possible acts. The second shows each confirmation with candidate, cause and result;
an undecided confirmation is asked for again, or closed.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from leaderboard.accounts.logins import logins_and_agents
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Phase, is_frozen_at, phase_at
from leaderboard.competitions.models import Competition, Role
from leaderboard.confirmations import models as confirmations
from leaderboard.confirmations.models import Confirmation, Found
from leaderboard.entrants.models import Membership
from leaderboard.judging.archive import look
from leaderboard.judging.models import AT_WORK, ERROR
from leaderboard.review.case.acts import ask_again, close_confirmation, unsettled
from leaderboard.review.permissions import has_conflict
from leaderboard.standings import freeze
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ReasonForm
from leaderboard.web.organise.gate import Act, act_of, competition_page, press, send, shell
from leaderboard.wording.figures import THIN


class Offer(NamedTuple):
    """An act, its effect, and the message after it."""

    title: str
    about: str
    done: str
    act: Callable[..., bool]  # False: nothing was to be done


OFFERS: Final = {
    freeze.FREEZE: Offer(
        "Freeze",
        "The public standings stop changing now. Later submissions count, and are shown when you reveal them.",
        "The public standings are frozen.",
        freeze.freeze,
    ),
    freeze.UNFREEZE: Offer(
        "Unfreeze",
        "All submissions are shown at once, as if the standings had never been frozen.",
        "The public standings are no longer frozen.",
        freeze.unfreeze,
    ),
    freeze.REVEAL: Offer(
        "Reveal",
        "Submissions from the freeze are shown everywhere at once. This cannot be undone.",
        "Revealed: everybody can see the complete standings.",
        freeze.reveal,
    ),
    freeze.FINALISE: Offer(
        "Declare final",
        "Review is over and the standings no longer change. Submissions that are still frozen are revealed.",
        "The standings are final.",
        freeze.finalise,
    ),
    freeze.REOPEN: Offer(
        "Back to review",
        "The standings are no longer final. Revealed submissions stay revealed; later submissions stay separate.",
        "The competition is in review again.",
        freeze.reopen,
    ),
}
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


@competition_page("GET", "HEAD")
def index(request: HttpRequest, competition: Competition) -> HttpResponse:
    return _page(request, competition, {})


@competition_page("POST")
def act(request: HttpRequest, competition: Competition, name: str) -> HttpResponse:
    offer = act_of(OFFERS, name)
    form = ReasonForm(request.POST, auto_id=f"{name}_%s")
    do = partial(offer.act, competition=competition)
    if name == freeze.FINALISE:
        do = partial(do, anyway=bool(request.POST.get("anyway")))
    names = {"anyway": "reason", "competition": "reason"}

    def described(**arguments: object) -> str:
        return offer.done if do(**arguments) else "Nothing to do: it was done before."

    to = f"/organise/{competition.slug}/standing"
    answer = send(request, form, described, to=to, done="{result}", names=names)
    return answer or _page(request, competition, {name: form})


def possible(competition: Competition, now: datetime) -> set[str]:
    """Return the names of the acts that are possible now. The acts check again."""
    phase, is_frozen = phase_at(competition.schedule, now), is_frozen_at(competition.schedule, now)
    found = {freeze.FREEZE} if phase is Phase.CONTEST else set()
    if is_frozen:
        found.add(freeze.UNFREEZE if phase is Phase.FROZEN else freeze.REVEAL)
    if freeze.can_be_final(competition, now):
        found.add(freeze.FINALISE)
    return found | ({freeze.REOPEN} if competition.final_at is not None else set())


def _page(request: HttpRequest, competition: Competition, refused: dict[str, ReasonForm]) -> HttpResponse:
    """Render the page. `refused`: the form of an act that was not done, with its input."""
    now = timezone.now()
    shown = possible(competition, now) | set(refused)
    context = {
        "offers": [
            {"name": name, "offer": offer, "form": refused.get(name) or ReasonForm(auto_id=f"{name}_%s")}
            for name, offer in OFFERS.items()
            if name in shown
        ],
        "waits": freeze.waiting(competition, now),
        "is_frozen": is_frozen_at(competition.schedule, now),
        "finalise": freeze.FINALISE,
    }
    return shell(request, competition, "standing", context, status=400 if refused else 200)


@competition_page("GET", "HEAD")
def confirmation_index(request: HttpRequest, competition: Competition) -> HttpResponse:
    rows = rows_of(competition, user_of(request))
    context = {"rows": rows, "open": [row for row in rows if row["waits"]], "most": MOST}
    return shell(request, competition, "confirmations", context)


@competition_page("POST", to_change=Role.REVIEWER)
def settle(request: HttpRequest, competition: Competition, pk: int, name: str) -> HttpResponse:
    do, done = act_of(ACTS, name)
    asked = get_object_or_404(Confirmation, pk=pk, board__competition=competition)
    act = partial(do, asked=asked, reason=request.POST.get("reason", ""))
    return press(request, act, to=f"/organise/{competition.slug}/confirmations", done=done)


@competition_page("GET", "HEAD")
def report(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    """The report as the runner sent it. Refused with 404 to owners of the code that it covers."""
    found = report_of(competition, pk, user_of(request))
    told, problem = look(found)
    if problem:
        return JsonResponse({"detail": problem, "errors": []}, status=503)
    headers = {"Content-Disposition": f'attachment; filename="{found.confirmation.attempt_id}.json"'}
    return JsonResponse(told, headers=headers)


def report_of(competition: Competition, pk: int, reader: User) -> Found:
    """Return the result of a confirmation. Raise Http404, for owners of the code that it covers too."""
    found = get_object_or_404(Found, confirmation=pk, confirmation__board__competition=competition)
    asked = found.confirmation
    if any(has_conflict(reader, one) for one in (asked.candidate, asked.incumbent)):
        raise Http404
    return found


def rows_of(competition: Competition, reader: User) -> list[dict[str, Any]]:
    """Return the newest confirmations with their words, in a fixed number of queries.

    `waits`: for a person. `is_own`: the reader's or their team's; they may neither settle it nor read its report.
    """
    whose = ("candidate__entrant", "incumbent__entrant", "board__problem", "asked_by", "closed_by", "runner")
    every = Confirmation.objects.filter(board__competition=competition).select_related(*whose)
    found = list(every.defer("candidate__source", "incumbent__source").order_by("-id")[:MOST])
    results = Found.objects.filter(confirmation__in=[one.pk for one in found]).defer("inline")  # reports are large
    reports = {row.confirmation_id: row for row in results}
    waits = set(unsettled(competition).values_list("pk", flat=True))
    logins = set(logins_and_agents([reader.person.pk]).values_list("pk", flat=True))
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
    gains = ((found.median_gain, "in the median"), (found.least_gain, "at the bound"))
    shown = [
        f"{'−' if value < 0 else '+'}{100 * abs(value):.2f}{THIN}% {at}" for value, at in gains if value is not None
    ]
    return ", ".join([f"{found.wins} of {len(found.gains)} faster", *shown])
