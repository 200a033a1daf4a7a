"""Figures of a competition for organisers: submissions a day, the way from entering to a rank, failures by reason."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from django.db.models import Count
from django.db.models.functions import TruncDate
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from leaderboard.competitions.models import Competition
from leaderboard.judging.models import Attempt
from leaderboard.standings.models import Entry
from leaderboard.submissions.models import Submission
from leaderboard.web.organise.gate import competition_page, shell
from leaderboard.wording.outcomes import TITLES
from runner.wire import MODES

DAYS: Final = 30
MOST_REASONS: Final = 20
WIDTH, HEIGHT, STEP = 600, 120, 20  # of the drawing; a day's step
NOT_VERDICTS: Final = ("", "passed", "cancelled")


@dataclass(frozen=True)
class Day:
    """Submissions of a day. `x`, `y` and `height` place its bar; the ranked share is drawn darker."""

    date: Any
    counts: tuple[int, ...]  # in the order of MODES
    x: float
    y: float
    height: float
    ranked_y: float
    ranked_height: float

    @property
    def total(self) -> int:
        return sum(self.counts)


@competition_page("GET", "HEAD")
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    now = timezone.now()
    since = now - timedelta(days=DAYS)
    context = {
        "days": days(competition, now),
        "modes": MODES,
        "funnel": funnel(competition),
        "failures": failures(competition, since),
        "shown_days": DAYS,
        "width": WIDTH,
        "height": HEIGHT,
    }
    return shell(request, competition, "analytics", context)


def days(competition: Competition, now: datetime) -> list[Day]:
    """Return the last days, oldest first, days without a submission included."""
    first = now.date() - timedelta(days=DAYS - 1)
    since = datetime.combine(first, time(), tzinfo=UTC)
    found = Submission.objects.filter(board__competition=competition, created_at__gte=since).order_by()
    rows = found.values_list(TruncDate("created_at"), "mode").annotate(count=Count("pk"))
    counts = {(day, mode): count for day, mode, count in rows}
    dates = [first + timedelta(days=at) for at in range(DAYS)]
    table = [tuple(counts.get((date, mode), 0) for mode in MODES) for date in dates]
    scale = HEIGHT / max(1, *map(sum, table))
    ranked = MODES.index("ranked")
    return [
        Day(
            date=date,
            counts=row,
            x=at * STEP,
            y=round(HEIGHT - sum(row) * scale, 2),
            height=round(sum(row) * scale, 2),
            ranked_y=round(HEIGHT - row[ranked] * scale, 2),
            ranked_height=round(row[ranked] * scale, 2),
        )
        for at, (date, row) in enumerate(zip(dates, table, strict=True))
    ]


def funnel(competition: Competition) -> list[dict[str, Any]]:
    """Return the entrants that reached each step, with their share of those who entered."""
    sent = Submission.objects.filter(board__competition=competition)
    passed = Attempt.objects.current().filter(submission__board__competition=competition, outcome="passed")
    steps = [
        ("Entered", competition.entrants.count()),
        ("Sent something", sent.aggregate(n=Count("entrant", distinct=True))["n"]),
        ("Passed in any mode", passed.aggregate(n=Count("submission__entrant", distinct=True))["n"]),
        ("Sent a ranked submission", sent.filter(mode="ranked").aggregate(n=Count("entrant", distinct=True))["n"]),
        (
            "Have a line on a board",
            Entry.objects.filter(board__competition=competition).aggregate(n=Count("entrant", distinct=True))["n"],
        ),
    ]
    most = max(1, steps[0][1])
    return [{"step": step, "count": count, "share": count / most, "width": 100 * count / most} for step, count in steps]


def failures(competition: Competition, since: datetime) -> list[dict[str, Any]]:
    """Return the reasons why newest attempts did not pass, most frequent first."""
    found = Attempt.objects.current().filter(submission__board__competition=competition, sent_at__gte=since)
    rows = found.exclude(outcome__in=NOT_VERDICTS).order_by().values_list("outcome", "reason").annotate(n=Count("pk"))
    counts = Counter({(outcome, reason): count for outcome, reason, count in rows})
    whole = max(1, counts.total())
    return [
        {"title": TITLES.get(outcome, ("", outcome))[1], "reason": reason, "count": count, "share": count / whole}
        for (outcome, reason), count in counts.most_common(MOST_REASONS)
    ]
