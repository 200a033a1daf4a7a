"""Confirmations as organisers read them: candidate, cause (record or award) and result, a line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.confirmations import models as confirmations
from leaderboard.confirmations.models import Confirmation, Found
from leaderboard.entrants.models import Membership
from leaderboard.judging.work import AT_WORK, ERROR
from leaderboard.review.case.settle import unsettled
from leaderboard.submissions.models import Submission
from leaderboard.web.figures import THIN

MOST: Final = 200  # on one page
OUTCOMES: Final = {
    confirmations.CONFIRMED: ("confirmed", "good"),
    confirmations.REFUSED: ("no lead shown", "warn"),
    confirmations.FAILED: ("failed on fresh seeds", "bad"),
    confirmations.HELD: ("held for a person", "warn"),
    ERROR: ("could not be run", "warn"),
    confirmations.DROPPED: ("dropped", ""),
}
CAUSES: Final = {confirmations.RECORD: "record", confirmations.AWARD: "award"}


@dataclass(frozen=True)
class Row:
    asked: Confirmation
    cause: str
    said: tuple[str, str]  # words and tone
    runs: str  # summary; "": there were no runs
    waits: bool  # for a person
    is_own: bool  # the reader's or their team's; they may neither settle it nor read its report
    has_report: bool


def rows_of(competition: Competition, reader: User) -> list[Row]:
    """Return the newest confirmations, in a fixed number of queries."""
    found = list(_all(competition)[:MOST])
    reports = _found(found)
    waits = set(unsettled(competition).values_list("pk", flat=True))
    logins = set(logins_of(reader).values_list("pk", flat=True))
    teams = set(Membership.objects.filter(user__in=logins).values_list("entrant", flat=True))
    return [
        Row(
            asked=asked,
            cause=CAUSES[asked.cause],
            said=said_of(asked),
            runs=runs_said(reports.get(asked.pk)),
            waits=asked.pk in waits,
            is_own=any(_is_of(one, logins, teams) for one in (asked.candidate, asked.incumbent)),
            has_report=asked.pk in reports,
        )
        for asked in found
    ]


def said_of(asked: Confirmation) -> tuple[str, str]:
    if not asked.is_done:
        return ("a runner is at it" if asked.state == AT_WORK else "waits for a runner", "running")
    return OUTCOMES[asked.outcome]


def runs_said(found: Found | None) -> str:
    """Format signs and gains of the runs: "4 of 5 faster, +2.00 % in the median, +1.80 % at the bound"."""
    if found is None or not found.gains:
        return ""
    parts = [f"{found.wins} of {len(found.gains)} faster"]
    if found.median_gain is not None:
        parts.append(f"{_gain(found.median_gain)} in the median")
    if found.least_gain is not None:
        parts.append(f"{_gain(found.least_gain)} at the bound")
    return ", ".join(parts)


def _all(competition: Competition) -> QuerySet[Confirmation]:
    whose = ("candidate__entrant", "incumbent__entrant", "board__problem", "asked_by", "closed_by", "runner")
    rows = Confirmation.objects.filter(board__competition=competition).select_related(*whose)
    return rows.defer("candidate__source", "incumbent__source").order_by("-id")


def _found(asked: list[Confirmation]) -> dict[int, Found]:
    """Return the results by confirmation, without their reports, which are large."""
    rows = Found.objects.filter(confirmation__in=[one.pk for one in asked]).defer("report")
    return {row.confirmation_id: row for row in rows}


def _is_of(submission: Submission, logins: set[int], teams: set[int]) -> bool:
    return submission.owner_id in logins or submission.entrant_id in teams


def _gain(value: float) -> str:
    """Format a gain, signed, in per cent: a record needs half of one per cent."""
    return f"{'−' if value < 0 else '+'}{100 * abs(value):.2f}{THIN}%"
