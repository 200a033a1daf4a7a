"""The reviewers' queue: filters from an address, rows in a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Func, QuerySet
from django.http import QueryDict

from leaderboard.accounts.models import User
from leaderboard.judging.verdicts import judged_since
from leaderboard.review.case import states
from leaderboard.review.models import Case, Finding
from leaderboard.review.permissions import cases_for

ROWS: Final = 50  # per page
MOST_PAGES: Final = 10_000
TEXT_CHARS: Final = 64

OPEN: Final = "open"
CLAIMED: Final = "claimed"
ANY: Final = "any"
STATES: Final = {
    OPEN: "open",
    states.WAITING: "waiting",
    CLAIMED: "claimed",
    states.ASKED: "owner asked",
    states.HALF_CLEARED: "cleared by one of two",
    states.APPEALED: "appealed",
    states.CLEARED: "cleared",
    states.REJECTED: "rejected",
    states.NOT_HELD: "not held any more",
    ANY: "any",
}
TONES: Final = {
    states.WAITING: "warn",
    CLAIMED: "running",
    states.ASKED: "",
    states.HALF_CLEARED: "warn",
    states.APPEALED: "warn",
    states.CLEARED: "good",
    states.REJECTED: "bad",
    states.NOT_HELD: "",
}


@dataclass(frozen=True)
class Filters:
    competition: str = ""  # slug
    board: str = ""  # id
    rule: str = ""
    state: str = OPEN
    label: str = ""
    mine: bool = False
    page: int = 1

    @classmethod
    def of(cls, asked: QueryDict) -> Filters:
        """Return the filters of an address. Values that cannot be understood filter nothing out."""
        told = {name: asked.get(name, "")[:TEXT_CHARS] for name in ("competition", "board", "rule", "state", "label")}
        told = {name: text if text.isprintable() else "" for name, text in told.items()}
        told["board"] = told["board"] if _is_number(told["board"]) else ""
        told["state"] = told["state"] if told["state"] in STATES else OPEN
        page = asked.get("page", "1")
        return cls(
            **told,
            mine=bool(asked.get("mine")),
            page=min(max(1, int(page)), MOST_PAGES) if _is_number(page) else 1,
        )

    def address(self, page: int) -> str:
        told = {name: value for name in ("competition", "board", "rule", "label") if (value := getattr(self, name))}
        told |= {"state": self.state} if self.state != OPEN else {}
        told |= {"mine": "1"} if self.mine else {}
        return f"/review?{urlencode(told | {'page': str(page)})}"

    @property
    def is_plain(self) -> bool:
        return self == Filters()


@dataclass(frozen=True)
class Choice:
    """A filter with its choices."""

    name: str
    chosen: str
    options: list[tuple[str, str]]


@dataclass(frozen=True)
class Queue:
    filters: Filters
    rows: list[dict[str, Any]]
    choices: list[Choice]
    older: str  # addresses; "": no such page
    newer: str


def waiting(user: User, filters: Filters, now: datetime) -> QuerySet[Case]:
    """Return the filtered cases, oldest first, with everything that `row` reads."""
    found = (
        _filtered(cases_for(user), user, filters, now)
        .filter(~judged_since("result__attempt"))
        .select_related(
            "board__problem",
            "board__competition",
            "claimed_by",
            "result__attempt__submission__owner",
            "result__attempt__submission__entrant",
        )
    )
    found = found.defer("result__report", "result__attempt__submission__source").prefetch_related("result__findings")
    return found.order_by("opened_at", "result_id")


def queue(user: User, filters: Filters, now: datetime) -> Queue:
    first = (filters.page - 1) * ROWS
    cases = list(waiting(user, filters, now)[first : first + ROWS + 1])
    return Queue(
        filters=filters,
        rows=[row(one, now) for one in cases[:ROWS]],
        choices=[Choice(name, getattr(filters, name), options) for name, options in _choices(cases_for(user)).items()],
        older=filters.address(filters.page - 1) if filters.page > 1 else "",
        newer=filters.address(filters.page + 1) if len(cases) > ROWS else "",
    )


def row(one: Case, now: datetime) -> dict[str, Any]:
    submission = one.result.attempt.submission
    state = state_at(one, now)
    return {
        "case": one,
        "id": one.result_id,
        "submission": submission,
        "result": one.result,
        "findings": list(one.result.findings.all()),
        "state": STATES[state],
        "tone": TONES[state],
        "claimed_by": one.claimed_by if is_claimed(one, now) else None,
        "is_open": one.state in states.OPEN,
    }


def state_at(one: Case, now: datetime) -> str:
    """Return the displayed state: a waiting case that is claimed is shown as claimed."""
    return CLAIMED if one.state == states.WAITING and is_claimed(one, now) else one.state


def is_claimed(one: Case, now: datetime) -> bool:
    return one.claimed_until is not None and now < one.claimed_until


def _filtered(cases: QuerySet[Case], user: User, filters: Filters, now: datetime) -> QuerySet[Case]:
    if filters.state == OPEN:
        cases = cases.filter(state__in=states.OPEN)
    elif filters.state == CLAIMED:
        cases = cases.filter(state__in=states.OPEN, claimed_until__gt=now)
    elif filters.state != ANY:
        cases = cases.filter(state=filters.state)
    if filters.competition:
        cases = cases.filter(board__competition__slug=filters.competition)
    if filters.board:
        cases = cases.filter(board=int(filters.board))
    if filters.rule:
        cases = cases.filter(result__in=Finding.objects.filter(rule=filters.rule).values("result"))
    if filters.label:
        cases = cases.filter(labels__contains=[filters.label])
    return cases.filter(claimed_by=user.account_id, claimed_until__gt=now) if filters.mine else cases


def _choices(cases: QuerySet[Case]) -> dict[str, list[tuple[str, str]]]:
    """Return the choices over all cases.

    Cases that were judged again since are included, because excluding them would cost a look-up each.
    """
    boards = cases.order_by().values_list(
        "board", "board__slug", "board__hardware", "board__competition__slug", "board__competition__name"
    )
    known = sorted(set(boards.distinct()), key=lambda item: item[1:3])
    rules = Finding.objects.filter(result__case__in=cases).order_by().values_list("rule", flat=True).distinct()
    labels = cases.order_by().annotate(one=Func("labels", function="unnest")).values_list("one", flat=True).distinct()
    return {
        "competition": sorted({(slug, name) for *_, slug, name in known}, key=lambda item: item[1]),
        "board": [(str(pk), f"{slug} on {hardware}") for pk, slug, hardware, *_ in known],
        "rule": [(rule, rule) for rule in sorted(rules)],
        "state": list(STATES.items()),
        "label": [(label, label) for label in sorted(labels)],
    }


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
