"""The boards of a competition, with their versions and admission tests: add, change, close, remove."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard import pipeline
from leaderboard.admissions.door import newest_tests, refusals, seen_hardware
from leaderboard.admissions.models import AdmissionTest
from leaderboard.competitions.edit_boards import close_board, edit_board, remove_board
from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.errors import UserError
from leaderboard.judging.models import Runner
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.admission_words import chip
from leaderboard.web.organise.forms import CloseForm, EditBoardForm, NewBoardForm
from leaderboard.web.organise.pages.gate import managed, shell, tell

NO_RUNNER: Final = "No runner with {} has ever reached this site; submissions wait until one does."


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    data, known = request.POST if request.method == "POST" else None, _hardware()
    form = NewBoardForm(data, versions=versions_for(request), known_hardware=known)
    if request.method == "POST" and form.is_valid():
        try:
            made = pipeline.add_board(
                competition=competition, actor=user_of(request), now=timezone.now(), **form.cleaned_data
            )
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, f"Added {made}. It takes submissions once its problem passed its admission test.")
            if made.hardware not in seen_hardware():
                messages.warning(request, NO_RUNNER.format(made.hardware))
            return redirect(f"/organise/{slug}/boards")
    context = {"form": form, "rows": _rows(competition), "hardware": known}
    return shell(request, competition, "boards", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    competition = managed(request, slug)
    board = _found(competition, pk)
    data = request.POST if request.method == "POST" else None
    form = EditBoardForm.of(board, versions_for(request), data)
    if data is not None and form.is_valid():
        told = form.cleaned_data | ({} if "deadline" in form.changed_data else {"deadline": board.deadline})
        try:
            edit_board(board=board, actor=user_of(request), now=timezone.now(), **told)
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, "Saved.")
            return redirect(f"/organise/{slug}/boards/{pk}")
    return _page(request, board, form, CloseForm(), status=400 if form.errors else 200)


@login_required
@require_POST
def close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    board = _found(managed(request, slug), pk)
    form = CloseForm(request.POST)
    if form.is_valid():
        try:
            close_board(board=board, actor=user_of(request), now=timezone.now(), **form.cleaned_data)
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, f"Closed {board}: what was sent stays.")
            return redirect(f"/organise/{slug}/boards")
    edit_form = EditBoardForm.of(board, versions_for(request))
    return _page(request, board, edit_form, form, status=400)


@login_required
@require_POST
def remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    board = _found(managed(request, slug), pk)
    try:
        remove_board(board=board, actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.warning(request, f"Not removed: {error.message}.")
        return redirect(f"/organise/{slug}/boards/{pk}")
    messages.success(request, f"Removed {board}.")
    return redirect(f"/organise/{slug}/boards")


def versions_for(request: HttpRequest) -> QuerySet[ProblemVersion]:
    """Return the versions that the user may choose: all for staff, else those of boards that the user sees anyway.

    They come without their bundles, but with the hardware of their boards, because hardware may differ in timed cases.
    """
    theirs = Board.objects.filter(version=OuterRef("pk")).order_by("hardware").values("hardware").distinct()
    versions = ProblemVersion.objects.select_related("problem").defer("bundle").order_by("problem__title", "-id")
    versions = versions.annotate(hardware=ArraySubquery(theirs))
    user = user_of(request)
    if user.is_staff:
        return versions
    return versions.filter(pk__in=boards_seen_by(user, listed=True).values("version"))


def _found(competition: Competition, pk: int) -> Board:
    return get_object_or_404(Board.objects.with_parts(), pk=pk, competition=competition)


def _rows(competition: Competition) -> list[dict[str, Any]]:
    """Return the table's rows, in a fixed number of queries for any number of boards."""
    boards = list(
        Board.objects.filter(competition=competition)
        .select_related("competition", "problem", "version")
        .defer("version__bundle")
        .annotate(sent=Count("submissions"))
    )
    seen = seen_hardware()
    why = refusals(boards, seen=seen)
    versions = {board.version_id for board in boards}
    newest = newest_tests(AdmissionTest.objects.filter(version__in=versions).defer("told"))
    now, rows = timezone.now(), []
    for board in boards:
        last = newest.get((board.version_id, board.hardware))
        told = {"board": board, "open": board.is_open_at(now), "closed": why[board.pk]}
        if board.hardware not in seen:
            told["no_runner"] = NO_RUNNER.format(board.hardware)
        rows.append(told | {"test": last, "chip": chip(last)})
    return rows


def _hardware() -> list[str]:
    """Return hardware names to suggest."""
    names = {*Runner.objects.values_list("hardware", flat=True), *Board.objects.values_list("hardware", flat=True)}
    return sorted(names)


def _page(
    request: HttpRequest, board: Board, form: EditBoardForm, close_form: CloseForm, status: int = 200
) -> HttpResponse:
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
                "test": newest.get(one.pk),
                "chip": chip(newest.get(one.pk)),
                "own": one.pk == board.version_id,
            }
            for one in ProblemVersion.objects.filter(problem=board.problem).defer("bundle")
        ],
    }
    return shell(request, board.competition, "board", context, status=status)
