"""Strategies of a search: each plans a round as branches, from the candidates so far and given chance.

A branch starts at no, one or two parents. It asks for ideas in words and for several kernels of each idea, or for
kernels alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from .archive import Candidate, diverse, similarity

WIDTH: Final = 4  # parents of a beam
CROSSED: Final = 0.4  # share of evolution's branches that cross two kernels
FRESH: Final = 0.2  # share of evolution's branches without a parent


@dataclass(frozen=True)
class Branch:
    """A part of a round: `kernels` in all, of `ideas` different ideas; 0 ideas: without one."""

    parents: tuple[Candidate, ...]
    ideas: int
    kernels: int


@dataclass(frozen=True)
class Plan:
    """The size of a round."""

    kernels: int  # that the round may send
    realisations: int  # of each idea


class Strategy(Protocol):
    def branches(self, candidates: Sequence[Candidate], plan: Plan, random: Random) -> list[Branch]:
        """Return the branches of the next round; their kernels are at most those of the plan."""
        ...


class Samples:
    """Parallel samples: every round asks for kernels from the problem alone."""

    def branches(self, candidates: Sequence[Candidate], plan: Plan, random: Random) -> list[Branch]:
        return [Branch((), 0, plan.kernels)]


class Refine:
    """Serial refinement: each chain improves its last kernel by the feedback, whether it was right or wrong.

    A chain whose last kernel is slower than its best goes on from its best.
    """

    def branches(self, candidates: Sequence[Candidate], plan: Plan, random: Random) -> list[Branch]:
        tips = _tips([one for one in candidates if one.verdict], plan.kernels)
        fresh = plan.kernels - len(tips)
        return [Branch((tip,), 0, 1) for tip in tips] + ([Branch((), 0, fresh)] if fresh else [])


class Beam:
    """Beam search: new ideas for each of the fastest kernels of different kinds."""

    def branches(self, candidates: Sequence[Candidate], plan: Plan, random: Random) -> list[Branch]:
        beam: list[tuple[Candidate, ...]] = [(one,) for one in diverse(candidates, WIDTH)]
        return _shared(beam or [()], plan)


class Evolve:
    """Evolution: parents drawn from the archive, the fast ones more often; some branches cross two unlike kernels."""

    def branches(self, candidates: Sequence[Candidate], plan: Plan, random: Random) -> list[Branch]:
        archive = diverse(candidates)
        if not archive:
            return _shared([()], plan)
        weights = [1 / (1 + place) for place in range(len(archive))]
        parents: list[tuple[Candidate, ...]] = [(archive[0],)]
        for _ in range(max(1, plan.kernels // plan.realisations) - 1):
            chance, [first] = random.random(), random.choices(archive, weights)
            if chance < FRESH:
                parents.append(())
            elif chance < FRESH + CROSSED and len(archive) > 1:
                others = [one for one in archive if one is not first]
                unlike = [1.01 - similarity(first, one) for one in others]
                parents.append((first, *random.choices(others, unlike)))
            else:
                parents.append((first,))
        return _shared(parents, plan)


STRATEGIES: Final[dict[str, Strategy]] = {
    "evolve": Evolve(),
    "beam": Beam(),
    "refine": Refine(),
    "samples": Samples(),
}


def _shared(parents: Sequence[tuple[Candidate, ...]], plan: Plan) -> list[Branch]:
    """Divide the kernels of a round among the parents, the first ones before the last."""
    share, more = divmod(plan.kernels, len(parents))
    sizes = [share + (place < more) for place in range(len(parents))]
    return [
        Branch(mother, -(-size // plan.realisations), size) for mother, size in zip(parents, sizes, strict=True) if size
    ]


def _tips(judged: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return where each chain goes on: at its best kernel, or at its last without a correct one."""
    chain: dict[int, int] = {}  # candidate → first candidate of its chain
    tips: dict[int, Candidate] = {}
    for one in judged:
        root = chain.get(one.parents[0], one.parents[0]) if one.parents else one.number
        chain[one.number] = root
        known = tips.get(root)
        if known is None or one.speedup >= known.speedup:
            tips[root] = one
    return sorted(tips.values(), key=lambda one: (-one.speedup, one.number))[:most]
