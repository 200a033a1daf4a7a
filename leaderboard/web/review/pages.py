"""The reviewers' queue, a page per case, and the owner's answer and appeal. Other people get a 404 for a case."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard import pipeline
from leaderboard.errors import UserError
from leaderboard.review.case import appeal as appealing
from leaderboard.review.case import ask as asking
from leaderboard.review.case import states
from leaderboard.review.models import Case, Finding
from leaderboard.review.permissions import is_reviewer_anywhere, may_suspend_somewhere
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.review import case
from leaderboard.web.review.acts import ACTS, DONE
from leaderboard.web.review.forms import HoldForm, OwnerForm, RejectForm, form_for
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
    try:
        result = case.ranking(user_of(request), form.cleaned_data["submission"])
        row = pipeline.hold_result(
            result=result, actor=user_of(request), reason=form.cleaned_data["reason"], now=timezone.now()
        )
    except UserError as error:
        form.add_error(error.field if error.field in form.fields else None, _sentence(error))
        return _queue_page(request, form, status=error.status)
    messages.success(request, "Held: it waits for a decision.")
    return redirect(f"/review/{row.pk}")


@login_required
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, _case(request, pk))


@login_required
@require_POST
def act(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    row = _case(request, pk)
    if name not in ACTS:
        raise Http404
    form = form_for(name, request.POST)
    if not form.is_valid():
        return _page(request, row, {name: form}, status=400)
    try:
        ACTS[name](row.result, user_of(request), form.cleaned_data, timezone.now())
    except UserError as error:
        form.add_error(error.field if error.field in form.fields else None, _sentence(error))
        return _page(request, row, {name: form}, status=error.status)
    messages.success(request, f"{DONE[name]}: submission {row.result.attempt.submission_id}.")
    return redirect(f"/review/{pk}")


@login_required
@require_POST
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    return _by_owner(request, pk, asking.answer, "Your answer was sent to the reviewers.")


@login_required
@require_POST
def appeal(request: HttpRequest, pk: int) -> HttpResponse:
    return _by_owner(request, pk, appealing.appeal, "Your appeal was sent; another reviewer will answer it.")


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
        form.add_error("text", _sentence(error))
        return detail_page(request, item, form, status=error.status)
    messages.success(request, done)
    return redirect(item.url)


def _queue_page(request: HttpRequest, hold_form: HoldForm, status: int = 200) -> HttpResponse:
    if not is_reviewer_anywhere(user_of(request)):
        raise Http404
    found = queue(user_of(request), Filters.of(request.GET), timezone.now())
    context = {
        "queue": found,
        "ever_held": bool(found.rows) or Finding.objects.exists(),
        "hold_form": hold_form,
        "may_suspend": may_suspend_somewhere(user_of(request)),
    }
    return render(request, "web/review.html", context, status=status)


def _case(request: HttpRequest, pk: int) -> Case:
    found = case.find(user_of(request), pk)
    if found is None:
        raise Http404
    return found


def _page(request: HttpRequest, row: Case, wrong: dict[str, Any] | None = None, status: int = 200) -> HttpResponse:
    """Render the page of a case. `wrong`: the form of an act that was not done, with its input."""
    context = case.context(row, user_of(request), timezone.now())
    forms = case.forms_of(context["acts"], context["last_line"]) | (wrong or {})
    if isinstance(rejecting := forms.get(states.REJECT), RejectForm) and not context["others"]:
        rejecting.hide_others()
    said_wrong = []
    for form in (wrong or {}).values():
        said_wrong += [text for texts in form.errors.values() for text in texts]
    context |= {"forms": forms, "wrong": wrong, "said_wrong": said_wrong}
    return render(request, "web/review_case.html", context, status=status)


def _sentence(error: UserError) -> str:
    """Return an error as a sentence. An error of the result itself gets a subject."""
    text = f"this result {error.message}" if error.field == "result" else error.message
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
