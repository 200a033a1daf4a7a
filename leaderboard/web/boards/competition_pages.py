"""Competitions by phase, the page of a competition, entering it, using an invite code, its awards and their desk."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard import pipeline
from leaderboard.awards import life
from leaderboard.awards.models import Award
from leaderboard.competitions.access import redeem_code
from leaderboard.competitions.models import Role, Track
from leaderboard.competitions.permissions import competitions_seen_by, has_role
from leaderboard.errors import UserError
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards import contests
from leaderboard.web.boards.summaries import boards_of
from leaderboard.web.forms import CodeForm, EnterForm, sentence
from leaderboard.web.middleware import with_wait
from leaderboard.web.organise import awards
from leaderboard.web.organise.gate import act_of

AWARD_ACTS: Final[dict[str, tuple[Callable[..., Any], str, str]]] = {  # act, its argument for a sent reason, message
    "confirm": (life.confirm_award, "without", "confirmed"),
    "approve": (life.approve_award, "reason", "approved. Only organisers see it until you announce it"),
    "announce": (life.announce_award, "", "announced"),
    "withdraw": (life.withdraw_award, "reason", "withdrawn"),
}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "web/competitions.html", {"sections": contests.sections(request.user, timezone.now())})


@require_safe
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    contest = contests.contest(slug, request.user, timezone.now())
    return _page(request, contest, EnterForm(initial={"rules_digest": contest.rules_digest}))


@login_required
@require_POST
def enter(request: HttpRequest, slug: str) -> HttpResponse:
    contest, form = contests.contest(slug, request.user, timezone.now()), EnterForm(request.POST)
    form.full_clean()
    if contest.rules_digest and not form.cleaned_data.get("accept"):
        form.add_error("accept", "Tick this box to accept the rules; nobody enters without accepting them.")
        return _page(request, contest, form, status=400)
    try:
        entrant = pipeline.enter(
            user=user_of(request),
            competition=contest.competition,
            rules_digest=form.cleaned_data.get("rules_digest", ""),
            now=timezone.now(),
        )
    except UserError as error:
        again = EnterForm({"rules_digest": contest.rules_digest})
        again.add_error(None, sentence(error.message))
        return _page(request, contest, again, status=error.status)
    messages.success(request, f"You have entered as {entrant.shown_name}.")
    return redirect(f"/competitions/{slug}")


def _page(request: HttpRequest, contest: contests.Contest, form: EnterForm, status: int = 200) -> HttpResponse:
    boards = boards_of(contest.competition, request.user, timezone.now(), is_collection=contest.is_collection)
    return render(request, "web/competition.html", {"contest": contest, "form": form, "boards": boards}, status=status)


@login_required
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def invite_code(request: HttpRequest) -> HttpResponse:
    form, refusal = CodeForm(request.POST if request.method == "POST" else None), None
    if request.method == "POST" and form.is_valid():
        try:
            limits.check_code_tries(user_of(request).pk, request)
            code = redeem_code(text=form.cleaned_data["code"], user=user_of(request), now=timezone.now())
        except UserError as error:
            form.add_error("code", sentence(error.message))
            refusal = error
        else:
            messages.success(request, f"The code is valid. You now have access to {code.competition}.")
            return redirect(f"/competitions/{code.competition.slug}")
    status = refusal.status if refusal else 400 if form.errors else 200
    response = render(request, "web/invite_code.html", {"form": form}, status=status)
    return with_wait(response, refusal) if refusal else response


@require_safe
def award_index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    is_owner = has_role(request.user, competition, Role.OWNER)
    shown = awards.shown(competition, request.user, now=timezone.now(), as_owner=is_owner)
    context = {
        "competition": competition,
        "shown": shown,
        "is_owner": is_owner,
        "has_winners": any(one["winners"] for one in shown),
    }
    return render(request, "web/awards.html", context)


@require_safe
def awards_csv(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    headers = {"Content-Disposition": f'attachment; filename="{competition.slug}-awards.csv"'}
    text = awards.as_csv(competition, request.user)
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@require_safe
def awards_json(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    return JsonResponse({"competition": competition.slug, "winners": awards.rows(competition, request.user)})


@login_required
@require_POST
def propose_award(request: HttpRequest, slug: str, track: str) -> HttpResponse:
    found = get_object_or_404(_owned_tracks(request, slug).select_related("competition"), slug=track)

    def call(**actor: Any) -> str:
        life.propose_award(track=found, **actor)
        return "proposed. Read the reasons below, then confirm it"

    return _award_page(request, found, call)


@login_required
@require_POST
def change_award(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponse:
    award = get_object_or_404(Award.objects.select_related("track"), pk=pk, track__in=_owned_tracks(request, slug))
    run, argument, done = act_of(AWARD_ACTS, name)
    given = {argument: request.POST.get("reason", "")} if argument else {}

    def call(**actor: Any) -> str:
        result = run(award=award, **given, **actor)
        waiting = result if name == "confirm" else 0
        return f"runners were asked for {waiting} confirmation{pluralize(waiting)}" if waiting else done

    return _award_page(request, award.track, call)


def _award_page(request: HttpRequest, track: Track, call: Callable[..., str]) -> HttpResponse:
    """Run an act on the award of a track, and show its result or error on the awards page."""
    try:
        done = call(actor=user_of(request), now=timezone.now())
        messages.success(request, f"{track}: {done}.")
    except UserError as error:
        messages.error(request, error.message)
    return redirect(f"/competitions/{track.competition.slug}/awards")


def _owned_tracks(request: HttpRequest, slug: str) -> QuerySet[Track]:
    """Return the tracks of a competition of this owner. Raises Http404 for everybody else."""
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    if not has_role(request.user, competition, Role.OWNER):
        raise Http404
    return Track.objects.filter(competition=competition)
