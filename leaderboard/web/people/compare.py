"""Two published entries side by side: figures, timed cases, and the difference of their code where both are public."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.permissions import Viewer
from leaderboard.submissions.diff import Diff, unified
from leaderboard.web.boards.entries import Published, published
from leaderboard.web.people.cases import pairs, run_of

HIDDEN: Final = "The code of {} is not public{}."


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Compare the entries `a` and `b`. An entry that the viewer may not see answers like an absent one."""
    numbers = [request.GET.get(name, "").strip() for name in ("a", "b")]
    if not all(numbers):
        return render(request, "web/compare.html", {"numbers": numbers})
    wrong = next((text for text in numbers if not (text.isascii() and text.isdigit() and len(text) < 19)), None)
    if wrong is not None:
        context = {"numbers": [text[:40] for text in numbers], "problem": wrong_number(wrong)}
        return render(request, "web/compare.html", context, status=400)
    try:
        found = comparison(int(numbers[0]), int(numbers[1]), request.user)
    except Http404:
        problem = "One of these entries is not published. Take the number from the address of an entry’s page."
        return render(request, "web/compare.html", {"numbers": numbers, "problem": problem}, status=404)
    return render(request, "web/compare.html", {"numbers": numbers, **found})


def comparison(first_pk: int, second_pk: int, viewer: Viewer) -> dict[str, Any]:
    """Return two entries as page and API compare them. Raises Http404 unless this viewer may see both."""
    now = timezone.now()
    first = published(first_pk, viewer, now)
    second = first if first_pk == second_pk else published(second_pk, viewer, now)
    times = [run_of(found.entry).timed for found in (first, second)]
    same_problem = first.entry.board.problem_id == second.entry.board.problem_id
    return {
        "sides": [first, second],
        "times": times,
        "pairs": pairs(times[0].rows, times[1].rows) if same_problem else [],
        "same_problem": same_problem,
        "comparable": same_problem
        and (first.entry.board_id, first.entry.epoch) == (second.entry.board_id, second.entry.epoch),
        "change": first.standing.value.ratio / second.standing.value.ratio,
        "diff": difference(first, second),
    }


def wrong_number(text: str) -> str:
    return f"“{text[:40]}” is not the number of an entry. Take it from the address of the entry’s page."


def difference(first: Published, second: Published) -> Diff:
    for found in (first, second):
        if found.code is None:
            why = " because the site has taken it down" if found.taken_down else ""
            return Diff(refusal=HIDDEN.format(f"entry {found.submission.pk}", why))
    return unified(first.code or "", second.code or "")
