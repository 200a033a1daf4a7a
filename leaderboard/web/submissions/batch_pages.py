"""The list of a person's batches, and the page of a batch: figures, curve of fast_p@k, stages, costs, candidates."""

from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.judging.batches import batches_of
from leaderboard.standings.ranking.sampling import curve_at, ks
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards.curves import MOST_CURVES, share_plot, stage_plot
from leaderboard.web.paging import page_at
from leaderboard.web.submissions.batches import Report, report_for, shown
from runner.evidence.feedback import STAGES

PAGE_ROWS: Final = 50
PS: Final = (0.0, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)  # rows of the table of fast_p@k
MEANINGS: Final = {  # of runner.evidence.feedback.STAGES, for the candidates that ended there
    "sent": "has a syntax error",
    "parsed": "failed to load or to compile",
    "built": "failed in its first case",
    "ran": "gave a wrong output, or failed in a later case",
    "correct": "gave right outputs and was not timed",
    "timed": "gave right outputs and was timed",
}


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    page = page_at(request, batches_of(user_of(request)), order=("-pk",), name="batches", size=PAGE_ROWS)
    return render(request, "web/batches.html", {"batches": shown(page.rows, timezone.now()), "page": page})


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        report = report_for(request.user, pk, timezone.now())
    except Http404:
        if request.user.is_authenticated:
            raise
        return redirect_to_login(request.get_full_path())
    rows = report.rows(PS)
    context = {
        "report": report,
        "batch": report.summary,
        "rows": [(row, row.fast[PS.index(1.0)], row.fast[PS.index(2.0)]) for row in rows],
        "ps": [(f"{p:g}", [(row.k, row.fast[place]) for row in rows]) for place, p in enumerate(PS)],
        "curves": _curves(report) if report.is_timed and rows else None,
        "stages": [(stage, MEANINGS[stage], report.stages[stage]) for stage in STAGES],
        "stage_plot": stage_plot([(line.number, line.item.state.stage, line.is_correct) for line in report.judged]),
    }
    return render(request, "web/batch.html", context)


def _curves(report: Report) -> dict[str, Any]:
    """Return the drawing of fast_p@k, and its steps for the slider: p, then a share for each k."""
    known = ks(report.attempts)
    drawn = known if len(known) <= MOST_CURVES else sorted({*known[::2], known[-1]})
    curves = {k: curve_at(report.attempts, k) for k in known}
    said = "problems" if len(report.attempts) > 1 else "chance"
    return {
        "plot": share_plot({f"k = {k}": curves[k] for k in drawn}),
        "up_title": f"{said} with a verified speedup among k attempts",
        "steps": [[same[0].p, *(round(step.share, 4) for step in same)] for same in zip(*curves.values(), strict=True)],
    }
