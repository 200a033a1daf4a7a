"""Choice of the judged cases: the public cases, and fresh secret cases.

Every seed is drawn independently (never derived from another seed). Chance comes in as an argument, which lets a test
fix it; the judge passes `secrets.SystemRandom()`.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from problems.spec import Case, Choice, Fuzz, IntRange, Problem

SEED_BITS: Final = 62  # torch takes 63; if a generator takes fewer, the oracle makes it 31 (problem_code.py)
SECRET_CASES: Final = 10  # at least, however few a problem asks for


@dataclass(frozen=True)
class Planned:
    """Planned correctness case. `public`: its figures may be shown to the competitor."""

    case: Case
    seed: int
    public: bool


def fresh_seed(chance: random.Random) -> int:
    """Return a fresh seed, long enough to resist guessing: data of a short seed could be generated instead of read."""
    return chance.getrandbits(SEED_BITS)


def plan_checks(problem: Problem, chance: random.Random) -> list[Planned]:
    """Return all public cases with their own seeds, then secret cases: shapes and fuzz ranges with fresh seeds."""
    public = []
    for case in problem.tests:
        seed = case.get("seed")
        own = seed if isinstance(seed, int) and not isinstance(seed, bool) else fresh_seed(chance)
        public.append(Planned(case, own, public=True))
    return public + [Planned(case, fresh_seed(chance), public=False) for case in _secret(problem, chance)]


def _secret(problem: Problem, chance: random.Random) -> list[Case]:
    shapes = [dict(case) for case in (*problem.benchmarks, *problem.tests)]
    if problem.fuzz is None:
        return [shapes[n % len(shapes)] for n in range(max(SECRET_CASES, len(problem.benchmarks)))]
    timed = [*map(dict, problem.benchmarks), *_timed_shapes(problem.benchmarks, problem.fuzz, chance)]
    base = shapes[0] if shapes else {}
    drawn = [
        {**base, **{name: draw(choice, chance) for name, choice in problem.fuzz.args.items()}}
        for _ in range(max(problem.fuzz.cases, SECRET_CASES - len(timed)))
    ]
    return timed + drawn


def _timed_shapes(timed: Sequence[Case], fuzz: Fuzz, chance: random.Random) -> list[Case]:
    """Return the timed cases with all other arguments varied, to expose a kernel that cuts corners on their shapes.

    A choice of texts (`distribution`) is no shape: each of its values meets at least one timed shape.
    """
    kinds = {
        name: list(choice)
        for name, choice in fuzz.args.items()
        if not isinstance(choice, IntRange) and all(isinstance(value, str) for value in choice)
    }
    if not timed or not kinds:
        return []
    for values in kinds.values():
        chance.shuffle(values)
    return [
        {**timed[n % len(timed)], **{name: values[n % len(values)] for name, values in kinds.items()}}
        for n in range(max(len(timed), *map(len, kinds.values())))
    ]


def draw(choice: Choice, chance: random.Random) -> int | float | str | bool | list[int]:
    """Draw a value of a fuzz range."""
    if not isinstance(choice, IntRange):
        return chance.choice(choice)
    if choice.log:
        value = round(math.exp(chance.uniform(math.log(choice.low), math.log(choice.high))))
    else:
        value = chance.randint(choice.low, choice.high)
    if choice.odd and value % 2 == 0:
        value += 1 if value < choice.high else -1
    return min(max(value, choice.low), choice.high)
