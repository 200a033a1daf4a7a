"""The reviewers' queue, a page per case, the owner's answer and appeal, and suspended accounts.

A case's page answers 404 to people who may not review it.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.errors import UserError
from leaderboard.review.case import acts, states
from leaderboard.review.models import Case, Finding
from leaderboard.review.permissions import is_reviewer_anywhere, may_suspend_somewhere
from leaderboard.review.suspension import standing_suspensions
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import add_refusal
from leaderboard.web.review import case
from leaderboard.web.review.acts import ACTS, AccountForm, HoldForm, OwnerForm, form_for
from leaderboard.web.review.owner import case_of
from leaderboard.web.review.queue import Filters, queue
from leaderboard.web.submissions.pages import detail_page, visible


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return _queue_page(request, HoldForm(auto_id="hold_%s"))


@login_required
@require_POST
def hold(request: HttpRequest) -> HttpResponse:
    form = HoldForm(request.POST, auto_id="hold_%s")
    if not form.is_valid():
        return _queue_page(request, form, status=400)
    actor, reason = user_of(request), form.cleaned_data["reason"]
    try:
        result = case.ranking(actor, form.cleaned_data["submission"])
        row = pipeline.hold_result(result=result, actor=actor, reason=reason, now=timezone.now())
    except UserError as error:
        _refuse(form, error)
        return _queue_page(request, form, status=error.status)
    messages.success(request, "Held. The result waits for a decision.")
    return redirect(f"/review/{row.pk}")


def _queue_page(request: HttpRequest, hold_form: HoldForm, status: int = 200) -> HttpResponse:
    user = user_of(request)
    if not is_reviewer_anywhere(user):
        raise Http404
    found = queue(user, Filters.of(request.GET), timezone.now())
    context = {
        "queue": found,
        "ever_held": bool(found["rows"]) or Finding.objects.exists(),
        "hold_form": hold_form,
        "may_suspend": may_suspend_somewhere(user),
    }
    return render(request, "web/review.html", context, status=status)


@login_required
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _case_page(request, case.find(user_of(request), pk), {})


@login_required
@require_POST
def act(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    row = case.find(user_of(request), pk)
    if name not in ACTS:
        raise Http404
    form = form_for(name, request.POST)
    if not form.is_valid():
        return _case_page(request, row, {name: form}, status=400)
    try:
        ACTS[name](row.result, user_of(request), form.cleaned_data, timezone.now())
    except UserError as error:
        _refuse(form, error)
        return _case_page(request, row, {name: form}, status=error.status)
    messages.success(request, f"{ACTS[name].done}: submission {row.result.attempt.submission_id}.")
    return redirect(f"/review/{pk}")


def _case_page(request: HttpRequest, row: Case, wrong: dict[str, Any], status: int = 200) -> HttpResponse:
    """Render the page of a case. `wrong`: the form of an act that was not done, with its input."""
    context = case.context(row, user_of(request), timezone.now())
    names = [*context["acts"], states.CLAIM, states.RELEASE, states.NOTE, states.LABEL, states.RERUN]
    acts = {name: form_for(name, seen=context["last_line"]) for name in (*names, "suspend", "reinstate")} | wrong
    if states.REJECT in acts and not context["others"]:  # a run that ranks by the time of sending is held all the same
        acts[states.REJECT].fields["hold_others"].widget = forms.HiddenInput()
    errors = [text for form in wrong.values() for texts in form.errors.values() for text in texts]
    context |= {"forms": acts, "wrong": wrong, "errors": errors}
    return render(request, "web/review_case.html", context, status=status)


@login_required
@require_POST
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    return _by_owner(request, pk, acts.answer, "Your answer was sent to the reviewers.")


@login_required
@require_POST
def appeal(request: HttpRequest, pk: int) -> HttpResponse:
    return _by_owner(request, pk, acts.appeal, "Your appeal was sent. A different reviewer will answer it.")


def _by_owner(request: HttpRequest, pk: int, act: Any, done: str) -> HttpResponse:
    item, form = visible(request, pk), OwnerForm(request.POST, auto_id="review_%s")
    row = case_of(item.submission)
    if row is None:
        raise Http404
    if not form.is_valid():
        return detail_page(request, item, form, status=400)
    try:
        act(result=row.result, actor=user_of(request), text=form.cleaned_data["text"], now=timezone.now())
    except UserError as error:
        _refuse(form, error, {error.field: "text"})
        return detail_page(request, item, form, status=error.status)
    messages.success(request, done)
    return redirect(item.url)


def _refuse(form: forms.Form, error: UserError, names: dict[str, str] | None = None) -> None:
    """Add an act's refusal to the form. The message about a result has no subject of its own."""
    if error.field == "result":
        error.message = f"this result {error.message}"
    add_refusal(form, error, names)


@login_required
@require_http_methods(["GET", "POST"])
def accounts(request: HttpRequest) -> HttpResponse:
    """Suspended accounts; suspension by name, and reinstatement. For owners, and in all competitions for staff."""
    actor = user_of(request)
    owned, status = Competition.objects.all(), 200
    if not actor.is_staff:
        owned = owned.filter(roles__user=actor, roles__role=Role.OWNER)
        if not owned.exists():
            raise Http404
    form = AccountForm(request.POST or None, owned=owned, everywhere=actor.is_staff)
    if request.method == "POST":
        try:
            if form.is_valid():
                return _suspended(request, form.cleaned_data)
            status = 400
        except UserError as error:
            add_refusal(form, error, {"user": "name"})
            status = error.status
    rows = standing_suspensions(owned, everywhere=actor.is_staff)
    return render(request, "web/review_accounts.html", {"form": form, "rows": rows}, status=status)


def _suspended(request: HttpRequest, sent: dict[str, Any]) -> HttpResponse:
    user = User.objects.filter(username__iexact=sent["name"]).first()
    if user is None:
        raise UserError("user", sent["name"], f"there is no account “{sent['name']}”", status=404)
    act = {"suspend": pipeline.suspend_account, "reinstate": pipeline.reinstate_account}[sent["act"]]
    place = sent["where"]
    act(user=user.account, competition=place, actor=user_of(request), reason=sent["reason"], now=timezone.now())
    messages.success(request, f"{ACTS[sent['act']].done}: {sent['name']}.")
    return redirect("/review/accounts")
