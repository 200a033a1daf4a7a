"""The model board: kernels that models wrote for a set of problems, by model, with the attempts that they took.

A submission's model is the one that its sender names (Lineage), else the one of its entrant in the agents' division.
Nobody verifies it. A model appears with its first public kernel.

fast_p counts the best public kernel of each problem, by the lower end of its interval, whoever sent it: entries that
the public sees now, in the epoch that their board ranks. A result without an entry, such as one that review holds or
rejected, is not among them. pass@1 is the share of passes among all judged ranked attempts, those without an entry
included, as the mean over the problems that the model attempted. An attempt passes when it has a public entry; an epoch
does not matter for correctness. Two queries, beside those of the set.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Case, CharField, Count, F, QuerySet, Value, When

from leaderboard.competitions.models import AGENT
from leaderboard.judging.models import DONE
from leaderboard.judging.verdicts import is_spoiled
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.overall import SHOWN, Solved, fast, relative
from leaderboard.standings.ranking.ranking import Run, pool
from leaderboard.standings.ranking.ranking import Value as Kernel
from leaderboard.standings.ranking.sampling import Attempts, Share, fast_at, share
from leaderboard.standings.read.boards import Collection
from leaderboard.standings.read.table import COLUMNS, inside_each
from leaderboard.submissions.models import Submission


@dataclass(frozen=True)
class ModelLine:
    """A model on a set of problems."""

    model: str
    best: Mapping[str, Kernel]  # by problem
    kernels: int  # public ones, in the ranked epochs
    attempts: Mapping[str, Attempts]  # by problem that it attempted
    problems: int  # of the set
    compiled: Mapping[str, Solved]  # by problem: torch.compile against eager

    @cached_property
    def eager_answers(self) -> dict[str, Solved]:
        return {slug: Solved.of(kernel) for slug, kernel in self.best.items()}

    @cached_property
    def compiled_answers(self) -> dict[str, Solved]:
        return relative(self.eager_answers, self.compiled)

    @property
    def eager(self) -> list[Share]:
        """fast_p against the baseline for each p of SHOWN."""
        return _shares(self.eager_answers, self.problems)

    @property
    def against_compiled(self) -> list[Share]:
        """fast_p against torch.compile; empty where no problem of the set has its time."""
        return _shares(self.compiled_answers, self.problems) if self.compiled else []

    @property
    def pass_at_1(self) -> Share:
        return fast_at(list(self.attempts.values()), 0.0, 1)

    @property
    def tries(self) -> int:
        return sum(one.total for one in self.attempts.values())


def _shares(answers: Mapping[str, Solved], problems: int) -> list[Share]:
    return [share(fast(list(answers.values()), problems, p), problems) for p in SHOWN]


def model_lines(found: Collection) -> list[ModelLine]:
    """Return the models with a public kernel of this set, best first: by fast_1, fast_2, fast_0, then by name."""
    slugs = {member.board: member.slug for member in found.members}
    runs: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    passed: dict[str, Counter[str]] = defaultdict(Counter)
    entries = by_model(Entry.objects.filter(inside_each(found.windows)).order_by(), "submission__")
    for model, board, epoch, *row in entries.values_list("model", "board", "epoch", *COLUMNS):
        passed[model][slugs[board]] += 1
        if epoch == found.epochs.get(board):
            runs[model][slugs[board]].append(Run(*row))
    tried = _tried(found, slugs)
    compiled = found.compiled()
    lines = []
    for model, by_problem in runs.items():
        kernels = {slug: pool(same) for slug, same in by_problem.items()}
        lines.append(
            ModelLine(
                model=model,
                best={slug: max(same, key=_order) for slug, same in kernels.items()},
                kernels=sum(map(len, kernels.values())),
                attempts={
                    slug: Attempts(total, passed[model][slug])
                    for slug, total in (
                        tried[model] | passed[model]
                    ).items()  # an entry counts while it is judged again
                },
                problems=len(found.members),
                compiled=compiled,
            )
        )
    return sorted(lines, key=lambda line: (*(-line.eager[place].value for place in (1, 2, 0)), line.model))


def _order(kernel: Kernel) -> tuple[float, float]:
    answer = Solved.of(kernel)
    return answer.least_speedup, answer.speedup


def _tried(found: Collection, slugs: Mapping[int, str]) -> dict[str, Counter[str]]:
    """Count the judged ranked attempts by model and problem."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sent = Submission.objects.filter(inside_each(found.windows, "created_at"), mode="ranked").order_by()
    judged = by_model(sent.filter(attempts__is_current=True, attempts__state=DONE), "")
    columns = ("model", "board", "attempts__outcome", "attempts__reason")
    rows = judged.values(*columns).annotate(total=Count("pk")).values_list(*columns, "total")
    for model, board, outcome, reason, total in rows:
        if outcome != "infra_error" and not is_spoiled(outcome, reason):
            counts[model][slugs[board]] += total
    return counts


def by_model(rows: QuerySet[Any], submission: str) -> QuerySet[Any]:
    """Annotate rows about submissions with their model; rows without a model are left out."""
    lineage = f"{submission}lineage__model"
    named = When(**{f"{lineage}__gt": ""}, then=F(lineage))
    agents = When(entrant__division=AGENT, then=F("entrant__model_name"))
    annotated: QuerySet[Any] = rows.annotate(
        model=Case(named, agents, default=Value(""), output_field=CharField()),
    )
    return annotated.exclude(model="")
