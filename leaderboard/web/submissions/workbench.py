"""Pages of the loop: drafts while typing, the same code once more, two submissions side by side, the welcome."""

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Case, When
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard import pipeline
from leaderboard.admissions.door import refusals, seen_hardware
from leaderboard.competitions.models import Board
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.errors import UserError
from leaderboard.judging.archive import look
from leaderboard.judging.lease import clock
from leaderboard.judging.models import Result
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.permissions import may_dispose
from leaderboard.submissions.workspace import drop_draft, end_welcome, save_draft, save_note
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.review import evidence
from leaderboard.web.submissions import compare, progress, view
from leaderboard.web.submissions.meanings import MEANINGS, TELEMETRY
from leaderboard.web.submissions.prefill import number_of
from leaderboard.web.submissions.syntax import PYTHON_NAME, first_fault

PROPOSED: Final = 6  # boards of the welcome
LOOKED_AT: Final = 60  # of the open boards, for a proposal


@login_required
@require_POST
def draft(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep the draft of a board, and answer with the first syntax error of its Python code."""
    names = boards_seen_by(request.user).filter(slug=slug).values_list("version__bundle__submission_name", flat=True)
    if not (wanted := list(names[:1])):
        raise Http404
    user = user_of(request)
    sent = {name: request.POST.get(name, "") for name in ("filename", "hardware", "mode")}
    source, origin = request.POST.get("code", "").replace("\r\n", "\n"), number_of(request.POST.get("remixed_from", ""))
    try:
        kept = save_draft(user=user, slug=slug, source=source, **sent, remixed_from=origin, now=timezone.now())
    except UserError as error:
        return JsonResponse({"detail": error.message}, status=error.status)
    is_python = (sent["filename"] or wanted[0] or PYTHON_NAME).endswith(".py")
    fault = first_fault(source.encode(), user) if kept is not None and is_python else None
    return JsonResponse(
        {
            "saved_at": kept.saved_at if kept else None,
            "fault": {"line": fault.line, "column": fault.column, "message": fault.message} if fault else None,
        }
    )


@login_required
@require_POST
def discard(request: HttpRequest, slug: str) -> HttpResponse:
    drop_draft(user=user_of(request), slug=slug)
    return redirect(f"/boards/{slug}/submit")


@login_required
@require_POST
def send_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Send the code of an own submission once more, in the chosen mode."""
    user = user_of(request)
    submission = get_object_or_404(view.sent_by(user), pk=pk)
    if not may_dispose(user, submission):
        raise Http404
    item = view.Opened(submission, user)
    if item.code is None:
        messages.warning(request, "Not sent: the code is taken down.")
        return redirect(item.url)
    chosen = request.POST.get("mode", "ranked")
    same: dict[str, Any] = {"licence": submission.licence, "remixed_from": submission.remixed_from_id}
    upload = Upload(item.board, item.hardware, chosen, item.filename, item.code.encode(), **same)
    try:
        sent = pipeline.submit(upload, owner=user, now=clock())
    except UserError as error:
        messages.warning(request, f"Not sent: {error.message}.")
        return redirect(item.url)
    return redirect(f"/submissions/{sent.pk}")


@login_required
@require_POST
def note(request: HttpRequest, pk: int) -> HttpResponse:
    """Save the person's own note on a submission of theirs or their team's."""
    user = user_of(request)
    submission = get_object_or_404(view.own_of(user), pk=pk)
    text = request.POST.get("text", "")
    try:
        save_note(user=user, submission=submission, text=text, now=timezone.now())
        messages.success(request, "Your note is saved." if text.strip() else "Your note is removed.")
    except UserError as error:
        messages.warning(request, f"The note is not saved: {error.message}.")
    return redirect(f"/submissions/{pk}")


@login_required
@require_safe
def measured(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the evidence of the verdict to sender and team: cases, samples of both clocks, telemetry, machine."""
    user = user_of(request)
    submission = get_object_or_404(view.own_of(user).select_related(*view.PARTS), pk=pk)
    current = Result.objects.select_related("attempt__runner").filter(attempt__submission=pk, attempt__is_current=True)
    result = current.first()
    if result is None:
        raise Http404
    report, problem = look(result)
    shown = evidence.drawings(report)
    machine = dict(shown["fingerprint"])
    context = {
        "sub": view.shown_list([submission])[0],
        "result": result,
        "report_problem": problem,
        **shown,
        "provenance": evidence.described({name: machine[name] for name in machine if name in evidence.PROVENANCE}),
        "machine": evidence.described({name: machine[name] for name in machine if name not in evidence.PROVENANCE}),
        "telemetry_said": TELEMETRY.get(result.telemetry, ""),
        "meanings": MEANINGS,
        "seeds": progress.seeds_shown(submission, shown["parsed"], timezone.now()),
    }
    return render(request, "web/measured.html", context)


@login_required
@require_safe
def compared(request: HttpRequest, pk: int, other: int) -> HttpResponse:
    """Show two own submissions side by side. A stranger's submission answers like an absent one."""
    if pk == other:
        raise Http404
    user = user_of(request)
    own = view.own_of(user).select_related(*view.PARTS)
    first, second = (view.Opened(get_object_or_404(own, pk=key), user) for key in (other, pk))
    same_board = first.submission.board_id == second.submission.board_id
    context = {
        "items": [first, second],
        "first": first,
        "second": second,
        "cases": compare.case_rows(first, second)
        if first.submission.board.slug == second.submission.board.slug
        else [],
        "diff": compare.difference(first, second),
        "is_comparable": same_board and first.epoch == second.epoch,
        "same_board": same_board,
        "change": second.score_us / first.score_us - 1 if first.score_us and second.score_us and same_board else None,
    }
    return render(request, "web/compare_submissions.html", context)


@login_required
@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    return render(request, "web/welcome.html", {"boards": proposed_boards(request.user)})


@login_required
@require_POST
def dismiss_welcome(request: HttpRequest) -> HttpResponse:
    end_welcome(user_of(request), timezone.now())
    return redirect("/boards")


def proposed_boards(user: Any) -> list[Board]:
    """Return open boards with a starter and a runner, a board per problem.

    Boards whose contest is not over come first, then boards without rules to accept, then boards of cpus.
    """
    now = timezone.now()
    listed = boards_seen_by(user, listed=True).for_lists().filter(version__bundle__templates__isnull=False)
    seen = seen_hardware()
    with_runner = listed.filter(hardware__in=seen).exclude(version__bundle__templates={})
    by_ease = with_runner.order_by(
        Case(When(competition__final_at__isnull=False, then=1), default=0),
        Case(When(competition__rules="", then=0), default=1),
        Case(When(hardware__iexact="cpu", then=0), default=1),
        "slug",
    )
    found = [board for board in by_ease[:LOOKED_AT] if board.is_open_at(now)]
    refused = refusals(found, seen=seen)
    chosen: dict[str, Board] = {}
    for board in found:
        if not refused[board.pk]:
            chosen.setdefault(board.slug, board)
    return list(chosen.values())[:PROPOSED]
