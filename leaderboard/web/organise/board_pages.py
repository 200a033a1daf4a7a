"""The boards of a competition with their versions and admission tests; its tracks and their prizes."""

from functools import partial
from typing import Any, Final

from django.contrib import messages
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions.door import newest_tests, refusals, seen_hardware
from leaderboard.admissions.models import AdmissionTest
from leaderboard.competitions import edit
from leaderboard.competitions.models import Board, Competition, Prize, ProblemVersion, Track
from leaderboard.competitions.permissions import versions_seen_by
from leaderboard.judging.models import Runner
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ReasonForm
from leaderboard.web.organise.forms import EditBoardForm, NewBoardForm, PrizeForm, TrackForm
from leaderboard.web.organise.gate import competition_page, posted, press, send, shell
from leaderboard.web.organise.problem_pages import chip

NAMES: Final = {"ratio": "speedup"}  # of the tracks' fields in their form
NO_RUNNER: Final = "No runner with {} has ever connected to this site. Submissions wait until one does."


@competition_page("GET", "POST")
def index(request: HttpRequest, competition: Competition) -> HttpResponse:
    known = sorted({name for model in (Runner, Board) for name in model.objects.values_list("hardware", flat=True)})
    form = NewBoardForm(posted(request), versions=versions_for(request), known_hardware=known)
    done = "Added {result}. It accepts submissions once its problem has passed the admission test."
    if answer := send(request, form, partial(pipeline.add_board, competition=competition), done=done):
        hardware = form.cleaned_data["hardware"]
        if hardware not in seen_hardware():
            messages.warning(request, NO_RUNNER.format(hardware))
        return answer
    return shell(request, competition, "boards", {"form": form, "rows": _rows(competition), "hardware": known})


@competition_page("GET", "POST")
def detail(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    board = _found(competition, pk)
    form = EditBoardForm(board, versions_for(request), posted(request))
    answer = send(request, form, partial(edit.edit_board, board=board), done="Saved.")
    return answer or _page(request, board, form, ReasonForm())


@competition_page("POST")
def close(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    board, form = _found(competition, pk), ReasonForm(request.POST)
    done, to = "Closed {result}. Its submissions stay.", f"/organise/{competition.slug}/boards"
    answer = send(request, form, partial(edit.close_board, board=board), to=to, done=done)
    return answer or _page(request, board, EditBoardForm(board, versions_for(request)), form)


@competition_page("POST")
def remove(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    board, to = _found(competition, pk), f"/organise/{competition.slug}/boards"
    act, done = partial(edit.remove_board, board=board), f"Removed {board}."
    return press(request, act, to=to, done=done, refused="Not removed", back=f"{to}/{pk}")


def versions_for(request: HttpRequest) -> QuerySet[ProblemVersion]:
    """Return the versions that the user may choose, without bundles, but with the hardware of their boards.

    Hardware may differ in timed cases.
    """
    theirs = Board.objects.filter(version=OuterRef("pk")).order_by("hardware").values("hardware").distinct()
    versions = versions_seen_by(user_of(request)).defer("bundle").order_by("problem__title", "-id")
    return versions.annotate(hardware=ArraySubquery(theirs))


def _found(competition: Competition, pk: int) -> Board:
    return get_object_or_404(Board.objects.with_parts(), pk=pk, competition=competition)


def _rows(competition: Competition) -> list[dict[str, Any]]:
    """Return the table's rows, in a fixed number of queries for any number of boards."""
    found = Board.objects.filter(competition=competition).select_related("competition", "problem", "version")
    boards = list(found.defer("version__bundle").annotate(sent=Count("submissions")))
    seen = seen_hardware()
    why = refusals(boards, seen=seen)
    versions = {board.version_id for board in boards}
    newest = newest_tests(AdmissionTest.objects.filter(version__in=versions).defer("told"))
    now = timezone.now()
    return [
        {
            "board": board,
            "open": board.is_open_at(now),
            "closed": why[board.pk],
            "no_runner": "" if board.hardware in seen else NO_RUNNER.format(board.hardware),
            "test": (test := newest.get((board.version_id, board.hardware))),
            "chip": chip(test),
        }
        for board in boards
    ]


def _page(request: HttpRequest, board: Board, form: EditBoardForm, close_form: ReasonForm) -> HttpResponse:
    tests = AdmissionTest.objects.filter(version__problem=board.problem, hardware=board.hardware)
    newest = {version: test for (version, _), test in newest_tests(tests.defer("told")).items()}
    context = {
        "board": board,
        "form": form,
        "close_form": close_form,
        "sent": board.submissions.count(),
        "open": board.is_open_at(timezone.now()),
        "closed": refusals([board])[board.pk],
        "versions": [
            {
                "version": one,
                "test": (test := newest.get(one.pk)),
                "chip": chip(test),
                "own": one.pk == board.version_id,
            }
            for one in ProblemVersion.objects.filter(problem=board.problem).defer("bundle")
        ],
    }
    return shell(request, board.competition, "board", context)


@competition_page("GET", "POST")
def tracks(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = TrackForm(posted(request), boards=competition.boards.all())
    act, to = partial(edit.create_track, competition=competition), f"/organise/{competition.slug}/tracks/{{result.pk}}"
    context = {"form": form, "tracks": competition.tracks.prefetch_related("prizes")}
    answer = send(request, form, act, to=to, done="Added {result}. Now add its prizes.", names=NAMES)
    return answer or shell(request, competition, "tracks", context)


@competition_page("GET", "POST")
def edit_a_track(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    track = _track(competition, pk)
    form = TrackForm.of(track, competition.boards.all(), posted(request))

    def save(**arguments: Any) -> str:
        text = edit.edit_track(track=track, **arguments).eligibility
        return "Entrants must now declare their eligibility anew." if text and text != track.eligibility else ""

    answer = send(request, form, save, done="Saved. {result}", names=NAMES)
    return answer or _track_page(request, track, form, _prize_form(request, track))


@competition_page("POST")
def remove_a_track(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    track, to = _track(competition, pk), f"/organise/{competition.slug}/tracks"
    act, done = partial(edit.remove_track, track=track), f"Removed {track}."
    return press(request, act, to=to, done=done, refused="Not removed", back=f"{to}/{pk}")


@competition_page("POST")
def prize(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    track, form = _track(competition, pk), PrizeForm(request.POST)
    act, to = partial(edit.put_prize, track=track), f"/organise/{competition.slug}/tracks/{pk}#prizes"
    answer = send(request, form, act, to=to, done="Saved the prize for place {result.place}.")
    return answer or _track_page(request, track, TrackForm.of(track, competition.boards.all()), form)


@competition_page("POST")
def unprize(request: HttpRequest, competition: Competition, pk: int, prize_pk: int) -> HttpResponse:
    track = _track(competition, pk)
    found = get_object_or_404(Prize.objects.select_related("track__competition"), pk=prize_pk, track=track)
    done, to = f"Removed the prize for place {found.place}.", f"/organise/{competition.slug}/tracks/{pk}#prizes"
    return press(request, partial(edit.remove_prize, prize=found), to=to, done=done, refused="Not removed")


def _track(competition: Competition, pk: int) -> Track:
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


def _track_page(request: HttpRequest, track: Track, form: TrackForm, prize_form: PrizeForm) -> HttpResponse:
    context = {"track": track, "form": form, "prize_form": prize_form, "prizes": track.prizes.all()}
    return shell(request, track.competition, "track", context)
