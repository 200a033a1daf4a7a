"""Admission tests, for organisers: each board's newest test, a test with its table, and the two acts."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.admissions import ask as admission_acts
from leaderboard.admissions.door import newest_tests, refusal, refusals
from leaderboard.admissions.models import NEAR_CONSTANT, PASSED, AdmissionTest
from leaderboard.admissions.permissions import boards_of, tests_of
from leaderboard.competitions.models import Board
from leaderboard.competitions.permissions import competitions_of
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ReasonForm
from leaderboard.web.organise.admission_words import chip
from runner.wire import STARTER

ALL: Final = "all"
TRIED: Final = {
    "speed_of_light": ("The declared work", "must be computable for each timed case"),
    "admission/seeds": ("Two seeds of a timed case", "must give other data"),
    "admission/again": ("The same seed again", "must give the same data"),
    "admission/plain": ("What is in no tensor, with two seeds", "must be the same"),
    "admission/fixed": ("A part of the data, with three seeds", "should give other data"),
    "admission/reference": ("The reference itself", "must pass"),
    "admission/margin": ("The reference with four times its rounding error", "must pass"),
    "admission/zeros": ("Zeros", "must be refused"),
    "admission/ones": ("Ones", "must be refused"),
    "admission/constant": ("The best constant", "must be refused"),
    "admission/input": ("The input itself", "must be refused"),
    "admission/previous": ("The previous output", "must be refused"),
    "admission/half": ("Computed in half precision", "must be refused"),
    "admission/baseline": ("The baseline", "must pass"),
    "admission/each_output": ("Zeros in one output, the others right", "must be refused"),
    "admission/nan": ("What the reference returns", "should be numbers"),
    "admission/in_place": ("What the reference changes in place", "should be returned"),
}


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    mine = boards_of(_organiser(request))
    boards = list(mine.defer("version__bundle"))
    unsupported = dict(mine.values_list("pk", "version__bundle__unsupported"))
    newest = newest_tests(AdmissionTest.objects.filter(version__in={board.version_id for board in boards}))
    why = refusals(boards)
    rows = [
        _row(board, newest.get((board.version_id, board.hardware)), why[board.pk])
        | {"judged": not unsupported[board.pk]}
        for board in boards
    ]
    found = _filters(rows)
    shown = request.GET.get("show", ALL)
    shown = shown if shown in found else ALL
    filters = [(name, len(same)) for name, same in found.items()]
    return render(request, "web/admissions.html", {"rows": found[shown], "filters": filters, "shown": shown})


@login_required
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, _found(request, pk), ReasonForm())


@login_required
@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    board = request.POST.get("board", "")
    actor = _organiser(request)
    found = get_object_or_404(boards_of(actor), pk=int(board) if board.isdecimal() and len(board) < 19 else 0)
    try:
        test = admission_acts.ask_test(version=found.version, hardware=found.hardware, actor=actor, now=timezone.now())
    except UserError as error:
        messages.error(request, error.message)
        return redirect("/admission")
    messages.success(request, f"{found}: asked for. A runner does it as soon as nothing else waits.")
    return redirect(f"/admission/{test.pk}")


@login_required
@require_POST
def override(request: HttpRequest, pk: int) -> HttpResponse:
    actor, test, form = _organiser(request), _found(request, pk), ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, test, form)
    try:
        admission_acts.override(test=test, actor=actor, reason=form.cleaned_data["reason"], now=timezone.now())
    except UserError as error:
        form.add_error("reason" if error.field == "reason" else None, error.message)
        return _page(request, test, form, status=error.status)
    messages.success(request, "Overridden: submissions are taken.")
    return redirect(f"/admission/{pk}")


def _organiser(request: HttpRequest) -> User:
    """Return the user: staff, or a person with a role in a competition, who may read the tests of its boards.

    Raises Http404.
    """
    user = user_of(request)
    if not user.is_staff and not competitions_of(user).exists():
        raise Http404
    return user


def _found(request: HttpRequest, pk: int) -> AdmissionTest:
    return get_object_or_404(tests_of(_organiser(request)).select_related("runner", "overridden_by"), pk=pk)


def _row(board: Board, test: AdmissionTest | None, why: str) -> dict[str, Any]:
    return {"board": board, "test": test, "chip": chip(test), "closed": why}


def _filters(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the selections of the list: name → rows. `near_constant`: right answers hardly differ from guesses."""
    return {
        ALL: rows,
        "closed": [row for row in rows if row["closed"]],
        "not tested": [row for row in rows if row["test"] is None and row["judged"]],
        NEAR_CONSTANT: [row for row in rows if row["test"] is not None and NEAR_CONSTANT in row["test"].marks],
    }


def _page(request: HttpRequest, test: AdmissionTest, form: ReasonForm, status: int = 200) -> HttpResponse:
    form.describe()
    context = {
        "test": test,
        "chip": chip(test),
        "lines": [_line(line) for line in test.lines],
        "closed": refusal(version_id=test.version_id, hardware=test.hardware),
        "may_override": test.is_done and test.outcome != PASSED and not test.is_overridden,
        "form": form,
        "boards": boards_of(user_of(request)).filter(version=test.version_id, hardware=test.hardware),
        "waits": not test.is_done,
    }
    return render(request, "web/admission.html", context, status=status)


def _line(line: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table: test answer, expected outcome, actual outcome."""
    unknown = (line["name"], line["expected"])
    if line["name"].startswith(STARTER):
        language = line["name"].removeprefix(STARTER)
        unknown = (f"The {language} starter, in test mode", "may pass, or only show the form")
    tried, must = TRIED.get(line["name"], unknown)
    good = line["good"]
    chip = {True: ("ok", "good"), False: ("no", "bad"), None: ("–", "")}[good]
    return {
        "tried": tried,
        "must": must,
        "got": line["got"],
        "why": line["explained"],
        "chip": chip,
        "bad": good is False,
    }
