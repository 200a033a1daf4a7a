"""Rewards of verdicts, for programs that learn to write kernels. Pure.

A formula has a name with a version. A changed formula gets a new name, so that a reward can be computed again from a
stored report. `reward/1` is 0 for every kernel without a pass, and for a pass that rules hold or a reviewer rejects. A
correct kernel gets `correct` plus its speedup over the baseline, at most `cap`. A verdict that the site or its machine
spoiled says nothing about the kernel and has no reward.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

REWARD_1: Final = "reward/1"
FORMULAS: Final = (REWARD_1,)
MOST_CORRECT: Final = 100.0
LEAST_CAP: Final = 0.01
MOST_CAP: Final = 10_000.0

CORRECT: Final = "correct"
NOT_TIMED: Final = "not_timed"
NOT_PASSED: Final = "not_passed"
HELD: Final = "held"
REJECTED: Final = "rejected"
SPOILED: Final = "spoiled"
REASONS: Final = (CORRECT, NOT_TIMED, NOT_PASSED, HELD, REJECTED, SPOILED)


@dataclass(frozen=True)
class Parameters:
    """Parameters of `reward/1`. Raises ValueError, which names the parameter and its limits."""

    correct: float = 0.3  # weight of correctness
    cap: float = 10.0  # largest speedup that counts
    only_correct: bool = False  # leave out the speedup

    def __post_init__(self) -> None:
        for name, least, most in (("correct", 0.0, MOST_CORRECT), ("cap", LEAST_CAP, MOST_CAP)):
            value = getattr(self, name)
            if not least <= value <= most:  # also false for nan
                raise ValueError(f"{name}: {value} is out of range; give a number from {least:g} to {most:g}")


@dataclass(frozen=True)
class Judged:
    """A stored verdict with its standing. `ratio` is candidate / baseline, `half_width` relative, of 95 %."""

    outcome: str
    reason: str = ""
    ratio: float | None = None
    half_width: float | None = None
    held_by: Sequence[str] = ()  # rules that hold it, or "review"
    is_rejected: bool = False  # by a reviewer
    is_spoiled: bool = False  # by the site or its machine


@dataclass(frozen=True)
class Reward:
    """A reward with the bounds that follow from the interval of the ratio. None: unknown."""

    value: float | None
    low: float | None
    high: float | None
    speedup: float | None
    reason: str
    sentence: str


def reward(judged: Judged, parameters: Parameters | None = None) -> Reward:
    """Return the reward of a verdict by `reward/1`."""
    chosen = parameters or Parameters()
    verdict = f"{judged.outcome} ({judged.reason})" if judged.reason else judged.outcome
    if judged.is_spoiled:
        return Reward(None, None, None, None, SPOILED, f"The site could not judge the kernel: {verdict}.")
    if judged.outcome != "passed":
        return _nothing(NOT_PASSED, f"The verdict is {verdict}.")
    if judged.is_rejected:
        return _nothing(REJECTED, "A reviewer rejected the result.")
    if judged.held_by:
        return _nothing(HELD, f"The result is held: {', '.join(judged.held_by)}.")
    if judged.ratio is None or chosen.only_correct:
        at = chosen.correct
        if chosen.only_correct:
            speedup = None if judged.ratio is None else 1 / judged.ratio
            return Reward(at, at, at, speedup, CORRECT, "The kernel is correct.")
        return Reward(at, at, at, None, NOT_TIMED, "The kernel is correct; this mode times no kernel.")
    speedup = 1 / judged.ratio
    value = chosen.correct + min(speedup, chosen.cap)
    sentence = f"The kernel is correct and takes {judged.ratio:.4g} of the baseline's time."
    if judged.half_width is None:
        return Reward(value, None, None, speedup, CORRECT, sentence)
    slowest = judged.ratio * (1 + judged.half_width)
    fastest = judged.ratio * (1 - judged.half_width)
    low = chosen.correct + min(1 / slowest, chosen.cap)
    high = chosen.correct + (chosen.cap if fastest * chosen.cap <= 1 else 1 / fastest)
    return Reward(value, low, high, speedup, CORRECT, sentence)


def _nothing(reason: str, sentence: str) -> Reward:
    return Reward(0.0, 0.0, 0.0, None, reason, sentence)
