"""Entrants who may not win a track, with the reason: division, declaration, suspension, a result under review.

Also the results and submissions that an award must wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from django.db.models import Q

from leaderboard.awards.standing import boards_of
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Track
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.judging.models import Attempt
from leaderboard.review.standing import held_results
from leaderboard.review.suspension import suspended_users
from leaderboard.standings.read.windows import inside, window

UNDER_REVIEW: Final = "a result of theirs on a board of this track is under review: decide on it, then propose again"
SUSPENDED: Final = "an account of theirs is suspended or closed"
GONE: Final = "nobody competes in it any more: all who did have left"


def barred_entrants(track: Track, entrants: Sequence[int], *, now: datetime) -> dict[int, str]:
    """Return the entrants of these who may not win, each with its first reason."""
    members = _members(entrants)
    peopled, suspended = {entrant for entrant, _, _ in members}, _suspended(track, members)
    held = set(held_entrants(track, now=now))
    found = {}
    for entrant in Entrant.objects.filter(pk__in=entrants):
        why = _ineligible(track, entrant)
        if entrant.pk not in peopled:
            why = GONE
        elif entrant.pk in suspended:
            why = SUSPENDED
        elif entrant.pk in held:
            why = why or UNDER_REVIEW
        if why:
            found[entrant.pk] = why
    return found


def held_entrants(track: Track, *, now: datetime) -> list[int]:
    """Return the entrants with a contest result on a board of this track that still waits for a decision."""
    held = held_results().filter(_of_contest(track, now, "attempt__submission"))
    return list(held.order_by().values_list("attempt__submission__entrant", flat=True).distinct())


def unjudged(track: Track, *, now: datetime) -> int:
    """Count the contest submissions on boards of this track whose attempt is not finished."""
    sent = Attempt.objects.current().unfinished().filter(_of_contest(track, now, "submission"))
    return sent.filter(submission__mode="ranked").count()


def _of_contest(track: Track, now: datetime, submission: str) -> Q:
    condition = Q(pk__in=[])
    for board in boards_of(track):
        counted = window(board, Stage.CONTEST, now, in_full=True)
        condition |= Q(inside(counted, f"{submission}__created_at"), **{f"{submission}__board": board})
    return condition


def _ineligible(track: Track, entrant: Entrant) -> str:
    if entrant.division not in track.divisions:
        return f"division {entrant.division} is not in this track, which is for {_listed(track.divisions)}"
    if track.eligibility and track.slug not in entrant.declared:
        return "has not declared to be eligible"
    return ""


def _members(entrants: Sequence[int]) -> list[tuple[int, int, bool]]:
    """Return their current members: entrant, user, whether the account is open."""
    rows = Membership.objects.filter(entrant__in=entrants, left_at=None)
    return list(rows.values_list("entrant", "user", "user__is_active"))


def _suspended(track: Track, members: Sequence[tuple[int, int, bool]]) -> set[int]:
    """Return the entrants with a member who is suspended, here or everywhere, or whose account is closed."""
    barred = suspended_users([user for _, user, _ in members], track.competition)
    return {entrant for entrant, user, is_active in members if user in barred or not is_active}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
