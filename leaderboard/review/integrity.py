"""The public figures of a competition's review: numbers and reasons without names.

All figures are as of the last midnight (UTC). Until the standing is final, a number below 5 is only shown as below 5:
otherwise a reader who watches the page and the board could find out which result was held, and when. Rules that held
fewer than 5 results are counted together. A decision on a podium place is shown if its reviewer wrote a public text,
once no appeal can change it, and never for a submission that the public standing does not count yet.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db.models import Count, Exists, OuterRef, QuerySet

from leaderboard.competitions.calendar import is_frozen_at
from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.models import REJUDGE, Attempt
from leaderboard.review.case import log
from leaderboard.review.case import states as case
from leaderboard.review.case.acts import APPEAL_WITHIN
from leaderboard.review.models import Case, Decision, Finding
from leaderboard.review.standing import decision_waits, median_of

LEAST: Final = 5  # the smallest number shown before the standing is final
PODIUM: Final = 3  # ranks of a board
MOST_TOLD: Final = 100  # decisions on podium places, the newest
OTHERS: Final = ""  # in place of a rule's name: all rules that held fewer than LEAST


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of the results that a rule held. `again`: judged again before a decision."""

    rule: str
    held: int
    cleared: int
    rejected: int
    waiting: int
    again: int


@dataclass(frozen=True)
class Told:
    """A decision on a podium place."""

    board: Board
    place: int
    is_cleared: bool
    by_two: bool
    reason: str
    at: datetime


@dataclass(frozen=True)
class Integrity:
    as_of: datetime
    is_exact: bool  # the standing is final
    rules: list[Outcomes]
    total: Outcomes  # counts each result once
    by_itself: Outcomes
    median_wait: timedelta | None
    rejudged: int
    appeals: int
    granted: int
    upheld: int
    podium: list[Told]

    def told(self, number: int) -> int | None:
        """Return the number to show; None: fewer than LEAST, which is not shown before the standing is final."""
        return number if self.is_exact or number >= LEAST else None


def integrity(competition: Competition, boards: QuerySet[Board], now: datetime) -> Integrity:
    """Return a competition's review figures. `boards`: the boards that the reader may see."""
    as_of = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    is_exact = competition.final_at is not None and competition.final_at <= now
    cases = Case.objects.filter(board__competition=competition, opened_at__lt=as_of)
    waits = decision_waits(competition, until=as_of)
    decisions = Decision.objects.filter(result__case__board__competition=competition, created_at__lt=as_of)
    moved = _moved(cases, as_of)
    acts = Counter(_standing(decisions).values_list("act", flat=True))
    rejudged = Attempt.objects.filter(
        submission__board__competition=competition, cause=REJUDGE, is_shadow=False, created_at__lt=as_of
    )
    return Integrity(
        as_of=as_of,
        is_exact=is_exact,
        rules=_by_rule(cases.filter(origin=Case.HELD), moved, is_exact),
        total=_outcomes("", _states(cases, Case.HELD, moved)),
        by_itself=_outcomes("", _states(cases, Case.BY_ITSELF, moved)),
        median_wait=median_of(waits) if len(waits) >= LEAST else None,
        rejudged=rejudged.count(),
        appeals=acts[case.APPEAL],
        granted=acts[case.GRANT],
        upheld=acts[case.UPHOLD],
        podium=_podium(competition, decisions.filter(result__case__board__in=boards), now, is_exact=is_exact),
    )


def _standing(decisions: QuerySet[Decision]) -> QuerySet[Decision]:
    """Exclude undone lines, and lines about them."""
    undone = Exists(Decision.objects.filter(act=case.UNDO, about=OuterRef("pk")))
    about_undone = Exists(Decision.objects.filter(act=case.UNDO, about=OuterRef("about")))
    return decisions.exclude(act=case.UNDO).filter(~undone, ~about_undone)


def _moved(cases: QuerySet[Case], as_of: datetime) -> dict[Case, str]:
    """Map cases with a log line or finding since `as_of` to their state at that time."""
    said, found = (
        Exists(kind.objects.filter(result=OuterRef("result"), created_at__gte=as_of)) for kind in (Decision, Finding)
    )
    rows = list(cases.filter(said | found).select_related("result__attempt").defer("result__inline"))
    lines: dict[int, list[case.Row]] = defaultdict(list)
    for line in Decision.objects.filter(result__in=[row.result_id for row in rows], created_at__lt=as_of):
        lines[line.result_id].append(log.plain(line))
    return {row: log.standing_of(row, lines[row.result_id], until=as_of).state for row in rows}


def _by_rule(cases: QuerySet[Case], moved: Mapping[Case, str], is_exact: bool) -> list[Outcomes]:
    counted = Finding.objects.filter(result__case__in=cases).order_by()
    rows = counted.values_list("rule", "result__case__state", "result__attempt__is_current").annotate(Count("pk"))
    found: dict[str, Counter[tuple[str, bool]]] = {}
    for rule, state, is_current, number in rows:
        found.setdefault(rule, Counter())[state, is_current] += number
    then = {row.result_id: (row, state) for row, state in moved.items()}
    for rule, result in counted.filter(result__in=then).values_list("rule", "result"):
        _put_back(found[rule], *then[result])
    found = {rule: held for rule, states in found.items() if (held := _held(states))}
    if not is_exact:
        small = [rule for rule, states in found.items() if states.total() < LEAST]
        found[OTHERS] = sum((found.pop(rule) for rule in small), Counter[tuple[str, bool]]())  # present even if empty
    known = [_outcomes(rule, states) for rule, states in found.items()]
    return sorted(known, key=lambda one: (one.rule == OTHERS, -one.held, one.rule))


def _states(cases: QuerySet[Case], origin: str, moved: Mapping[Case, str]) -> Counter[tuple[str, bool]]:
    rows = cases.filter(origin=origin).order_by().values_list("state", "result__attempt__is_current")
    states = Counter({(state, is_current): number for state, is_current, number in rows.annotate(Count("pk"))})
    for row, state in moved.items():
        if row.origin == origin:
            _put_back(states, row, state)
    return _held(states)


def _held(states: Counter[tuple[str, bool]]) -> Counter[tuple[str, bool]]:
    """Exclude results that are held no more: they count as never held."""
    return Counter({key: number for key, number in states.items() if key[0] != case.NOT_HELD and number})


def _put_back(states: Counter[tuple[str, bool]], row: Case, state: str) -> None:
    is_current = row.result.attempt.is_current
    states[row.state, is_current] -= 1
    states[state, is_current] += 1


def _outcomes(rule: str, states: Counter[tuple[str, bool]]) -> Outcomes:
    def of(*names: str, current: Iterable[bool] = (True, False)) -> int:
        return sum(states[name, is_current] for name in names for is_current in current)

    return Outcomes(
        rule=rule,
        held=states.total(),
        cleared=of(case.CLEARED),
        rejected=of(case.REJECTED, case.APPEALED),
        waiting=of(*case.HELD, current=(True,)),
        again=of(*case.HELD, current=(False,)),
    )


def _podium(competition: Competition, decisions: QuerySet[Decision], now: datetime, *, is_exact: bool) -> list[Told]:
    lines = _standing(decisions).filter(act__in=(case.CLEAR, case.REJECT), rank__lte=PODIUM).exclude(public_reason="")
    lines = lines.filter(result__attempt__is_current=True)
    if is_frozen_at(competition.schedule, now):
        # A place computed after the freeze counts hidden submissions.
        lines = lines.filter(
            result__attempt__submission__created_at__lt=competition.freeze_at, created_at__lt=competition.freeze_at
        )
    upheld = Exists(Decision.objects.filter(result=OuterRef("result"), act=case.UPHOLD, pk__gt=OuterRef("pk")))
    lines = lines.select_related("result__case__board__problem").annotate(is_upheld=upheld)
    newest: dict[int, Decision] = {}
    for line in lines.defer("result__inline").order_by("-id"):
        newest.setdefault(line.result_id, line)
    shown = []
    for last in newest.values():
        row, is_cleared = last.result.case, last.act == case.CLEAR
        beyond_appeal = is_exact or getattr(last, "is_upheld", False) or last.created_at + APPEAL_WITHIN <= now
        if row.state == (case.CLEARED if is_cleared else case.REJECTED) and (is_cleared or beyond_appeal):
            told = Told(row.board, last.rank or 0, is_cleared, last.needs_two, last.public_reason, last.created_at)
            shown.append(told)
    return shown[:MOST_TOLD]
