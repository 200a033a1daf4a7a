"""The reviewers' queue: filters from an address, rows in a constant number of queries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import F, Prefetch, QuerySet
from django.http import HttpRequest, QueryDict

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board
from leaderboard.judging.verdicts import judged_since
from leaderboard.review.case import states
from leaderboard.review.models import Case, Finding
from leaderboard.review.permissions import cases_for
from leaderboard.web.paging import page_at

ROWS: Final = 50  # per page
OLDEST_FIRST: Final = ("opened_at", "result_id")
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
    states.NOT_HELD: "no longer held",
    ANY: "any",
}
TONES: Final = {
    states.WAITING: "warn",
    CLAIMED: "running",
    states.HALF_CLEARED: "warn",
    states.APPEALED: "warn",
    states.CLEARED: "good",
    states.REJECTED: "bad",
}


class Row(NamedTuple):
    """A case as a row of the page shows it: columns instead of models, of which each row would need nine."""

    result_id: int
    opened_at: datetime
    state: str
    claimed_until: datetime | None
    labels: list[str]
    claimed_by_name: str | None
    title: str
    hardware: str
    ratio: float | None
    reason: str
    submission: int
    owner: str
    entrant: str
    pseudonym: str
    revealed_at: datetime | None


_SUBMISSION: Final = "result__attempt__submission"
_OF_PARTS: Final = {  # columns of Row that are no columns of Case
    "claimed_by_name": F("claimed_by__username"),
    "title": F("board__problem__title"),
    "hardware": F("board__hardware"),
    "ratio": F("result__ratio"),
    "reason": F("result__reason"),
    "submission": F(_SUBMISSION),
    "owner": F(f"{_SUBMISSION}__owner__username"),
    "entrant": F(f"{_SUBMISSION}__entrant__name"),
    "pseudonym": F(f"{_SUBMISSION}__entrant__pseudonym"),
    "revealed_at": F(f"{_SUBMISSION}__entrant__revealed_at"),
}


@dataclass(frozen=True)
class Filters:
    competition: str = ""  # slug
    board: str = ""  # id
    rule: str = ""
    state: str = OPEN
    label: str = ""
    mine: bool = False
    cursor: str = ""

    @classmethod
    def of(cls, asked: QueryDict) -> Filters:
        """Return the filters of an address. Values that cannot be understood filter nothing out."""
        given = {field.name: asked.get(field.name, "")[:TEXT_CHARS] for field in fields(cls)}
        texts = {name: text if text.isprintable() else "" for name, text in given.items()}
        whole = {name: text.isascii() and text.isdigit() and len(text) <= 18 for name, text in texts.items()}
        return cls(
            competition=texts["competition"],
            board=texts["board"] if whole["board"] else "",
            rule=texts["rule"],
            state=texts["state"] if texts["state"] in STATES else OPEN,
            label=texts["label"],
            mine=bool(given["mine"]),
            cursor=asked.get("cursor", ""),
        )

    def address(self, cursor: str) -> str:
        """Return the address of a page of the queue with these filters; "" for no cursor."""
        if not cursor:
            return ""
        given = {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}
        return f"/review?{urlencode(given | {'cursor': cursor} | ({'mine': '1'} if self.mine else {}))}"

    @property
    def is_plain(self) -> bool:
        return self == Filters()


def waiting(user: User, filters: Filters, now: datetime) -> QuerySet[Case]:
    """Return the filtered cases, oldest first, with everything that the API's summary reads."""
    parts = ("board__problem", "board__competition", "claimed_by", f"{_SUBMISSION}__owner", f"{_SUBMISSION}__entrant")
    found = _filtered(user, filters, now).select_related(*parts).defer("result__inline", f"{_SUBMISSION}__source")
    return found.prefetch_related(Prefetch("result__findings", Finding.objects.only("result", "rule")))


def _filtered(user: User, filters: Filters, now: datetime) -> QuerySet[Case]:
    cases = cases_for(user).filter(~judged_since("result__attempt"))
    if filters.state in (OPEN, CLAIMED):
        cases = cases.filter(state__in=states.OPEN)
    elif filters.state != ANY:
        cases = cases.filter(state=filters.state)
    if filters.state == CLAIMED or filters.mine:
        cases = cases.filter(claimed_until__gt=now)
    if filters.mine:
        cases = cases.filter(claimed_by=user.account_id)
    if filters.rule:
        cases = cases.filter(result__in=Finding.objects.filter(rule=filters.rule).values("result"))
    labels = [filters.label] if filters.label else []
    given = {"board__competition__slug": filters.competition, "board": filters.board, "labels__contains": labels}
    return cases.filter(**{lookup: value for lookup, value in given.items() if value}).order_by(*OLDEST_FIRST)


def queue(request: HttpRequest, user: User, now: datetime) -> dict[str, Any]:
    """Return a page of the queue as the template reads it: filters with their choices, rows, addresses of pages."""
    filters = Filters.of(request.GET)
    cases = _filtered(user, filters, now).annotate(**_OF_PARTS).values_list(*Row._fields, named=True)
    page = page_at(request, cases, order=OLDEST_FIRST, name="cases", size=ROWS)
    rows = [Row(*row) for row in page.rows]
    findings: dict[int, list[tuple[str, str]]] = defaultdict(list)
    found = Finding.objects.filter(result__in=[row.result_id for row in rows]).order_by("pk")
    for result, rule, sentence in found.values_list("result", "rule", "sentence"):
        findings[result].append((rule, sentence))
    return {
        "filters": filters,
        "rows": rows,
        "findings": findings,
        "now": now,
        "choices": [(name, getattr(filters, name), options) for name, options in _choices(cases_for(user)).items()],
        "older": filters.address(page.before),
        "newer": filters.address(page.after),
    }


def shown_state(case: Case, now: datetime) -> dict[str, Any]:
    """Return the displayed state with its tone, and the reviewer whose claim on the case lasts."""
    state = state_at(case, now)
    return {
        "state": STATES[state],
        "tone": TONES.get(state, ""),
        "claimed_by": case.claimed_by if is_claimed(case, now) else None,
    }


def state_at(case: Case | Row, now: datetime) -> str:
    """Return the displayed state: a waiting case that is claimed is shown as claimed."""
    return CLAIMED if case.state == states.WAITING and is_claimed(case, now) else case.state


def is_claimed(case: Case | Row, now: datetime) -> bool:
    return case.claimed_until is not None and now < case.claimed_until


def _choices(cases: QuerySet[Case]) -> dict[str, list[tuple[str, str]]]:
    """Return the choices over all cases.

    Cases that were judged again since are included, because excluding them would cost a look-up each.
    """
    seen = list(cases.order_by().values_list("board", "labels").distinct())
    boards = Board.objects.filter(pk__in={board for board, _ in seen}).order_by()
    columns = boards.values_list("pk", "slug", "hardware", "competition__slug", "competition__name")
    known = sorted(columns, key=lambda item: item[1:3])
    of_cases = Finding.objects.filter(result__in=cases.order_by().values("pk"))
    rules = of_cases.order_by().values_list("rule", flat=True).distinct()
    return {
        "competition": sorted({(slug, name) for *_, slug, name in known}, key=lambda item: item[1]),
        "board": [(str(pk), f"{slug} on {hardware}") for pk, slug, hardware, *_ in known],
        "rule": [(rule, rule.replace("_", " ")) for rule in sorted(rules)],
        "state": list(STATES.items()),
        "label": [(label, label) for label in sorted({label for _, labels in seen for label in labels})],
    }
