"""Decision whether a candidate takes first place from the incumbent. Pure: the evidence of k independent runs in, a
verdict out.

A run uses new containers and new seeds with blocks A B I I B A (A the baseline, B the candidate, I the incumbent),
which measures all three within milliseconds of each other. It gives one number, ln(candidate / incumbent), combined
over the cases as the problem ranks. Runs are independent, and the differences between them contain all the noise.

A record needs all of the following: at least LEAST_RUNS runs; a gain at the one-sided 95 % bound of the mean (Student's
t on the k numbers); a median gain of LEAST_GAIN or more; and a gain in four of five runs. Student's t replaces the
sign-based order statistic, which with five runs is the smallest gain: a single disturbed run would decide, and "four of
five" would have no effect. The figures of both are in docs/records.md.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, Final

from runner.evidence import stats, verdict
from runner.evidence.certificate import certify
from runner.evidence.estimates import CaseTime, rank
from runner.evidence.schedule import B, I, differences
from runner.evidence.schema import Confirmation, Evidence, Timing

INCUMBENT_FAILED: Final = "incumbent"  # reason code of a run that its incumbent ended
LEAST_RUNS: Final = 5
RATIO_RULES: Final = 9  # from these on, a mean is of the cases' ratios to the baseline, as on the board
LEAST_GAIN: Final = 0.005  # share of the incumbent's time
LEAST_WINS: Final = 0.8  # share of the runs
LEAST_QUADS: Final = 3  # of a case, with both sides in them
T_95: Final = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860)  # Student's t, one-sided, 1 … 8 degrees


class RunFailed(Exception):
    """Run that does not show which submission is faster. The text gives the reason; `whose` is candidate, incumbent or
    run."""

    def __init__(self, whose: str, why: str) -> None:
        super().__init__(why)
        self.whose = whose


@dataclass(frozen=True)
class RecordVerdict:
    """Verdict of a confirmation. `gains` are shares of the incumbent's time, one per run; positive is faster."""

    accepted: bool
    reason: str  # confirmed, too_few_runs, candidate_failed, incumbent_failed, run_failed, uncertain, too_small, …
    sentence: str
    held: bool  # a person looks at it before publication
    gains: tuple[float, ...] = ()
    median_gain: float | None = None
    least_gain: float | None = None  # lower end of the one-sided 95 % interval; below 0: no gain is shown
    wins: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "gains": list(self.gains), "runs": len(self.gains)}


def decide_record(confirmation: Confirmation) -> RecordVerdict:
    """Return the verdict over all runs. `alone` may have an entry per run: the incumbent as the candidate of a separate
    run, right after a run whose blocks it disturbed. The two are then compared over the baseline, and a person looks at
    the result."""
    runs = confirmation.runs
    found: list[float] = []
    left_out = False
    for number, (run, apart) in enumerate(zip_longest(runs, confirmation.alone), 1):
        try:
            difference, shared = run_difference(run, apart)
        except RunFailed as failed:
            return RecordVerdict(
                accepted=False,
                reason=f"{failed.whose}_failed",
                sentence=f"Run {number} of {len(runs)} decides nothing. {failed}",
                held=failed.whose == "incumbent",
                gains=tuple(_share(one) for one in found),
            )
        found.append(difference)
        left_out |= not shared
    return decide_differences(found, left_out=left_out)


def decide_differences(found: Sequence[float], *, left_out: bool = False) -> RecordVerdict:
    """Return the verdict from ln(candidate / incumbent) of each run. `left_out`: some compared over the baseline."""
    gains, runs, wins = tuple(_share(one) for one in found), len(found), sum(one < 0 for one in found)
    middle = _share(stats.median(found)) if found else None
    least = _share(upper_bound(found)) if runs >= 2 else None
    if middle is None or least is None:
        reason, sentence = "too_few_runs", f"Not decided: at least {LEAST_RUNS} runs are needed, {runs} were made."
    else:
        what = f"{_percent(middle)} in the median of {runs} runs, faster in {wins} of them, "
        what += f"{_percent(least)} at the 95 % bound."
        if runs < LEAST_RUNS:
            reason, said = "too_few_runs", f"Not decided: at least {LEAST_RUNS} runs are needed. So far"
        elif middle < LEAST_GAIN:
            reason, said = "too_small", f"Not a record, a gain of at least {100 * LEAST_GAIN:g} % is needed"
        elif wins < LEAST_WINS * runs:
            reason, said = "too_few_wins", "Not a record, four of five runs must be faster"
        elif least <= 0:
            reason, said = "uncertain", "Not a record, the runs differ too much to show a gain"
        else:
            reason, said = "confirmed", "A record"
        sentence = f"{said}: {what}"
    if left_out:
        sentence += " The incumbent disturbed the blocks it shared and was timed alone: a person must look at this."
    return RecordVerdict(reason == "confirmed", reason, sentence, left_out, gains, middle, least, wins)


def upper_bound(values: Sequence[float]) -> float:
    """Return the upper end of the one-sided 95 % interval of the mean. Needs 2 to 9 values."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean + T_95[n - 2] * math.sqrt(variance / n)


def _share(difference: float) -> float:
    """Return the share of the incumbent's time that is saved, from ln(candidate / incumbent)."""
    return -math.expm1(difference)


def _percent(gain: float) -> str:
    return f"{abs(100 * gain):.2f} % {'faster' if gain >= 0 else 'slower'}"


def run_difference(run: Evidence, alone: Evidence | None = None) -> tuple[float, bool]:
    """Return ln(candidate / incumbent) of a run over its cases, and whether both shared blocks. Raises RunFailed."""
    ours = _passed(run, "candidate")
    theirs = _passed(alone, "incumbent") if alone is not None else {}
    ratios, weights, shared = [], [], True
    for timing in run.timing:
        case = timing.case
        together = timing.model_copy(update={"quads": [quad for quad in timing.quads if quad.compares(B, I)]})
        held, tried = (certify(together, run, side) for side in (I, B))
        if held.mismatch:
            raise RunFailed("incumbent", f"Case {case}: the incumbent's events tell less time than passed.")
        found = differences([[i[1], b[1], b[2], i[2]] for i, b in zip(held.quads, tried.quads, strict=True)])
        if len(found) >= LEAST_QUADS:
            difference = stats.median(found)
        elif case in theirs:
            difference, shared = ours[case].estimate.value - theirs[case].estimate.value, False
        else:
            raise RunFailed("incumbent", f"Case {case}: the incumbent was in too few valid blocks.")
        ratios.append(math.exp(difference))
        counts = ours[case].ratio if run.rules >= RATIO_RULES else ours[case].candidate_ns
        weights.append(counts / math.exp(difference))  # the incumbent's own ratio to the baseline, or its time
    if run.ranking_by == "mean":  # the ratio of the two scores
        weighted = [ratio * weight for ratio, weight in zip(ratios, weights, strict=True)]
        return math.log(sum(weighted) / sum(weights)), shared
    return math.log(rank(ratios, run.ranking_by)), shared


def _passed(run: Evidence, whose: str) -> dict[str, CaseTime]:
    """Return the times of a run's candidate by case. Raises RunFailed if it did not pass."""
    decided = verdict.decide(run)
    if decided.outcome == "passed" and decided.times:
        return {time.case: time for time in decided.times}
    if decided.reason == INCUMBENT_FAILED:
        whose = "incumbent"
    elif decided.outcome in ("unmeasurable", "infra_error", "passed"):
        whose = "run"
    raise RunFailed(whose, decided.message or f"Its outcome is {decided.outcome}, and nothing was timed.")


def is_shared(timing: Timing) -> bool:
    """Return whether enough of a case's valid quads contain all three sides to compare the two directly."""
    return sum(quad.compares(B, I) for quad in timing.quads) >= LEAST_QUADS
