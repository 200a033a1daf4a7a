"""Tracks and their prizes."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.competitions.edit_tracks import create_track, edit_track, put_prize, remove_prize, remove_track
from leaderboard.competitions.models import Competition, Prize, Track
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.forms import PrizeForm, TrackForm
from leaderboard.web.organise.pages.gate import managed, shell, tell

NAMES = {"ratio": "speedup"}  # of the acts' fields in the form


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    form = TrackForm(request.POST if request.method == "POST" else None, boards=competition.boards.all())
    if request.method == "POST" and form.is_valid():
        try:
            made = create_track(
                competition=competition, actor=user_of(request), settings=form.settings(), now=timezone.now()
            )
        except UserError as error:
            tell(form, error, NAMES)
        else:
            messages.success(request, f"Added {made}. Now its prizes.")
            return redirect(f"/organise/{slug}/tracks/{made.pk}")
    context = {"form": form, "tracks": competition.tracks.prefetch_related("prizes")}
    return shell(request, competition, "tracks", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    track = _found(managed(request, slug), pk)
    form = TrackForm.of(track, track.competition.boards.all(), request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            edit_track(track=track, actor=user_of(request), settings=form.settings(), now=timezone.now())
        except UserError as error:
            tell(form, error, NAMES)
        else:
            messages.success(request, "Saved.")
            return redirect(f"/organise/{slug}/tracks/{pk}")
    return _page(request, track, form, _prize_form(request, track), status=400 if form.errors else 200)


@login_required
@require_POST
def remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    track = _found(managed(request, slug), pk)
    try:
        remove_track(track=track, actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.warning(request, f"Not removed: {error.message}.")
        return redirect(f"/organise/{slug}/tracks/{pk}")
    messages.success(request, f"Removed {track}.")
    return redirect(f"/organise/{slug}/tracks")


@login_required
@require_POST
def prize(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    track = _found(managed(request, slug), pk)
    form = PrizeForm(request.POST)
    if form.is_valid():
        try:
            put_prize(track=track, actor=user_of(request), now=timezone.now(), **form.cleaned_data)
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, f"There is a prize for place {form.cleaned_data['place']}.")
            return redirect(f"/organise/{slug}/tracks/{pk}#prizes")
    return _page(request, track, TrackForm.of(track, track.competition.boards.all()), form, status=400)


@login_required
@require_POST
def unprize(request: HttpRequest, slug: str, pk: int, prize_pk: int) -> HttpResponse:
    track = _found(managed(request, slug), pk)
    found = get_object_or_404(Prize.objects.select_related("track__competition"), pk=prize_pk, track=track)
    try:
        remove_prize(prize=found, actor=user_of(request), now=timezone.now())
        messages.success(request, f"There is no prize for place {found.place} any more.")
    except UserError as error:
        messages.warning(request, f"Not removed: {error.message}.")
    return redirect(f"/organise/{slug}/tracks/{pk}#prizes")


def _found(competition: Competition, pk: int) -> Track:
    return get_object_or_404(Track.objects.select_related("competition"), pk=pk, competition=competition)


def _prize_form(request: HttpRequest, track: Track) -> PrizeForm:
    """Return the form for the place that `?place=` names, filled in, else for the next place."""
    prizes = list(track.prizes.all())
    wanted = next((one for one in prizes if str(one.place) == request.GET.get("place")), None)
    if wanted is not None:
        return PrizeForm.of(wanted)
    last = prizes[-1] if prizes else None
    return PrizeForm(
        initial={
            "place": last.place + 1 if last else 1,
            "currency": last.currency if last else "",
            "sponsor": last.sponsor if last else "",
        }
    )


def _page(
    request: HttpRequest, track: Track, form: TrackForm, prize_form: PrizeForm, status: int = 200
) -> HttpResponse:
    context = {"track": track, "form": form, "prize_form": prize_form, "prizes": track.prizes.all()}
    return shell(request, track.competition, "track", context, status=status)
