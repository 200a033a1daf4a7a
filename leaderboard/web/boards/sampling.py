"""The sampling lesson for page and API: more samples against serial feedback, on a board or a problem set.

A sample is independent if its sender named no parent and no serial strategy. A chain is a submission without a parent
and all that descend from it by a serial strategy, or without a strategy, in the order of sending.

The public part counts as the model board does: judged ranked submissions of a model that has a public entry, where a
submission without an entry failed. It has no costs and no device time, because these belong to the sender. The own
part has the viewer's judged submissions in every mode, of which those without times count at p = 0 alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Final, NamedTuple

from django.db.models import Count, F

from leaderboard.accounts.models import User
from leaderboard.judging.models import DONE
from leaderboard.judging.verdicts import is_spoiled
from leaderboard.review.standing import reviews_of
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.coverage import AtTurn, Fit, Tally, Turn, fit, serial
from leaderboard.standings.ranking.overall import Solved
from leaderboard.standings.ranking.sampling import Attempts, Share, fast_at
from leaderboard.standings.read.boards import Collection
from leaderboard.standings.read.model_board import by_model
from leaderboard.standings.read.table import inside_each
from leaderboard.submissions.models import Parent, Submission
from leaderboard.web.boards.curves import BOTTOM, LEFT, RIGHT, SHARES, TOP, Curve, Plot, Tick
from leaderboard.web.submissions import view
from runner.wire import PROFILE, TIMED_MODES

SERIAL: Final = ("serial", "refine")  # strategies; photofinish search calls it refine
BUDGETS: Final = {"samples": "samples", "seconds": "device seconds", "cost": "US dollars"}
MOST_SAMPLES: Final = 20_000  # newest, of a model
MOST_MODELS: Final = 50
MOST_TURNS: Final = 64  # in table and plot


class Sample(NamedTuple):
    """A judged submission of a model."""

    pk: int
    board: int
    is_serial: bool | None  # None: its sender named no strategy
    turn: Turn


@dataclass(frozen=True)
class AtK:
    """k independent samples at each problem. `observed` is None beyond the fewest samples at a problem."""

    k: int
    observed: Share | None
    fitted: Share | None


@dataclass(frozen=True)
class Knobs:
    """Serial turns, and the samples that cost as much. `k` is None where a cost is unknown."""

    serial: AtTurn
    budget: float | None  # None: unknown
    k: int | None
    samples: Share | None


@dataclass(frozen=True)
class Lesson:
    p: float
    by: str  # of BUDGETS
    samples: Mapping[int, Sequence[Turn]]  # independent ones, by board
    chains: Mapping[int, Sequence[Sequence[Turn]]]  # by board

    @cached_property
    def tallies(self) -> list[Tally]:
        return [Tally(len(same), sum(turn.wins for turn in same)) for same in self.samples.values()]

    @property
    def total(self) -> int:
        return sum(one.total for one in self.tallies)

    @property
    def turns(self) -> int:
        return sum(len(chain) for same in self.chains.values() for chain in same)

    @cached_property
    def fit(self) -> Fit | None:
        return fit(self.tallies)

    @cached_property
    def fewest(self) -> int:
        return min((one.total for one in self.tallies), default=0)

    def at(self, k: int) -> AtK:
        counts = [Attempts(one.total, one.correct) for one in self.tallies]
        observed = fast_at(counts, 0.0, k) if 1 <= k <= self.fewest else None
        return AtK(k, observed, self.fit.coverage(k) if self.fit and k else None)

    @cached_property
    def rows(self) -> list[AtK]:
        """The figures at 1, 2, 4 … samples, up to the most at a problem, and at the fewest."""
        most = max((one.total for one in self.tallies), default=0)
        return [
            self.at(k) for k in sorted({1 << power for power in range(most.bit_length())} | {self.fewest, most}) if k
        ]

    @cached_property
    def knobs(self) -> list[Knobs]:
        """The two knobs at equal cost, by turn."""
        each = self._spent([turn] for same in self.samples.values() for turn in same) if self.samples else None
        return [self._knobs(turn, each) for turn in serial(self.chains, MOST_TURNS)]

    def _knobs(self, turn: AtTurn, each: float | None) -> Knobs:
        budget = {"samples": turn.samples, "seconds": turn.seconds, "cost": turn.cost_usd}[self.by]
        k = math.floor(budget / each + 1e-9) if budget is not None and each else None
        at = self.at(k) if k else None
        return Knobs(turn, budget, k, (at.observed or at.fitted) if at else None)

    def _spent(self, parts: Iterable[Sequence[Turn]]) -> float | None:
        """Return the mean spending on an independent sample; None: unknown for some."""
        turns = [turn for part in parts for turn in part]
        if self.by == "cost":
            known = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
            return fmean(known) if len(known) == len(turns) else None
        return fmean(turn.seconds for turn in turns) if self.by == "seconds" else 1.0

    @property
    def coverage_plot(self) -> Plot:
        """Draw coverage over the logarithm of k, observed and fitted."""
        most = max(2, self.rows[-1].k)

        def x(k: float) -> float:
            return LEFT + (RIGHT - LEFT) * math.log(k) / math.log(most)

        observed = [(x(row.k), row.observed.value) for row in self.rows if row.observed]
        fine = [most ** (step / 40) for step in range(41)]
        fitted = [(x(k), self.fit.best.coverage(k)) for k in fine] if self.fit else []
        curves = [_curve(0, "observed", observed)] + ([_curve(1, "fitted", fitted)] if fitted else [])
        shown = [row.k for row in self.rows if row.k & (row.k - 1) == 0]
        return Plot(tuple(curves), tuple(Tick(round(x(k), 1), str(k)) for k in shown), tuple(_up()))

    @property
    def knobs_plot(self) -> Plot:
        """Draw the share of solved problems over the budget, for both knobs."""
        known = [(row, row.budget) for row in self.knobs if row.budget is not None]
        most = max((budget for _, budget in known), default=0.0) or 1.0

        def x(budget: float) -> float:
            return LEFT + (RIGHT - LEFT) * budget / most

        by_turn = [(x(budget), row.serial.share.value) for row, budget in known]
        by_sample = [(x(budget), row.samples.value) for row, budget in known if row.samples]
        curves = [_curve(0, "serial turns", by_turn)]
        curves += [_curve(1, "independent samples", by_sample)] if by_sample else []
        across = tuple(Tick(round(x(part * most), 1), f"{part * most:.3g}") for part in SHARES)
        return Plot(tuple(curves), across, tuple(_up()))


def _curve(place: int, name: str, points: Sequence[tuple[float, float]]) -> Curve:
    placed = [f"{x:.1f} {BOTTOM - (BOTTOM - TOP) * share:.1f}" for x, share in points]
    path = "M" + "L".join(placed) + ("h4" if len(placed) == 1 else "") if placed else ""
    said = f"{name}: {points[0][1]:.0%} at first, {points[-1][1]:.0%} in the end" if points else f"{name}: nothing"
    return Curve(place, name, path, said)


def _up() -> list[Tick]:
    return [Tick(round(BOTTOM - (BOTTOM - TOP) * part, 1), f"{part:.0%}") for part in SHARES]


def only(found: Collection, slug: str) -> Collection:
    """Return the part of a problem set that is a single board."""
    members = tuple(member for member in found.members if member.slug == slug)
    keys = {member.board for member in members}
    return replace(found, members=members, windows={pk: window for pk, window in found.windows.items() if pk in keys})


def models_of(found: Collection, own: User | None) -> dict[str, int]:
    """Map models to their public entries, or to the viewer's own submissions; the most first."""
    rows = (
        by_model(_own(found, own), "")
        if own
        else by_model(Entry.objects.filter(inside_each(found.windows)), "submission__")
    )
    counted = rows.order_by().values("model").annotate(total=Count("pk")).order_by("-total", "model")
    return dict(counted.values_list("model", "total")[:MOST_MODELS])


def lesson(found: Collection, model: str, *, p: float, by: str, own: User | None) -> Lesson:
    """Return the lesson about a model on these boards; with `own`, from this person's submissions alone."""
    rows = _own_samples(found, model, p, own) if own else _public_samples(found, model, p)
    known = {row.pk: row for row in sorted(rows)}
    parents: dict[int, int] = {}
    edges = Parent.objects.filter(child__in=list(known)).order_by("child", "-parent")
    born = set()
    for child, parent in edges.values_list("child", "parent"):
        born.add(child)
        if child in known and parent in known:
            parents.setdefault(child, parent)
    roots: dict[int, int] = {}
    for pk in known:  # a parent is older than its child
        roots[pk] = roots.get(parents.get(pk, 0), pk)
    sizes = Counter(roots.values())
    samples, families = defaultdict[int, list[Turn]](list), defaultdict[tuple[int, int], list[Turn]](list)
    for pk, row in known.items():
        if row.is_serial or (row.is_serial is None and sizes[roots[pk]] > 1):
            families[row.board, roots[pk]].append(row.turn)
        elif pk not in born:
            samples[row.board].append(row.turn)
    chains = defaultdict[int, list[Sequence[Turn]]](list)
    for (board, _), family in families.items():
        chains[board].append(family)
    return Lesson(p, by, dict(samples), dict(chains))


def _public_samples(found: Collection, model: str, p: float) -> list[Sample]:
    sent = Submission.objects.filter(inside_each(found.windows, "created_at"), mode="ranked")
    columns = ("entry__epoch", "entry__ratio", "entry__half_width", "entry__forgeable")
    rows = []
    for pk, board, _, strategy, _, _, epoch, *solved in _judged(sent, model, *columns):
        if p > 0 and epoch is not None and epoch != found.epochs.get(board):
            continue  # its speed does not compare
        rows.append(Sample(pk, board, _is_serial(strategy), Turn(_wins(solved, p))))
    return rows


def _own(found: Collection, user: User) -> Any:
    return view.sent_by(user).filter(board__in=list(found.windows)).exclude(mode=PROFILE)


def _own_samples(found: Collection, model: str, p: float, user: User) -> list[Sample]:
    sent = _own(found, user).select_related(None)
    sent = sent.filter(mode__in=TIMED_MODES) if p > 0 else sent
    result = "attempts__result__"
    columns = (f"{result}ratio", f"{result}half_width", f"{result}forgeable")
    judged = list(_judged(sent, model, "took", "attempts__pk", *columns))
    reviews = reviews_of([row[7] for row in judged])
    return [
        Sample(
            pk,
            board,
            _is_serial(strategy),
            Turn(
                outcome == "passed" and attempt not in reviews and (p <= 0 or _wins(solved, p)),
                spent.total_seconds() if spent else 0.0,
                cost,
            ),
        )
        for pk, board, outcome, strategy, cost, _, spent, attempt, *solved in judged
    ]


def _judged(sent: Any, model: str, *columns: str) -> Iterable[Any]:
    """Read the newest judged submissions of a model whose outcome is about the code."""
    judged = by_model(sent.filter(attempts__is_current=True, attempts__state=DONE), "").filter(model=model)
    # After the filter: an annotation before it would join all attempts once more.
    judged = judged.annotate(took=F("attempts__finished_at") - F("attempts__claimed_at"))
    first = ("pk", "board", "attempts__outcome", "lineage__strategy", "lineage__cost_usd", "attempts__reason")
    for row in judged.order_by("-pk").values_list(*first, *columns)[:MOST_SAMPLES]:
        if row[2] != "infra_error" and not is_spoiled(row[2], row[5]):
            yield row


def _is_serial(strategy: str | None) -> bool | None:
    return strategy in SERIAL if strategy else None


def _wins(solved: Sequence[float | None], p: float) -> bool:
    ratio, half_width, forgeable = solved
    return ratio is not None and Solved(ratio, half_width, forgeable or 0.0).wins(p)
