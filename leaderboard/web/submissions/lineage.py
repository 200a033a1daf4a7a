"""The tree of a search, and strategies compared at equal budget.

The tree has the run of a submission, or its ancestors and descendants, as far as the viewer may read their code. The
comparison has the viewer's own runs on a board: strangers see no failed candidates, so they cannot know a budget. At
equal budget means: after as many candidates or device seconds as the strategy with the smallest budget has spent.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.db import connection
from django.db.models import Count, F, Max, Q, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.permissions import Viewer
from leaderboard.judging.models import LOST, REJUDGE, Attempt
from leaderboard.standings.read.code import readable_among
from leaderboard.submissions.models import Lineage, Parent, Submission
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards.curves import BOTTOM, LEFT, MOST_CURVES, RIGHT, SHARES, TOP, Curve, Plot, Tick
from leaderboard.web.submissions import view
from leaderboard.wording.figures import significant, speedup

MOST_NODES: Final = 500  # of a tree
MOST_COMPARED: Final = 2_000  # newest submissions of the runs on a board
BUDGETS: Final = {"candidates": "candidates", "seconds": "device seconds"}
FAILED_Y: Final = BOTTOM + 14  # of a submission without a time that counts
_FAMILY: Final = """
    WITH RECURSIVE older AS (
        SELECT %(pk)s::bigint AS id
        UNION SELECT parent_id FROM submissions_parent JOIN older ON child_id = older.id
    ), younger AS (
        SELECT %(pk)s::bigint AS id
        UNION SELECT child_id FROM submissions_parent JOIN younger ON parent_id = younger.id
    )
    (SELECT id FROM older LIMIT %(most)s) UNION (SELECT id FROM younger LIMIT %(most)s)
"""


@dataclass(frozen=True)
class Node:
    """A submission of a tree. `parents`: those in the tree, as it is shown."""

    item: view.Shown
    url: str
    lineage: Lineage
    parents: tuple[int, ...]
    seconds: float  # of devices

    @property
    def pk(self) -> int:
        return self.item.id

    @property
    def ratio(self) -> float | None:
        """The ratio of a timed pass that review lets stand, and that is not withdrawn."""
        item = self.item
        return item.ratio if item.passed and not item.review and not item.withdrawn else None


@dataclass(frozen=True)
class Dot:
    node: Node
    x: float
    y: float
    css: str


@dataclass(frozen=True)
class Tree:
    nodes: Sequence[Node]  # oldest first

    @cached_property
    def best(self) -> Node | None:
        return min((node for node in self.nodes if node.ratio), key=lambda node: (node.ratio, node.pk), default=None)

    @cached_property
    def path(self) -> Sequence[Node]:
        """The way to the fastest submission: of each, the fastest parent in the tree."""
        known, found = {node.pk: node for node in self.nodes}, []
        node = self.best
        while node is not None:
            found.append(node)
            parents = [known[pk] for pk in node.parents]
            node = min(parents, key=lambda one: (one.ratio or float("inf"), one.pk), default=None)
        return found[::-1]

    @cached_property
    def up(self) -> Sequence[Tick]:
        return _up(self._top)

    @cached_property
    def _top(self) -> float:
        return max(1.0, 1 / self.best.ratio) if self.best and self.best.ratio else 1.0

    @cached_property
    def dots(self) -> Sequence[Dot]:
        step = (RIGHT - LEFT - 12) / max(1, len(self.nodes) - 1)
        on_path, found = {node.pk for node in self.path}, []
        for place, node in enumerate(self.nodes):
            y = _height(1 / node.ratio, self._top) if node.ratio else FAILED_Y
            css = "best" if node.pk in on_path else "" if node.ratio else "failed"
            found.append(Dot(node, round(LEFT + 6 + place * step, 1), round(y, 1), css))
        return found

    @property
    def edges(self) -> str:
        return self._lines((child, pk) for child in self.nodes for pk in child.parents)

    @property
    def best_edges(self) -> str:
        return self._lines((child, parent.pk) for parent, child in zip(self.path, self.path[1:], strict=False))

    def _lines(self, pairs: Iterable[tuple[Node, int]]) -> str:
        at = {dot.node.pk: dot for dot in self.dots}
        ends = ((at[parent], at[child.pk]) for child, parent in pairs)
        return "".join(f"M{one.x} {one.y}L{two.x} {two.y}" for one, two in ends)


@dataclass(frozen=True)
class Contender:
    """The submissions of a strategy in a run, in the order of sending."""

    run: str
    strategy: str
    nodes: Sequence[Node]
    by: str  # of BUDGETS

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.strategy, self.run)))

    @property
    def seconds(self) -> float:
        return sum(node.seconds for node in self.nodes)

    @property
    def cost_usd(self) -> float | None:
        """The sum of the costs that are known; None: no cost is known."""
        known = [node.lineage.cost_usd for node in self.nodes if node.lineage.cost_usd is not None]
        return sum(known) if known else None

    @property
    def passed(self) -> int:
        return sum(node.item.passed for node in self.nodes)

    @property
    def models(self) -> str:
        return ", ".join(sorted({node.lineage.model for node in self.nodes if node.lineage.model}))

    @cached_property
    def steps(self) -> Sequence[tuple[float, Node]]:
        """Each submission that was faster than all before it, with the budget that was spent at its end."""
        spent, found = 0.0, list[tuple[float, Node]]()
        for node in self.nodes:
            spent += 1 if self.by == "candidates" else node.seconds
            if node.ratio and (not found or node.ratio < (found[-1][1].ratio or 0)):
                found.append((spent, node))
        return found

    @property
    def spent(self) -> float:
        return len(self.nodes) if self.by == "candidates" else self.seconds

    @property
    def best(self) -> Node | None:
        return self.steps[-1][1] if self.steps else None

    def best_at(self, budget: float) -> Node | None:
        return next((node for spent, node in reversed(self.steps) if spent <= budget * (1 + 1e-9)), None)


@dataclass(frozen=True)
class Comparison:
    contenders: Sequence[Contender]

    @cached_property
    def budget(self) -> float:
        return min(one.spent for one in self.contenders)

    @cached_property
    def rows(self) -> Sequence[tuple[Contender, Node | None]]:
        """The strategies with their best at equal budget, the fastest first."""
        rows = [(one, one.best_at(self.budget)) for one in self.contenders]
        return sorted(rows, key=lambda row: (row[1].ratio or 0) if row[1] else float("inf"))

    @cached_property
    def plot(self) -> Plot:
        """Draw the best speedup so far over the spent budget, of the first MOST_CURVES strategies."""
        drawn = [one for one, _ in self.rows if one.steps][:MOST_CURVES]
        most = max((one.spent for one in drawn), default=0.0) or 1.0
        top = max([1.0, *(1 / one.best.ratio for one in drawn if one.best and one.best.ratio)])

        def x(spent: float) -> float:
            return LEFT + (RIGHT - LEFT) * spent / most

        curves = []
        for place, one in enumerate(drawn):
            steps = [(x(spent), _height(1 / (node.ratio or 1), top)) for spent, node in one.steps]
            line = f"M{LEFT} {BOTTOM}" + "".join(f"H{at:.1f}V{to:.1f}" for at, to in steps)
            said = f"{one.name}: {speedup(one.best.ratio if one.best else None)} after {one.spent:.4g}"
            curves.append(Curve(place, one.name, f"{line}H{x(one.spent):.1f}", said))
        across = tuple(Tick(x(share * most), f"{share * most:.3g}") for share in SHARES)
        return Plot(curves=tuple(curves), across=across, up=tuple(_up(top)))


def _height(value: float, top: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * min(1.0, value / top)


def _up(top: float) -> list[Tick]:
    return [Tick(round(_height(share * top, top), 1), f"{significant(share * top, 2)}×") for share in SHARES]


def nodes_of(submissions: Iterable[Submission], own: Iterable[int]) -> list[Node]:
    """Return these submissions as a tree of their own, oldest first. `own`: those with a page for the viewer."""
    shown = sorted(view.shown_list(submissions), key=lambda item: item.id)
    keys, mine = {item.id for item in shown}, set(own)
    lineages, parents = Lineage.objects.in_bulk(keys), defaultdict(list)
    for child, parent in Parent.objects.filter(child__in=keys, parent__in=keys).values_list("child", "parent"):
        parents[child].append(parent)
    judged = Attempt.objects.filter(submission__in=keys, is_shadow=False, finished_at__isnull=False)
    spent = judged.exclude(state=LOST).exclude(cause=REJUDGE).order_by().values_list("submission")
    sums = spent.annotate(took=Sum(F("finished_at") - F("claimed_at")))
    seconds = {pk: took.total_seconds() for pk, took in sums if took}
    return [
        Node(
            item,
            item.url if item.id in mine else f"/entries/{item.id}",
            lineages.get(item.id) or Lineage(submission=item.submission),
            tuple(parents[item.id]),
            seconds.get(item.id, 0.0),
        )
        for item in shown
    ]


def tree_of(submission: Submission, viewer: Viewer, now: datetime, model: str = "") -> Tree:
    """Return the tree of a submission as this viewer may know it, perhaps without the submission itself."""
    run = Lineage.objects.filter(pk=submission.pk).exclude(run="").values_list("run", flat=True).first()
    if run is not None:
        members = Lineage.objects.filter(run=run, submission__owner__in=logins_of(submission.owner))
        keys = {submission.pk, *members.order_by("pk").values_list("pk", flat=True)[:MOST_NODES]}
    else:
        with connection.cursor() as cursor:
            cursor.execute(_FAMILY, {"pk": submission.pk, "most": MOST_NODES // 2})
            keys = {pk for (pk,) in cursor.fetchall()}
    seen = view.visible_to(viewer) if isinstance(viewer, User) else Submission.objects.none()
    own = set(seen.filter(pk__in=keys).values_list("pk", flat=True))
    known = Submission.objects.filter(pk__in=own | readable_among(keys, viewer, now), takedown=None)
    if model:
        known = known.filter(lineage__model=model)
    return Tree(nodes_of(known.select_related(*view.PARTS).defer("source"), own))


@dataclass(frozen=True)
class SeenTree:
    """A submission with the part of its tree that a viewer sees, perhaps of one model alone."""

    own: Node
    tree: Tree
    models: Sequence[str]  # of the whole tree
    model: str  # "": all


def tree_seen(viewer: Viewer, pk: int, model: str, now: datetime) -> SeenTree:
    """Return the tree for everybody who may read the code of this submission. Raises Http404."""
    submission = Submission.objects.filter(pk=pk).select_related("owner", "board__problem").defer("source").first()
    whole = tree_of(submission, viewer, now) if submission else Tree([])
    own = next((node for node in whole.nodes if node.pk == pk), None)
    models = sorted({node.lineage.model for node in whole.nodes if node.lineage.model})
    if submission is None or own is None or (model and model not in models):
        raise Http404
    return SeenTree(own, tree_of(submission, viewer, now, model) if model else whole, models, model)


@require_safe
def tree(request: HttpRequest, pk: int) -> HttpResponse:
    """The tree of a submission, for everybody who may read its code."""
    seen = tree_seen(request.user, pk, request.GET.get("model", ""), timezone.now())
    context = vars(seen) | {"plot": Plot((), (), ()), "most": MOST_NODES}
    return render(request, "web/lineage.html", context)


@dataclass(frozen=True)
class SeenRuns:
    """A person's own runs on a board."""

    boards: Sequence[Any]  # with runs of theirs, the newest first
    board: Any  # the chosen one, as a row of `boards`; None: no runs
    models: Sequence[str]  # on this board
    model: str  # "": all
    by: str  # of BUDGETS
    comparison: Comparison | None
    most: int  # submissions that count, where there are more; else 0


def runs_seen(user: User, *, board: str, model: str, by: str) -> SeenRuns:
    """Return this person's runs on a board, or where they sent the newest. Raises Http404 for an unknown choice."""
    sent = view.sent_by(user).exclude(Q(lineage=None) | Q(lineage__run="", lineage__strategy=""))
    boards = list(
        sent.order_by()
        .values("board", "board__slug", "board__hardware", "board__problem__title")
        .annotate(sent=Count("pk"), newest=Max("pk"))
        .order_by("-newest")
    )
    chosen = next((one for one in boards if not board or str(one["board"]) == board), None)
    if by not in BUDGETS or (chosen is None and board):
        raise Http404
    here = sent.filter(board=chosen["board"] if chosen else None)
    models = sorted(here.exclude(lineage__model="").order_by().values_list("lineage__model", flat=True).distinct())
    if model and model not in models:
        raise Http404
    if model:
        here = here.filter(lineage__model=model)
    newest = list(here.select_related(*view.PARTS).defer("source").order_by("-pk")[:MOST_COMPARED])
    groups: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in nodes_of(newest, [submission.pk for submission in newest]):
        if node.item.is_finished:
            groups[node.lineage.run, node.lineage.strategy].append(node)
    contenders = [Contender(run, strategy, nodes, by) for (run, strategy), nodes in groups.items()]
    comparison = Comparison(contenders) if contenders else None
    return SeenRuns(boards, chosen, models, model, by, comparison, MOST_COMPARED * (len(newest) == MOST_COMPARED))


@login_required
@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """The viewer's own runs on a board, with their strategies compared at equal budget."""
    given = {name: request.GET.get(name, "") for name in ("board", "model", "by")}
    seen = runs_seen(user_of(request), **given | {"by": given["by"] or "candidates"})
    return render(request, "web/runs.html", vars(seen) | {"unit": BUDGETS[seen.by], "budgets": BUDGETS})
