"""Two submissions of a person side by side: figures, cases and the difference of their code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.judging.models import Result
from leaderboard.submissions.diff import Diff, unified
from leaderboard.submissions.models import Submission
from leaderboard.web.submissions.progress import cases_shown
from leaderboard.web.submissions.view import Opened

MOST_CASES: Final = 200  # rows


@dataclass(frozen=True)
class CaseRow:
    """A case of both submissions. `change`: the second's time over the first's, less 1; None: not timed twice."""

    name: str
    kind: str
    first: dict[str, Any] | None
    second: dict[str, Any] | None
    change: float | None


def best_of(submission: Submission, user: User) -> int | None:
    """Return the key of the person's fastest other submission to the same board; None without a timed pass.

    Times of one epoch come first, because times of different epochs do not compare.
    """
    timed = Result.objects.filter(
        ~Q(attempt__submission=submission),
        attempt__submission__owner__in=logins_of(user),
        attempt__submission__board=submission.board_id,
        attempt__is_current=True,
        ratio__isnull=False,
    )
    found = timed.order_by("ratio", "pk")
    epoch = Result.objects.filter(attempt__submission=submission, attempt__is_current=True, ratio__isnull=False)
    epochs = list(epoch.values_list("epoch", flat=True))
    keys = found.values_list("attempt__submission_id", flat=True)
    return (keys.filter(epoch=epochs[0]).first() if epochs else None) or keys.first()


def case_rows(first: Opened, second: Opened) -> list[CaseRow]:
    """Pair the cases of two reports by name; repeated names by their order."""
    left, right = _by_name(first), _by_name(second)
    rows = []
    for key in list(dict.fromkeys([*left, *right]))[:MOST_CASES]:
        one, other = left.get(key), right.get(key)
        times = [case["measured_us"] for case in (one, other) if case is not None and case["measured_us"]]
        change = times[1] / times[0] - 1 if len(times) == 2 else None
        rows.append(CaseRow(key[0], (one or other or {})["kind"], one, other, change))
    return rows


def difference(first: Opened, second: Opened) -> Diff:
    if first.code is None or second.code is None:
        return Diff(refusal=f"The code is taken down: {first.taken_down or second.taken_down}")
    return unified(first.code, second.code)


def _by_name(item: Opened) -> dict[tuple[str, int], dict[str, Any]]:
    cases = cases_shown(item)
    shown: Sequence[dict[str, Any]] = [*cases.rows, *cases.quiet]
    counts: dict[str, int] = {}
    found = {}
    for case in shown:
        counts[case["name"]] = counts.get(case["name"], 0) + 1
        found[case["name"], counts[case["name"]]] = case
    return found
