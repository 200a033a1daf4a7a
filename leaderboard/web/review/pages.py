"""The reviewers' queue, a page per case, the owner's answer and appeal, suspended accounts, figures without names.

A case's page answers 404 to people who may not review it.
"""

import re
from datetime import datetime
from functools import partial
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_of, competitions_seen_by
from leaderboard.errors import UserError
from leaderboard.review.case import acts, states
from leaderboard.review.integrity import LEAST, OTHERS, Integrity, integrity
from leaderboard.review.models import Case, Finding
from leaderboard.review.permissions import cases_for, is_reviewer_anywhere, may_suspend_somewhere
from leaderboard.review.rules.thresholds import RULES
from leaderboard.review.suspension import standing_suspensions
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.gate import act_of, posted, restricted_page, send
from leaderboard.web.review import case
from leaderboard.web.review.acts import ACTS, AccountForm, CaseForm, HoldForm, OwnerForm, form_for
from leaderboard.web.review.queue import ROWS, queue
from leaderboard.web.submissions.pages import detail_page, visible

RULE_MEANINGS: Final = {name: rule.meaning for name, rule in RULES.items()} | {
    OTHERS: "all rules that held fewer than five results each",
    "by_hand": "a reviewer held it, for example after a complaint",
    "rejected_before": "an earlier result of the same kernel had been rejected",
    "held_before": "an earlier result of the same kernel was held for a reason that no rule measures",
    "kernel_rejected": "another run of the same kernel was rejected",
    "record_failed": "its first place was not confirmed on fresh seeds",
}


@restricted_page("GET", "HEAD", to=is_reviewer_anywhere)
def index(request: HttpRequest) -> HttpResponse:
    return _queue_page(request, HoldForm(auto_id="hold_%s"))


@restricted_page("POST", to=is_reviewer_anywhere)
def hold(request: HttpRequest) -> HttpResponse:
    def act(*, submission: int, actor: User, **rest: Any) -> Case:
        return pipeline.hold_result(result=case.ranking(actor, submission), actor=actor, **rest)

    form, done = HoldForm(request.POST, auto_id="hold_%s"), "Held. The result waits for a decision."
    return send(request, form, act, to="/review/{result.pk}", done=done) or _queue_page(request, form)


@restricted_page("POST", to=is_reviewer_anywhere)
def act_on_chosen(request: HttpRequest) -> HttpResponse:
    """Claim or release the chosen cases. Decisions are taken on a case's own page, with its evidence in view."""
    wanted = act_of(
        {name: ACTS[name] for name in (states.CLAIM, states.RELEASE)}, request.POST.get("act", states.CLAIM)
    )
    user, now = user_of(request), timezone.now()
    chosen = {int(text) for text in request.POST.getlist("case")[:ROWS] if re.fullmatch("[0-9]{1,18}", text)}
    done, refused = [], []
    for row in cases_for(user).filter(pk__in=chosen).select_related("result__attempt__submission__board__competition"):
        number = row.result.attempt.submission_id
        try:
            wanted(result=row.result, actor=user, now=now, reason="")
            done.append(str(number))
        except UserError as error:
            refused.append(f"{number}: {error.message}")
    if done:
        messages.success(request, f"{wanted.done}: submission{pluralize(done)} {', '.join(done)}.")
    if refused or not done:
        messages.warning(request, f"Not done. {'; '.join(refused) or 'Choose a case'}.")
    return redirect(f"/review?{request.POST.get('from', '')[:500]}".rstrip("?"))


def _queue_page(request: HttpRequest, hold_form: HoldForm) -> HttpResponse:
    user = user_of(request)
    found = queue(request, user, timezone.now())
    context = {
        "queue": found,
        "ever_held": bool(found["rows"]) or Finding.objects.exists(),
        "hold_form": hold_form,
        "may_suspend": may_suspend_somewhere(user),
    }
    return render(request, "web/review.html", context, status=hold_form.status)


@login_required
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _case_page(request, case.find(user_of(request), pk), {})


@login_required
@require_POST
def act(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    row, wanted = case.find(user_of(request), pk), act_of(ACTS, name)
    form, do = form_for(name, request.POST), partial(wanted, result=row.result)
    done = f"{wanted.done}: submission {row.result.attempt.submission_id}."
    return send(request, form, do, to=f"/review/{pk}", done=done) or _case_page(request, row, {name: form})


def _case_page(request: HttpRequest, row: Case, wrong: dict[str, CaseForm]) -> HttpResponse:
    """Render the page of a case. `wrong`: the form of an act that was not done, with its input."""
    context = case.context(row, user_of(request), timezone.now())
    names = [*context["acts"], states.CLAIM, states.RELEASE, states.NOTE, states.LABEL, states.RERUN]
    acts = {name: form_for(name, seen=context["last_line"]) for name in (*names, "suspend", "reinstate")} | wrong
    if states.REJECT in acts and not context["others"]:  # a run that ranks by the time of sending is held all the same
        acts[states.REJECT].fields["hold_others"].widget = forms.HiddenInput()
    errors = [text for form in wrong.values() for texts in form.errors.values() for text in texts]
    context |= {"forms": acts, "wrong": wrong, "errors": errors}
    status = max((form.status for form in wrong.values()), default=200)
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
    row = case.case_of(item.submission)
    if row is None:
        raise Http404
    do, names = partial(act, result=row.result), dict.fromkeys(("result", "actor"), "text")
    return send(request, form, do, to=item.url, done=done, names=names) or detail_page(request, item, form, form.status)


@restricted_page("GET", "POST", to=may_suspend_somewhere)
def accounts(request: HttpRequest) -> HttpResponse:
    """Suspended accounts; suspension by name, and reinstatement. For owners, and in all competitions for staff."""
    actor = user_of(request)
    owned = competitions_of(actor, Role.OWNER)
    form = AccountForm(posted(request), owned=owned, everywhere=actor.is_staff)
    if answer := send(request, form, suspend_by_name, to="/review/accounts", done="{result}", names={"user": "name"}):
        return answer
    rows = standing_suspensions(owned, everywhere=actor.is_staff)
    return render(request, "web/review_accounts.html", {"form": form, "rows": rows}, status=form.status)


def suspend_by_name(*, act: str, name: str, where: Competition | None, **rest: Any) -> str:
    """Suspend or reinstate an account, and return the message about it."""
    user = User.objects.filter(username__iexact=name).first()
    if user is None:
        raise UserError("user", name, f"there is no account “{name}”", status=404)
    do = {"suspend": pipeline.suspend_account, "reinstate": pipeline.reinstate_account}[act]
    do(user=user.account, competition=where, **rest)
    return f"{ACTS[act].done}: {name}."


def integrity_figures(slug: str, viewer: Viewer, now: datetime) -> tuple[Competition, Integrity]:
    """Return a competition and the figures of its review. Raises Http404 for a competition hidden from the viewer."""
    competition = get_object_or_404(competitions_seen_by(viewer), slug=slug)
    return competition, integrity(competition, boards_seen_by(viewer).filter(competition=competition), now)


@require_safe
def integrity_page(request: HttpRequest, slug: str) -> HttpResponse:
    competition, found = integrity_figures(slug, request.user, timezone.now())

    def shown(number: int) -> str:
        told = found.told(number)
        return f"< {LEAST}" if told is None else f"{told:,}"

    def row(outcomes: Any) -> dict[str, str]:
        return {name: shown(getattr(outcomes, name)) for name in ("held", "cleared", "rejected", "waiting", "again")}

    context = {
        "competition": competition,
        "found": found,
        "rules": [row(one) | {"rule": one.rule, "meaning": RULE_MEANINGS.get(one.rule, "")} for one in found.rules],
        "total": row(found.total),
        "by_itself": row(found.by_itself),
        "appeals": {"made": shown(found.appeals), "granted": shown(found.granted), "upheld": shown(found.upheld)},
        "rejudged": shown(found.rejudged),
    }
    return render(request, "web/integrity.html", context)
