"""Problems, for organisers: problem sets as zip files, with a preview and an import; admission tests of boards.

A page lists each board's newest admission test. A test has a page with its table and the two acts.
"""

from functools import partial
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions import ask as admission_acts
from leaderboard.admissions.compiled import ask_compiled, boards_with_template, newest_timings
from leaderboard.admissions.door import newest_tests, refusal, refusals, unadmitted_boards
from leaderboard.admissions.models import FAILED, NEAR_CONSTANT, PASSED, AdmissionTest, CompiledTiming
from leaderboard.admissions.permissions import boards_of, tests_of
from leaderboard.competitions.importing import CREATED, ask_fetch, discard_upload, take_upload
from leaderboard.competitions.models import CLOSED, Board, SetUpload
from leaderboard.errors import UserError
from leaderboard.judging.models import AT_WORK, DONE, ERROR
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import GitForm, ReasonForm, SetForm, add_refusal, sentence
from leaderboard.web.organise.gate import is_organiser, posted, restricted_page, send
from problems.formats.files import MAX_ZIP_BYTES
from runner.wire import STARTER

PAST_ROWS: Final = 50
ALL: Final = "all"
TONES: Final = {PASSED: "good", FAILED: "bad", ERROR: "warn", AT_WORK: "running"}
WORDS: Final = {ERROR: "could not be tested"}
REFUSED: Final = "must be refused"
TRIED: Final = {
    "speed_of_light": ("Declared work", "must be computable for each timed case"),
    "admission/seeds": ("Two seeds of a timed case", "must give different data"),
    "admission/again": ("The same seed twice", "must give the same data"),
    "admission/plain": ("Arguments that are no tensors, with two seeds", "must be the same"),
    "admission/fixed": ("A part of the data, with three seeds", "should differ"),
    "admission/reference": ("Reference", "must pass"),
    "admission/margin": ("Reference with four times its rounding error", "must pass"),
    "admission/zeros": ("Zeros", REFUSED),
    "admission/ones": ("Ones", REFUSED),
    "admission/constant": ("Best constant", REFUSED),
    "admission/input": ("The input itself", REFUSED),
    "admission/previous": ("The previous output", REFUSED),
    "admission/half": ("Result computed in half precision", REFUSED),
    "admission/baseline": ("Baseline", "must pass"),
    "admission/each_output": ("Zeros in one output, the others correct", REFUSED),
    "admission/nan": ("Values that the reference returns", "should be numbers"),
    "admission/in_place": ("Inputs that the reference changes in place", "should be returned"),
}
MARKS: Final = {True: ("ok", "good"), False: ("no", "bad"), None: ("–", "")}


@restricted_page("GET", "POST")
def sets(request: HttpRequest) -> HttpResponse:
    form, status = SetForm(posted(request), request.FILES or None), 200
    if form.is_valid():
        sent = form.cleaned_data
        archive = sent.pop("archive")
        data = archive.read(MAX_ZIP_BYTES + 1)
        try:
            upload = take_upload(actor=user_of(request), filename=archive.name, data=data, now=timezone.now(), **sent)
            return redirect(f"/sets/{upload.pk}")
        except UserError as error:
            if error.field == "archive":
                form.add_error("archive", f"{error.value}: {error.message}.")
            else:
                add_refusal(form, error)
            status = error.status
    elif form.is_bound:
        status = 400
    return _sets_page(request, form, GitForm(auto_id="git_%s"), status)


@restricted_page("POST")
def fetch_set(request: HttpRequest) -> HttpResponse:
    if not settings.PROBLEM_GIT_HOSTS:
        raise Http404
    form, status = GitForm(request.POST, auto_id="git_%s"), 400
    if form.is_valid():
        try:
            upload = ask_fetch(actor=user_of(request), now=timezone.now(), **form.cleaned_data)
            return redirect(f"/sets/{upload.pk}")
        except UserError as error:
            add_refusal(form, error)
            status = error.status
    return _sets_page(request, SetForm(), form, status)


def _sets_page(request: HttpRequest, form: SetForm, git_form: GitForm, status: int) -> HttpResponse:
    uploads = SetUpload.objects.select_related("actor").defer("data")[:PAST_ROWS]
    context = {"form": form, "git_form": git_form, "git_hosts": settings.PROBLEM_GIT_HOSTS, "uploads": uploads}
    return render(request, "web/sets.html", context, status=status)


@restricted_page("GET", "HEAD")
def uploaded_set(request: HttpRequest, pk: int) -> HttpResponse:
    upload = get_object_or_404(SetUpload.objects.select_related("actor").defer("data"), pk=pk)
    found = upload.report["sets"]
    changes = {line["change"] for one in found for line in one["problems"]} | {one["status"] for one in found}
    for one in found:
        has_new_boards = any(line["change"] == CREATED for line in one["problems"])
        one["shows_at_once"] = has_new_boards and one["visibility"] not in ("", CLOSED) and one["status"] != CREATED
    applied = [one["competition"] for one in found if upload.applied_at and one["competition"]]
    closed = unadmitted_boards(Board.objects.filter(competition__slug__in=applied))
    context = {
        "failed": [(board, test) for board, test in closed if test.state == DONE],
        "waiting": sum(test.state != DONE for _, test in closed),
        "upload": upload,
        "has_changes": bool(changes & {"created", "updated"}),
    }
    return render(request, "web/set_upload.html", context)


@restricted_page("POST")
def apply(request: HttpRequest, pk: int) -> HttpResponse:
    upload = get_object_or_404(SetUpload.objects.defer("data"), pk=pk)
    try:
        if pipeline.import_set(upload=upload, actor=user_of(request), now=timezone.now()):
            messages.success(
                request,
                "Imported. New boards accept submissions once their problem has passed its admission test. "
                "A new competition is visible to its organisers only, until one of them publishes it.",
            )
        else:
            messages.warning(request, "Not imported: the site has changed in the meantime. Check the new preview.")
    except UserError as error:
        messages.warning(request, f"Not imported: {error.message}.")
    return redirect(f"/sets/{pk}")


@restricted_page("POST")
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    upload = get_object_or_404(SetUpload.objects.defer("data"), pk=pk)
    try:
        discard_upload(upload=upload, actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.warning(request, f"Not discarded: {error.message}.")
        return redirect(f"/sets/{pk}")
    messages.success(request, f"{upload.filename} is discarded. Nothing was imported.")
    return redirect("/sets")


def chip(test: AdmissionTest | CompiledTiming | None) -> dict[str, str]:
    """Return the state of a test or a timing in words, and its tone."""
    if test is None:
        return {"text": "not tested", "tone": ""}
    state = test.outcome or test.state
    return {"text": WORDS.get(state, state), "tone": TONES.get(state, "")}


@restricted_page("GET", "HEAD", to=is_organiser)
def admissions(request: HttpRequest) -> HttpResponse:
    mine = boards_of(user_of(request))
    boards = list(mine.defer("version__bundle"))
    unsupported = dict(mine.values_list("pk", "version__bundle__unsupported"))
    newest = newest_tests(AdmissionTest.objects.filter(version__in={board.version_id for board in boards}))
    why = refusals(boards)
    timings = newest_timings(boards, now=timezone.now())
    compilable = set(boards_with_template(mine).values_list("pk", flat=True))
    rows: list[dict[str, Any]] = [
        {
            "board": board,
            "test": (test := newest.get((board.version_id, board.hardware))),
            "chip": chip(test),
            "closed": why[board.pk],
            "judged": not unsupported[board.pk],
            "timing": (timing := timings.get(board.pk)),
            "timing_chip": chip(timing),
            "compilable": board.pk in compilable,
        }
        for board in boards
    ]
    found = {
        ALL: rows,
        "closed": [row for row in rows if row["closed"]],
        "not tested": [row for row in rows if row["test"] is None and row["judged"]],
        NEAR_CONSTANT: [row for row in rows if row["test"] is not None and NEAR_CONSTANT in row["test"].marks],
    }
    shown = request.GET.get("show", ALL)
    shown = shown if shown in found else ALL
    filters = [(name, len(same)) for name, same in found.items()]
    context = {"rows": found[shown], "filters": filters, "shown": shown, "has_compiled": bool(compilable)}
    return render(request, "web/admissions.html", context)


@restricted_page("GET", "HEAD", to=is_organiser)
def admission(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, _found(request, pk), ReasonForm())


@restricted_page("POST", to=is_organiser)
def ask(request: HttpRequest) -> HttpResponse:
    actor, found = user_of(request), _asked_board(request)
    try:
        test = admission_acts.ask_test(version=found.version, hardware=found.hardware, actor=actor, now=timezone.now())
    except UserError as error:
        messages.error(request, sentence(error.message))
        return redirect("/admission")
    messages.success(request, f"The test of {found} is queued. It runs when no submission waits.")
    return redirect(f"/admission/{test.pk}")


@restricted_page("POST", to=is_organiser)
def time_compiled(request: HttpRequest) -> HttpResponse:
    """Ask for a timing of torch.compile of a board's reference."""
    found = _asked_board(request)
    try:
        ask_compiled(board=found, actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.error(request, sentence(error.message))
    else:
        messages.success(
            request, f"The timing of torch.compile on {found} is queued. It runs when no submission waits."
        )
    return redirect("/admission")


def _asked_board(request: HttpRequest) -> Board:
    board = request.POST.get("board", "")
    key = int(board) if board.isdecimal() and len(board) < 19 else 0
    return get_object_or_404(boards_of(user_of(request)), pk=key)


@restricted_page("POST", to=is_organiser)
def override(request: HttpRequest, pk: int) -> HttpResponse:
    test, form = _found(request, pk), ReasonForm(request.POST)
    act, done = partial(admission_acts.override, test=test), "Overridden. Submissions are accepted now."
    return send(request, form, act, to=f"/admission/{pk}", done=done) or _page(request, test, form)


def _found(request: HttpRequest, pk: int) -> AdmissionTest:
    return get_object_or_404(tests_of(user_of(request)).select_related("runner", "overridden_by"), pk=pk)


def _page(request: HttpRequest, test: AdmissionTest, form: ReasonForm) -> HttpResponse:
    lines = []
    for line in test.lines:
        name, good = line["name"], line["good"]
        tried, must = TRIED.get(name, (name, line["expected"]))
        if name.startswith(STARTER):
            tried, must = f"{name.removeprefix(STARTER)} starter, in test mode", "may pass, or only show the form"
        row = {"tried": tried, "must": must, "got": line["got"], "why": line["explained"]}
        lines.append(row | {"chip": MARKS[good], "bad": good is False})
    context = {
        "test": test,
        "chip": chip(test),
        "lines": lines,
        "closed": refusal(version_id=test.version_id, hardware=test.hardware),
        "may_override": test.may_be_overridden,
        "form": form,
        "boards": boards_of(user_of(request)).filter(version=test.version_id, hardware=test.hardware),
        "waits": not test.is_done,
    }
    return render(request, "web/admission.html", context, status=form.status)
