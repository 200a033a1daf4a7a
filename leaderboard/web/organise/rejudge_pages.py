"""Re-judging sets, for organisers: the list, making a set, its effect, and apply, discard or stop."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import has_role
from leaderboard.errors import UserError
from leaderboard.judging.models import RejudgeItem, RejudgeSet
from leaderboard.judging.work import FINISHED
from leaderboard.rejudging import apply as rejudging_acts
from leaderboard.rejudging.compare import Comparison, Difference, compare
from leaderboard.rejudging.select import estimate_s
from leaderboard.rejudging.sets import discard_set, make_set, stop_set
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ReasonForm
from leaderboard.web.organise.exports import csv_lines
from leaderboard.web.organise.rejudge_form import RejudgeForm, competitions_of

PAGE_ROWS: Final = 50
PAST_ROWS: Final = 100
FATES: Final = {
    "": "not judged yet",
    RejudgeItem.APPLIED: "gets the new verdict",
    RejudgeItem.NEWER: "judged anew since: that stands",
    RejudgeItem.REJECTED: "rejected by a person: that stands",
    RejudgeItem.NO_VERDICT: "no verdict: what it had stands",
}
TOLD: Final = {
    "published": "on their boards",
    "held": "held for review",
    "failed": "without a line",
    RejudgeItem.NEWER: "judged anew since",
    RejudgeItem.REJECTED: "rejected by a person",
    RejudgeItem.NO_VERDICT: "without a new verdict",
}
COLUMNS: Final = (
    *("submission", "board", "hardware", "entrant", "mode", "fate", "verdict_before", "verdict_after"),
    *("ratio_before", "half_width_before", "score_us_before", "epoch_before"),
    *("ratio_after", "half_width_after", "score_us_after", "epoch_after"),
    *("factor", "beyond_noise", "rank_before", "rank_after"),
)


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    seen = competitions_of(user_of(request), Role.VIEWER)
    if not seen:
        raise Http404
    judged = Count("items", filter=Q(items__after__state__in=FINISHED))
    sets = RejudgeSet.objects.filter(competition__in=seen).select_related("competition", "board", "created_by")
    context = {
        "sets": sets.annotate(size=Count("items"), judged=judged)[:PAST_ROWS],
        "may_make": bool(competitions_of(user_of(request), Role.OWNER)),
    }
    return render(request, "web/rejudge_sets.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Preview a set, and make it when the same form is sent again."""
    user = user_of(request)
    if not competitions_of(user, Role.OWNER):
        raise Http404
    form = RejudgeForm(user, request.POST if request.method == "POST" else None)
    if request.method == "GET" or not form.is_valid():
        return _new_page(request, form, status=400 if form.is_bound else 200)
    competition, board, selection = form.competition, form.board, form.selection
    try:
        attempts = rejudging_acts.select_for_rejudging(competition=competition, board=board, selection=selection)
        if request.POST.get("go") != "make":
            found = {"submissions": len(attempts), "estimate_s": estimate_s(attempts)}
            return _new_page(request, form, found=found)
        chosen = make_set(
            competition=competition,
            board=board,
            name=form.cleaned_data["name"],
            why=form.cleaned_data["why"],
            selection=selection,
            attempts=attempts,
            actor=user,
            now=timezone.now(),
        )
    except UserError as error:
        form.add_error(error.field if error.field in form.fields else "kind", f"{error.message}.")
        return _new_page(request, form, status=error.status)
    return redirect(f"/rejudge/{chosen.pk}")


@login_required
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _detail_page(request, _found(request, pk), ReasonForm())


@login_required
@require_safe
def export(request: HttpRequest, pk: int) -> HttpResponse:
    chosen = _found(request, pk)
    text = csv_lines([COLUMNS, *map(_csv_row, compare(chosen).rows)])
    headers = {"Content-Disposition": f'attachment; filename="rejudge-{chosen.pk}.csv"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@login_required
@require_POST
def apply(request: HttpRequest, pk: int) -> HttpResponse:
    chosen, form = _found(request, pk), ReasonForm(request.POST)
    wanted = {name: name in request.POST for name in ("leave_out", "anyway")}
    if not form.is_valid():
        return _detail_page(request, chosen, form, status=400)
    reason = form.cleaned_data["reason"]
    try:
        told = rejudging_acts.apply_rejudging(
            chosen=chosen, actor=user_of(request), reason=reason, now=timezone.now(), **wanted
        )
    except UserError as error:
        return _refused(request, chosen, form, error)
    messages.success(request, "It was applied already." if told is None else f"Applied: {_said(told)}.")
    return redirect(f"/rejudge/{pk}")


@login_required
@require_POST
def attempt(request: HttpRequest, pk: int) -> HttpResponse:
    chosen, user = _found(request, pk), user_of(request)
    try:
        told = rejudging_acts.try_rejudging(chosen=chosen, actor=user, now=timezone.now())
    except UserError as error:
        return _refused(request, chosen, ReasonForm(), error)
    messages.info(request, f"Applying it now would come to: {_said(told)}. Nothing was changed.")
    return redirect(f"/rejudge/{pk}")


@login_required
@require_POST
def discard(request: HttpRequest, pk: int) -> HttpResponse:
    chosen, form = _found(request, pk), ReasonForm(request.POST)
    if not form.is_valid():
        return _detail_page(request, chosen, form, status=400)
    reason = form.cleaned_data["reason"]
    try:
        done = discard_set(chosen=chosen, actor=user_of(request), reason=reason, now=timezone.now())
    except UserError as error:
        return _refused(request, chosen, form, error)
    messages.success(request, "Discarded: everything is as it was." if done else "It was discarded already.")
    return redirect(f"/rejudge/{pk}")


@login_required
@require_POST
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    chosen, form = _found(request, pk), ReasonForm(request.POST)
    if not form.is_valid():
        return _detail_page(request, chosen, form, status=400)
    reason = form.cleaned_data["reason"]
    try:
        count = stop_set(chosen=chosen, actor=user_of(request), reason=reason, now=timezone.now())
    except UserError as error:
        return _refused(request, chosen, form, error)
    messages.success(request, f"Stopped: {count} called off. What runs is finished.")
    return redirect(f"/rejudge/{pk}")


def _found(request: HttpRequest, pk: int) -> RejudgeSet:
    """Return the set. A user without a role in its competition gets a 404."""
    sets = RejudgeSet.objects.select_related("competition", "board", "created_by", "settled_by")
    chosen = get_object_or_404(sets, pk=pk)
    if not has_role(user_of(request), chosen.competition, Role.VIEWER):
        raise Http404
    return chosen


def _new_page(
    request: HttpRequest, form: RejudgeForm, *, found: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    form.describe()
    return render(request, "web/rejudge_new.html", {"form": form, "found": found}, status=status)


def _refused(request: HttpRequest, chosen: RejudgeSet, form: ReasonForm, error: UserError) -> HttpResponse:
    """Render the page again with the input and the error."""
    messages.error(request, f"Not done: {error.message}.")
    return _detail_page(request, chosen, form, status=error.status)


def _detail_page(request: HttpRequest, chosen: RejudgeSet, form: ReasonForm, status: int = 200) -> HttpResponse:
    form.describe()
    found = compare(chosen)
    filters = _filters(found)
    shown = request.GET.get("show", "all")
    rows = filters.get(shown, filters["all"])
    given = request.GET.get("offset", "0")
    offset = min(int(given), len(rows)) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    context = {
        "set": chosen,
        "found": found,
        "counts": Counter(row.fate for row in found.rows),
        "filters": [(name, len(same)) for name, same in filters.items()],
        "shown": shown if shown in filters else "all",
        "rows": [{"difference": row, "fate": FATES[row.fate]} for row in rows[offset : offset + PAGE_ROWS]],
        "waiting": len(filters["not judged"]),
        "earlier": max(0, offset - PAGE_ROWS) if offset else None,
        "later": offset + PAGE_ROWS if offset + PAGE_ROWS < len(rows) else None,
        "form": form,
        "may_settle": chosen.is_open and has_role(user_of(request), chosen.competition, Role.OWNER),
        "wanted": {name for name in ("leave_out", "anyway") if name in request.POST},
    }
    return render(request, "web/rejudge_set.html", context, status=status)


def _filters(found: Comparison) -> dict[str, list[Difference]]:
    judged = [row for row in found.rows if row.fate]
    return {
        "all": found.rows,
        "same verdict": [row for row in judged if row.same_verdict],
        "other verdict": [row for row in judged if not row.same_verdict],
        "other time": [row for row in judged if row.beyond_noise],
        "other rank": [row for row in judged if row.moved],
        "not applied": [row for row in judged if row.fate != RejudgeItem.APPLIED],
        "not judged": [row for row in found.rows if not row.fate],
    }


def _said(told: Counter[str]) -> str:
    return ", ".join(f"{told[name]} {said}" for name, said in TOLD.items() if told[name]) or "nothing"


def _csv_row(row: Difference) -> list[Any]:
    submission = row.item.submission
    board = submission.board
    figures = [
        getattr(side, name, None)
        for side in (row.before, row.after)
        for name in ("ratio", "half_width", "score_us", "epoch")
    ]
    verdicts = [side.outcome or side.state for side in (row.item.before, row.item.after)]
    whose = [submission.pk, board.slug, board.hardware, submission.entrant.shown_name, submission.mode]
    fate = row.fate or "not_judged"
    return [*whose, fate, *verdicts, *figures, row.factor, row.beyond_noise, row.rank_before, row.rank_after]
