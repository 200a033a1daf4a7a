"""Pages of matches: gallery and own list, opening, the match itself, its versions, and the forms of both sides."""

from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.checks import LICENCES
from leaderboard.competitions.permissions import Viewer
from leaderboard.entrants.enter import has_accepted
from leaderboard.errors import UserError
from leaderboard.judging.lease import clock
from leaderboard.matches import acts
from leaderboard.matches.models import HUMAN, MACHINE, SIDES, Match
from leaderboard.matches.permissions import (
    authored_by,
    gallery,
    is_member,
    is_operator,
    is_staff_of,
    matches_of,
    matches_seen_by,
)
from leaderboard.matches.read import TIE, Report, code_of, of_the_week, report_on, reports_on
from leaderboard.submissions.diff import unified
from leaderboard.submissions.workspace import draft_of, drop_draft
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ActForm, add_refusal, sentence
from leaderboard.web.matches.drawing import predictions, timelines
from leaderboard.web.matches.forms import MACHINES, AnswerForm, ChooseForm, OpenForm, PredictForm, VersionForm
from leaderboard.web.middleware import with_wait
from leaderboard.web.organise.gate import act_of
from leaderboard.web.paging import page_at
from leaderboard.web.people.discussion import board_of
from leaderboard.web.submissions import starter_code, view
from leaderboard.web.submissions.syntax import PYTHON_NAME
from leaderboard.wording.figures import times

PAGE_ROWS: Final = 30
MOST_OWN: Final = 50  # newest own matches on the page of all
DONE: Final = {
    "publish": "Published for your side.",
    "withdraw": "Taken back.",
    "close": "Closed. The match takes no further version.",
    "take-over": "You operate the machine side now.",
    "publish-texts": "Readers of the match now read the texts of your last hand-in.",
    "hide-texts": "The texts of the worklog are private again.",
}
ACTS: Final[dict[str, Callable[..., Match]]] = {
    "publish": acts.publish,
    "withdraw": acts.withdraw,
    "close": acts.close,
    "take-over": acts.take_over,
    "publish-texts": acts.publish_texts,
    "hide-texts": acts.hide_texts,
}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The match of the week, the viewer's own matches, and the gallery of public ones."""
    now = timezone.now()
    page = page_at(request, gallery(request.user), order=("-pk",), name="matches", size=PAGE_ROWS)
    own = list(matches_of(request.user)[:MOST_OWN]) if isinstance(request.user, User) else []
    week = of_the_week(request.user)
    context = {
        "page": page,
        "reports": [(report, said(report)) for report in reports_on(page.rows, now)],
        "own": [(report, said(report)) for report in reports_on(own, now)],
        "week": week,
        "week_said": said(report_on(week.match, now)) if week else "",
    }
    return render(request, "web/matches/index.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """Open a match on a board."""
    board, user = board_of(request.user, slug, hardware), user_of(request)
    form = OpenForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            match = acts.open_match(board=board, opener=user, now=timezone.now(), **form.cleaned_data)
            return redirect(f"/matches/{match.pk}")
        except UserError as error:
            add_refusal(form, error)
            form.refused = error.status
    context = {"board": board, "form": form, "must_accept": not has_accepted(user, board.competition)}
    return render(request, "web/matches/new.html", context, status=form.status)


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        return match_page(request, match_of(request.user, pk))
    except Http404:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        if authored_by(logins_of(request.user)).filter(pk=pk).exists():  # a former member, who reads the last hand-in
            return redirect(f"/matches/{pk}/worklog")
        raise


@require_safe
def pulse(request: HttpRequest, pk: int) -> HttpResponse:
    """The digest of a match's versions and verdicts, which its page polls while a version waits."""
    return JsonResponse({"digest": report_on(match_of(request.user, pk), timezone.now()).digest})


@login_required
@require_POST
def predict(request: HttpRequest, pk: int) -> HttpResponse:
    match, form = match_of(request.user, pk), PredictForm(request.POST)
    if form.is_valid():
        try:
            acts.predict(match=match, author=user_of(request), now=timezone.now(), **form.cleaned_data)
            messages.success(request, "Your prediction is committed. Now measure.")
            return redirect(f"/matches/{pk}")
        except UserError as error:
            add_refusal(form, error)
            form.refused = error.status
    return match_page(request, match, predicting=form)


@login_required
@require_POST
def act(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Publish, withdraw or close a match, take its machine side over, or make it the match of the week."""
    match, user = match_of(request.user, pk), user_of(request)
    try:
        if name == "choose":
            note = request.POST.get("note", "")
            acts.choose(match=match, actor=user, note=note, now=timezone.now())
            messages.success(request, "It is the match of the week.")
        else:
            act_of(ACTS, name)(match=match, actor=user, now=timezone.now())
            messages.success(request, DONE[name])
    except UserError as error:
        messages.warning(request, sentence(error.message))
    return redirect(f"/matches/{pk}")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def send(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a version of the human side."""
    match, user = match_of(request.user, pk), user_of(request)
    if not is_member(user, match):
        raise Http404
    is_first = acts.number_of_next(match, HUMAN) == 1
    if request.method != "POST":
        code, filename = _code_to_start(match, user)
        licence = match.board.competition.default_licence
        return _send_page(request, match, VersionForm(initial={"code": code, "filename": filename, "licence": licence}))
    form = VersionForm(request.POST, request.FILES)
    if not form.is_valid():
        return _send_page(request, match, form, 400)
    told = {} if is_first else {name: form.cleaned_data[name] for name in ("reason", "expected")}
    try:
        made = acts.send_version(match=match, upload=form.upload(), author=user, now=clock(), **told)
    except UserError as error:
        add_refusal(form, error, {"code": "file", "filename": "file"} if request.FILES else None)
        return with_wait(_send_page(request, match, form, error.status), error)
    drop_draft(user=user, slug=match.board.slug)
    messages.success(request, f"Version {made.number} is sent to the judge.")
    return redirect(f"/matches/{pk}")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def paste(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a model's answer with its prompt."""
    match, user = match_of(request.user, pk), user_of(request)
    if not is_operator(user, match):
        raise Http404
    form, status = AnswerForm(request.POST if request.method == "POST" else None), 200
    if form.is_valid():
        try:
            made = acts.send_answer(
                match=match, upload=form.upload(), operator=user, exchange=form.exchange(), now=clock()
            )
            messages.success(request, f"Version {made.number} of the machine is sent to the judge.")
            return redirect(f"/matches/{pk}")
        except UserError as error:
            add_refusal(form, error, {"filename": "code"})
            status = error.status
            return with_wait(_paste_page(request, match, form, status), error)
    return _paste_page(request, match, form, 400 if form.errors else 200)


@require_safe
def version(request: HttpRequest, pk: int, side: str, number: int) -> HttpResponse:
    """A version with its reason or prompt and answer, its code, and the difference to the version before."""
    match = match_of(request.user, pk)
    if side not in SIDES:
        raise Http404
    report = report_on(match, timezone.now())
    played = {one.number: one for one in (report.human if side == HUMAN else report.machine).versions}
    if number not in played:
        raise Http404
    one, before = played[number], played.get(number - 1)
    code = code_of(one)
    context = {
        "match": match,
        "side": side,
        "title": title_of(match),
        "one": one,
        "before": before,
        "after": played.get(number + 1),
        "code": code,
        "filename": one.version.submission.filename,
        "diff": unified(earlier, code) if code and before and (earlier := code_of(before)) else None,
        "url": _own_address(request.user, one.version.submission_id),
    }
    return render(request, "web/matches/version.html", context)


def match_of(viewer: Viewer, pk: int) -> Match:
    """Return a match with all its parts. Raises Http404 where this person does not see it."""
    return get_object_or_404(matches_seen_by(viewer).select_related("board__version"), pk=pk)


def title_of(match: Match) -> str:
    return f"{match.human.shown_name} against {match.model}"


def said(report: Report) -> str:
    """Return the score of a match as a sentence."""
    human, machine = report.human.best, report.machine.best
    name = report.match.human.shown_name
    if not human or not machine:
        ahead = [(name, human), (report.match.model, machine)]
        found = [f"{who} has {times(one.speedup)}" for who, one in ahead if one]
        return f"{found[0]}; the other side has no correct kernel yet." if found else "No correct kernel yet."
    figures = f"{times(human.speedup)} by hand, {times(machine.speedup)} by the machine"
    if report.result == TIE:
        return f"A tie within noise: {figures}."
    return f"{name if report.result == HUMAN else report.match.model} leads: {figures}."


def match_page(request: HttpRequest, match: Match, predicting: ActForm | None = None) -> HttpResponse:
    report = report_on(match, timezone.now())
    user = request.user if isinstance(request.user, User) else None
    human, machine = timelines(report)
    submissions = [one.version.submission_id for side in report.sides for one in side.versions]
    mine, operates = (bool(user and check(user, match)) for check in (is_member, is_operator))
    is_staff = bool(user and is_staff_of(user, match))
    context = {
        "match": match,
        "report": report,
        "title": title_of(match),
        "said": said(report),
        "is_live": report.is_waiting and report.prediction is not None,
        "sides": [(report.human, human, match.human.shown_name), (report.machine, machine, match.model)],
        "own_pages": _pages_seen(user, submissions),
        "predictions": predictions(report.expectations),
        "measured": report.measured,
        "agrees": report.measured and report.prediction and report.measured.bounds == report.prediction.bound,
        "machine_said": MACHINES[match.machine].partition(":")[0],
        "is_member": mine,
        "is_operator": operates,
        "is_staff": is_staff,
        "may_take_over": (mine or is_staff) and not operates and not report.machine.versions and not match.closed_at,
        "may_close": not match.closed_at and not acts.awaits_grading(match),
        "may_choose": bool(user and user.is_staff and match.is_public),
        "has_consent": (not mine or match.human_public_at) and (not operates or match.machine_public_at),
        "predicting": predicting or PredictForm(),
        "choosing": ChooseForm(),
        "command": f"photofinish match play {match.pk} --proposer URL --model NAME",
    }
    return render(request, "web/matches/detail.html", context, status=predicting.status if predicting else 200)


def _pages_seen(user: User | None, keys: list[int]) -> set[int]:
    """Return the submissions whose own page this person may open."""
    return set(view.visible_to(user).filter(pk__in=keys).values_list("pk", flat=True)) if user else set()


def _own_address(viewer: Viewer, pk: int) -> str:
    return f"/submissions/{pk}" if isinstance(viewer, User) and _pages_seen(viewer, [pk]) else ""


def _code_to_start(match: Match, user: User) -> tuple[str, str]:
    """Return code and file name to begin a version with: the board's draft, the last version, or starter code."""
    if (draft := draft_of(user, match.board.slug)) is not None:
        return draft.source, draft.filename
    last = match.versions.filter(side=HUMAN).select_related("submission").order_by("-number").first()
    if last is not None:
        return last.submission.source, last.submission.filename
    problem = starter_code.problem_of(match.board.version, match.board.slug)
    tabs = starter_code.starters(problem, [match.board.hardware], {})
    return (tabs[0].text, "") if tabs else ("", "")


def _send_page(request: HttpRequest, match: Match, form: VersionForm, status: int = 200) -> HttpResponse:
    context = {
        "match": match,
        "title": title_of(match),
        "form": form,
        "number": acts.number_of_next(match, HUMAN),
        "wanted": match.board.version.part("submission_name", PYTHON_NAME),
        "licences": LICENCES,
        "has_prediction": hasattr(match, "prediction"),
    }
    return render(request, "web/matches/send.html", context, status=status)


def _paste_page(request: HttpRequest, match: Match, form: AnswerForm, status: int) -> HttpResponse:
    context = {
        "match": match,
        "title": title_of(match),
        "form": form,
        "number": acts.number_of_next(match, MACHINE),
    }
    return render(request, "web/matches/paste.html", context, status=status)
