"""Tracks and their prizes."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from leaderboard.competitions.edit_tracks import create_track, edit_track, put_prize, remove_prize, remove_track
from leaderboard.competitions.models import Competition, Prize, Track
from leaderboard.web.organise.forms import PrizeForm, TrackForm
from leaderboard.web.organise.gate import competition_page, posted, press, send, shell

NAMES = {"ratio": "speedup"}  # of the acts' fields in the form


@competition_page("GET", "POST")
def index(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = TrackForm(posted(request), boards=competition.boards.all())
    act, to = partial(create_track, competition=competition), f"/organise/{competition.slug}/tracks/{{result.pk}}"
    if answer := send(request, form, act, to=to, done="Added {result}. Now add its prizes.", names=NAMES):
        return answer
    return shell(
        request, competition, "tracks", {"form": form, "tracks": competition.tracks.prefetch_related("prizes")}
    )


@competition_page("GET", "POST")
def detail(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    track = _found(competition, pk)
    form = TrackForm.of(track, competition.boards.all(), posted(request))
    act, to = partial(edit_track, track=track), f"/organise/{competition.slug}/tracks/{pk}"
    return send(request, form, act, to=to, done="Saved.", names=NAMES) or _page(
        request, track, form, _prize_form(request, track)
    )


@competition_page("POST")
def remove(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    track, to = _found(competition, pk), f"/organise/{competition.slug}/tracks"
    act, done = partial(remove_track, track=track), f"Removed {track}."
    return press(request, act, to=to, done=done, refused="Not removed", back=f"{to}/{pk}")


@competition_page("POST")
def prize(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    track, form = _found(competition, pk), PrizeForm(request.POST)
    act, to = partial(put_prize, track=track), f"/organise/{competition.slug}/tracks/{pk}#prizes"
    return send(request, form, act, to=to, done="Saved the prize for place {result.place}.") or _page(
        request, track, TrackForm.of(track, competition.boards.all()), form
    )


@competition_page("POST")
def unprize(request: HttpRequest, competition: Competition, pk: int, prize_pk: int) -> HttpResponse:
    track = _found(competition, pk)
    found = get_object_or_404(Prize.objects.select_related("track__competition"), pk=prize_pk, track=track)
    done, to = f"Removed the prize for place {found.place}.", f"/organise/{competition.slug}/tracks/{pk}#prizes"
    return press(request, partial(remove_prize, prize=found), to=to, done=done, refused="Not removed")


def _found(competition: Competition, pk: int) -> Track:
    return get_object_or_404(Track.objects.select_related("competition"), pk=pk, competition=competition)


def _prize_form(request: HttpRequest, track: Track) -> PrizeForm:
    """Return the form for the place that `?place=` names, filled in, else for the next place."""
    prizes = list(track.prizes.all())
    for one in prizes:
        if str(one.place) == request.GET.get("place"):
            return PrizeForm.of(one)
    if not prizes:
        return PrizeForm(initial={"place": 1})
    last = prizes[-1]
    return PrizeForm(initial={"place": last.place + 1, "currency": last.currency, "sponsor": last.sponsor})


def _page(request: HttpRequest, track: Track, form: TrackForm, prize_form: PrizeForm) -> HttpResponse:
    context = {"track": track, "form": form, "prize_form": prize_form, "prizes": track.prizes.all()}
    return shell(request, track.competition, "track", context)
