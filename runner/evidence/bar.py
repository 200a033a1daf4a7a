"""Whether a candidate can still beat a bar, after a first look of a few quads in each case. Pure.

A program that sends many candidates wants the times of the fast ones. The first look ends the timing of the others.

The n-th quads of all cases together give a ratio, as a run's cases do. FIRST_LOOK such ratios are independent, but for
the lift by the run's contexts, which all share: taken as normal, it exceeds MARGIN standard deviations in one run of
2**FIRST_LOOK. In the other runs, take a candidate whose true ratio is at or below the bar. Noise lifts each of its
ratios above that margin with a probability of at most one half, and all of them with at most 2**-FIRST_LOOK. Nothing is
assumed of the noise within a run but that it lifts as often as it lowers. A candidate far from the bar is stopped
wrongly far more seldom. A timing that goes on begins anew, so its result does not depend on the first look.
"""

import math
from statistics import NormalDist
from typing import Final

from runner.evidence.certificate import certify
from runner.evidence.estimates import context_sd, rank
from runner.evidence.schedule import FIRST_LOOK, differences
from runner.evidence.schema import Evidence
from runner.evidence.verdict import decide

ERROR: Final = 2 * 2.0**-FIRST_LOOK  # probability at most of stopping a candidate whose true ratio is the bar
MARGIN: Final = NormalDist().inv_cdf(1 - 2.0**-FIRST_LOOK)  # standard deviations of the lift


def is_out_of_reach(evidence: Evidence, bar: float) -> bool:
    """Return whether the first look rules out that the candidate beats `bar`, a ratio of candidate to baseline.

    A look that is incomplete, or would be no result, rules out nothing.
    """
    cases = [differences(certify(timing, evidence).quads)[:FIRST_LOOK] for timing in evidence.timing]
    if not cases or any(len(case) < FIRST_LOOK for case in cases):
        return False
    ratios = [rank([math.exp(each) for each in together], evidence.ranking_by) for together in zip(*cases, strict=True)]
    if min(ratios) <= bar:
        return False
    decided = decide(evidence)
    if decided.outcome != "passed":
        return False
    return min(ratios) > bar * math.exp(MARGIN * context_sd(decided.times, evidence.ranking_by))
