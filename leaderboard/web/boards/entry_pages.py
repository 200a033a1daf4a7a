"""Entry pages: a published entry with its code, retracting and restoring it, publishing its code; a board's history."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard import pipeline
from leaderboard.competitions.calendar import current_stage
from leaderboard.errors import UserError
from leaderboard.standings.read.boards import board_records
from leaderboard.standings.retract import may_retract, usual_reason
from leaderboard.standings.retract import retract as retract_kernel
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import release_code
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards import cards, curves
from leaderboard.web.boards.published import published
from leaderboard.web.submissions import view
from leaderboard.web.submissions.meanings import MEANINGS


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    now = timezone.now()
    found = published(pk, request.user, now)
    if found is None:
        raise Http404
    may = request.user.is_authenticated and may_retract(user_of(request), found.submission, now)
    return render(request, "web/published.html", {"found": found, "may_retract": may, "meanings": MEANINGS})


@require_safe
def code(request: HttpRequest, pk: int) -> HttpResponse:
    """The source file as it was sent."""
    found = published(pk, request.user, timezone.now())
    if found is None or found.code is None:
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="{found.submission.filename}"'}
    return HttpResponse(found.code, content_type="text/plain; charset=utf-8", headers=headers)


@login_required
@require_POST
def retract(request: HttpRequest, pk: int) -> HttpResponse:
    def act(submission: Submission) -> str:
        reason = request.POST.get("reason", "") or usual_reason(user_of(request), submission)
        lines = retract_kernel(submission=submission, actor=user_of(request), reason=reason, now=timezone.now())
        return f"Retracted: {lines} run{'' if lines == 1 else 's'} of this kernel left the board."

    return _act(request, pk, act)


@login_required
@require_POST
def restore(request: HttpRequest, pk: int) -> HttpResponse:
    def act(submission: Submission) -> str:
        reason = request.POST.get("reason", "")
        lines = pipeline.restore_entry(submission=submission, actor=user_of(request), reason=reason, now=timezone.now())
        return f"Restored: {lines} run{'' if lines == 1 else 's'} of this kernel on the board again."

    return _act(request, pk, act)


@login_required
@require_POST
def publish_code(request: HttpRequest, pk: int) -> HttpResponse:
    def act(submission: Submission) -> str:
        release_code(submission=submission, actor=user_of(request), now=timezone.now())
        return "The code is public wherever its line is shown."

    return _act(request, pk, act)


@require_safe
def history(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """A board's records in the current stage and timing epoch, as the public sees them."""
    now = timezone.now()
    card = cards.card(slug, request.user, now)
    place = card.place(hardware) if card else None
    if card is None or place is None:
        raise Http404
    records = board_records(place.board, stage=current_stage(place.board.competition.schedule, now), now=now)
    context = {"card": card, "hardware": hardware, "records": records, "plot": curves.record_plot(records, now)}
    return render(request, "web/history.html", context)


def _act(request: HttpRequest, pk: int, act: Callable[[Submission], str]) -> HttpResponse:
    submission = get_object_or_404(view.visible_to(user_of(request)), pk=pk)
    try:
        messages.success(request, act(submission))
    except UserError as error:
        messages.warning(request, f"Not done: {error.message}.")
    return redirect(f"/submissions/{pk}")
