"""A user's own pages: send, list, follow and cancel submissions; their entrant in a competition.

The page of the entrant shows people, invites and profile. Each of its acts has its own address and plain form.
"""

import json
from datetime import datetime
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.admissions.door import newest_verdicts, starter_outcomes
from leaderboard.competitions.checks import LICENCES
from leaderboard.competitions.models import AGENT, HUMAN, MIXED, Competition
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants.enter import has_accepted
from leaderboard.errors import UserError
from leaderboard.judging.attempts import cancel as cancel_attempt
from leaderboard.judging.attempts import may_cancel
from leaderboard.judging.epochs import waits_for_epoch
from leaderboard.judging.lease import clock
from leaderboard.judging.models import QUEUED, AttemptEvent
from leaderboard.matches.models import Version
from leaderboard.matches.permissions import matches_seen_by
from leaderboard.review.permissions import may_review
from leaderboard.standings.publish import retraction_of
from leaderboard.standings.read.code import remixes_seen
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.permissions import may_dispose
from leaderboard.submissions.workspace import drop_draft, is_welcomed, notes_of
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards import cards
from leaderboard.web.boards.pages import refused_and_unseen
from leaderboard.web.forms import SubmitForm, add_refusal, sentence
from leaderboard.web.limits import check_team_acts
from leaderboard.web.middleware import with_wait
from leaderboard.web.organise.gate import act_of
from leaderboard.web.paging import page_at
from leaderboard.web.review.acts import OwnerForm
from leaderboard.web.review.case import for_owner
from leaderboard.web.submissions import compare, progress, starter_code, view
from leaderboard.web.submissions.meanings import MEANINGS, TELEMETRY
from leaderboard.web.submissions.mine import ACTS, mine, perform, what_is_left
from leaderboard.web.submissions.prefill import Prefill, prefill
from leaderboard.web.submissions.syntax import PYTHON_NAME, first_fault, marked_lines
from leaderboard.wording.outcomes import EPOCH_WAITS, FLAGS, STATES, UNRANKED
from problems.directives import DirectiveError, overruled_directives, read_directives
from runner.evidence.profiled import FORGEABLE

PAGE_ROWS: Final = 50
UPLOADED: Final = (
    "hardware",
    "mode",
    "filename",
    "data",
    "licence",
    "remixed_from",
)  # fields of SubmitForm that the pipeline takes
MODES: Final = {
    "test": "Checked on public and secret cases, without timing. The fastest mode.",
    "benchmark": "Checked and timed against the baseline. The result does not go to the board.",
    "ranked": "Checked and timed on secret inputs. A pass goes to the board.",
    "profile": "Checked, then run under a profiler that shows what bounds the kernel. Never ranked.",
}
SHOWN_SUBMISSIONS: Final = 20  # of a team
NO_PREFILL: Final = Prefill()
DIVISIONS: Final = {
    HUMAN: {"title": "Human", "about": "People write the code. A model may complete single lines."},
    AGENT: {"title": "Agent", "about": "A model writes the code by itself. Name the model below."},
    MIXED: {"title": "Mixed", "about": "People and a model write the code together. Name the model below."},
}


@login_required
@require_http_methods(["GET", "POST"])
def submit(request: HttpRequest, slug: str) -> HttpResponse:
    card = cards.card(slug, request.user, timezone.now())
    outcomes = starter_outcomes(newest_verdicts(card.versions.values()))
    starters = {
        hardware: starter_code.starters(starter_code.problem_of(version, slug), [hardware], outcomes)
        for hardware, version in card.versions.items()
    }
    if request.method == "GET":
        opened = prefill(request, user_of(request), card, starters)
        mode, hardware = request.GET.get("mode", "") or opened.mode, request.GET.get("hardware", "") or opened.hardware
        first = {
            "code": opened.code,
            "filename": opened.filename,
            "mode": mode if mode in MODES else "test",
            "hardware": hardware if hardware in card.hardware else card.places[0].hardware,
            "licence": opened.licence or card.competition.default_licence,
            "remixed_from": opened.remixed_from,
        }
        return _submit_page(request, card, SubmitForm(initial=first), starters, opened=opened)
    form = SubmitForm(request.POST, request.FILES)
    if not form.is_valid():
        return _submit_page(request, card, form, starters, 400)
    sent = form.cleaned_data
    try:
        _check_board(slug, sent["data"])
        name = sent["filename"] or card.version.part("submission_name", PYTHON_NAME)
        if name.endswith(".py"):
            _check_syntax(sent["data"], user_of(request))
        upload = Upload(board=slug, **{name: sent[name] for name in UPLOADED})
        submission = pipeline.submit(upload, owner=user_of(request), now=clock())
    except UserError as error:
        add_refusal(form, error, {"code": "file", "filename": "file"} if request.FILES else None)
        return with_wait(_submit_page(request, card, form, starters, error.status), error)
    drop_draft(user=user_of(request), slug=slug)
    return redirect(f"/submissions/{submission.pk}")


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    sent = view.sent_by(user_of(request))
    page = page_at(request, sent, order=view.NEWEST_FIRST, name="submissions", size=PAGE_ROWS)
    shown = view.shown_list(page.rows)
    notes = notes_of(user_of(request), (item.id for item in shown))
    for item in shown:
        item.note = notes.get(item.id, "")
    return render(request, "web/submissions.html", {"subs": shown, "page": page})


@login_required
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return detail_page(request, visible(request, pk))


@login_required
@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    item, actor = visible(request, pk), user_of(request)
    try:
        cancel_attempt(submission=item.submission, actor=actor, reason="cancelled on its page", now=timezone.now())
    except UserError as error:
        messages.warning(request, f"Not cancelled: {error.message}.")
    return redirect(item.url)


def visible(request: HttpRequest, pk: int) -> view.Opened:
    return view.Opened(get_object_or_404(view.visible_to(user_of(request)), pk=pk), user_of(request))


def _check_board(slug: str, data: bytes) -> None:
    """Refuse a file that names another board than its page. The page fixes the board, so the mismatch is a slip."""
    try:
        named = read_directives(data.decode(errors="replace")).board
    except DirectiveError:
        return  # the pipeline refuses it and names its line
    if named and named.lower() != slug.lower():
        raise UserError(
            "code",
            named,
            f"the code names the board “{named[:64]}”, but this page submits to “{slug}”; remove that line, "
            "or open the other board’s page",
        )


def _check_syntax(data: bytes, sender: User) -> None:
    """Refuse Python code with a syntax error, which would cost a submission. The message names line and column."""
    if (fault := first_fault(data, sender)) is not None:
        text = f"Python cannot read {fault}. Nothing was sent, and no quota was used: fix that line and send again"
        raise UserError("code", fault.line, text)


def _submit_page(
    request: HttpRequest,
    card: cards.Card,
    form: SubmitForm,
    starters: dict[str, list[starter_code.Tab]],
    status: int = 200,
    opened: Prefill = NO_PREFILL,
) -> HttpResponse:
    left = what_is_left(user_of(request), [place.board for place in card.places], timezone.now())
    modes = [
        {"value": mode, "about": about, "left": [level for level in left if level["mode"] == mode]}
        for mode, about in MODES.items()
    ]
    closed, problem = refused_and_unseen(card.places), starter_code.problem_of(card.version, card.slug)
    context = {
        "card": card,
        "problem": problem,
        "references": starter_code.files_of(problem),
        "tests": starter_code.case_names(problem.tests),
        "ranges": starter_code.secret_ranges(problem),
        "timed": starter_code.timed_names(card.versions),
        "form": form,
        "modes": modes,
        "starters": [{"hardware": hardware, "tabs": tabs} for hardware, tabs in starters.items() if tabs],
        "chosen": form["hardware"].value(),
        "opened": opened,
        "wanted": card.version.part("submission_name", PYTHON_NAME),
        "is_welcomed": is_welcomed(user_of(request), timezone.now()) and _first_pass(user_of(request)) is None,
        "licences": LICENCES,
        **closed,
        "is_closed": len(closed["refused"]) == len(card.places),
        "must_accept": not has_accepted(user_of(request), card.competition),
    }
    return render(request, "web/submit.html", context, status=status)


def detail_page(
    request: HttpRequest, item: view.Opened, owner_form: OwnerForm | None = None, status: int = 200
) -> HttpResponse:
    """Render a submission's page, also with the input of a refused answer or appeal."""
    sent_at = item.submission.created_at
    events = list(AttemptEvent.objects.since(sent_at).filter(submission=item.submission).order_by("id"))
    every = AttemptEvent.every.since(sent_at).order_by("id")
    current = list(every.filter(attempt=events[-1].attempt_id)) if events else []
    said = [event.message for event in current if event.message and event.state == item.status]
    last_message = said[-1] if said and item.code is not None else STATES.get(item.status, "")
    if item.status == QUEUED and waits_for_epoch(item.submission):
        last_message = EPOCH_WAITS
    retraction, has_report = retraction_of(item.submission), not item.report_problem
    user, now = user_of(request), timezone.now()
    is_own = item.submission.owner.account_id == user.account_id and may_dispose(user, item.submission)
    context = {
        "sub": item,
        "retraction": retraction,
        "remixes": remixes_seen(item.id, user, now),
        "version": Version.objects.filter(submission=item.id, match__in=matches_seen_by(user)).first(),
        "may_restore": retraction is not None and may_review(user_of(request), item.submission),
        "may_cancel": may_cancel(item.submission, user_of(request)) and not item.is_finished,
        "stations": progress.stations(item, current),
        "said": STATES,
        "last_message": last_message,
        "lost": sum(event.state == "lost" for event in events),
        "cases": progress.cases_shown(item),
        "forgeable_said": FORGEABLE,
        "logs": [(name, item.logs.get(name, "")) for name in ("stdout", "stderr") if item.outcome and has_report],
        "tries": progress.tries_of(item, timezone.now()),
        "history": progress.judged_again(item.submission),
        "notes": overruled_directives(
            item.code or "", board=item.submission.board.slug, hardware=item.submission.board.hardware
        ),
        "flags": [FLAGS.get(flag) or f"{flag.replace('_', ' ').capitalize()}." for flag in item.flags],
        "meanings": MEANINGS,
        "telemetry_said": TELEMETRY.get(item.telemetry, ""),
        "unranked_said": UNRANKED.get(item.unranked or "", ""),
        "is_own": is_own,
        "note": notes_of(user, [item.id]).get(item.id, "") if is_own else "",
        "may_send": is_own and item.code is not None and item.submission.board.is_open_at(now),
        "best": compare.best_of(item.submission, user) if is_own and item.is_finished else None,
        "marks_json": json.dumps(marked_lines(item.message, item.filename) if is_own and item.code is not None else []),
        "is_welcomed": is_own and item.mode == "test" and item.is_finished and _is_welcomed_by(item.id, user, now),
        **for_owner(item.submission, user, now, owner_form),
    }
    return render(request, "web/submission.html", context, status=status)


def _is_welcomed_by(submission: int, user: User, now: datetime) -> bool:
    """Return whether this submission's page shows the welcome: up to the first pass, with which the welcome ends."""
    if not is_welcomed(user, now):
        return False
    first = _first_pass(user)
    return first is None or submission <= first


def _first_pass(user: User) -> int | None:
    passed = view.sent_by(user).filter(attempts__is_current=True, attempts__outcome="passed")
    return passed.order_by("pk").values_list("pk", flat=True).first()


@login_required
@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    return _team_page(request, get_object_or_404(competitions_seen_by(request.user), slug=slug))


@login_required
@require_POST
def act_on_team(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    user, wanted = user_of(request), act_of(ACTS, name)
    given: dict[str, Any] = {field: request.POST.get(field, "") for field in wanted.fields}
    if "invite_id" in given:
        text = request.POST.get("invite", "")
        given["invite_id"] = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    if "tracks" in given:
        given["tracks"] = request.POST.getlist("declared")
    try:
        check_team_acts(user.account_id, name)
        made = perform(wanted, user, competition, given, timezone.now())
    except UserError as error:
        return with_wait(_team_page(request, competition, failed=name, error=error), error)
    messages.success(request, wanted.done.format(made=made, competition=competition, **given))
    return redirect(f"/competitions/{slug}/team")


def _team_page(
    request: HttpRequest, competition: Competition, *, failed: str = "", error: UserError | None = None
) -> HttpResponse:
    user = user_of(request)
    found = mine(user, competition, timezone.now())
    entrant = found["entrant"]
    of_team = view.visible_to(user).filter(entrant=entrant) if entrant and entrant.is_team else None
    context = found | {
        "divisions": [{"value": value, **DIVISIONS[value]} for value in DIVISIONS if value in competition.divisions],
        "subs": view.shown_list(of_team[:SHOWN_SUBMISSIONS]) if of_team is not None else [],
        "failed": failed,
        "error": sentence(error.message) if error else "",
        "sent": request.POST if error else {},
    }
    return render(request, "web/team.html", context, status=error.status if error else 200)
