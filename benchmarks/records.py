"""Error rates of the rule for records, on simulated runs: `python -m benchmarks.records` prints them.

Beside the rule in force (Student's t) stands its rejected alternative: all five runs must be faster, which is the
sign-based order statistic that reaches 95 % with five runs (96.9 %: the smallest gain).
"""

import math
import random
from collections.abc import Callable

from runner.evidence import records

RUNS = 5
SEED = 20_240_601

Noise = Callable[[random.Random, float], float]  # noise of a run, as ln, from its scale

NOISES: dict[str, Noise] = {
    "normal": lambda chance, scale: chance.gauss(0, scale),
    "one run in ten 5× as noisy": lambda chance, scale: chance.gauss(0, scale * (5 if chance.random() < 0.1 else 1)),
    "Student's t, 3 degrees": lambda chance, scale: scale * _heavy(chance),
}


def accepted_share(gain: float, scale: float, noise: Noise = NOISES["normal"], trials: int = 10_000) -> float:
    """Return the share of confirmations that the rule accepts."""
    return _shares(gain, scale, noise, trials)[0]


def _shares(gain: float, scale: float, noise: Noise, trials: int) -> tuple[float, float]:
    """Return the shares accepted by the rule, and by "all five faster and 0.5 % in the median"."""
    chance = random.Random(SEED)
    by_rule = by_signs = 0
    for _ in range(trials):
        found = [math.log1p(-gain) + noise(chance, scale) for _ in range(RUNS)]
        decided = records.decide_differences(found)
        by_rule += decided.accepted
        by_signs += decided.wins == RUNS and (decided.median_gain or 0) >= records.LEAST_GAIN
    return by_rule / trials, by_signs / trials


def _heavy(chance: random.Random) -> float:
    return chance.gauss(0, 1) / math.sqrt(sum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3)


def main() -> None:
    trials = 40_000
    print(f"accepted, % of {trials} simulated confirmations of {RUNS} runs; in brackets: all {RUNS} must be faster")
    gains = (0.0, 0.0025, 0.005, 0.01, 0.02)
    print(f"{'noise of a run':34}" + "".join(f"{f'gain {100 * gain:g} %':>17}" for gain in gains))
    for name, noise in NOISES.items():
        for scale in (0.003, 0.006, 0.01):
            shares = [_shares(gain, scale, noise, trials) for gain in gains]
            cells = "".join(f"{f'{100 * rule:.2f} ({100 * signs:.2f})':>17}" for rule, signs in shares)
            print(f"{f'{100 * scale:g} %, {name}':34}{cells}")


if __name__ == "__main__":
    main()
