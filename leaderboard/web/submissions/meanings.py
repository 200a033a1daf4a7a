"""Ranking and figures of a result, explained for people who did not build the judge. Words only."""

from typing import Final

from leaderboard.competitions.models import FAST_P, GEOMETRIC_MEAN, POINTS
from leaderboard.standings.ranking.ranking import TIE

HOW_RANKED: Final = (
    "Ranks go by speedup: how many times as fast as the baseline that was timed beside the kernel, as the mean over "
    "all its ranked runs. The time is the mean measured in those runs; it does not decide the rank."
)
RANKINGS: Final = {
    "geom": "Geometric mean over the timing cases",
    "mean": "Mean over the timing cases",
    "last": "The last timing case alone",
}
SCORING_NAMES: Final = {POINTS: "points", GEOMETRIC_MEAN: "geometric mean", FAST_P: "share won (fast_p)"}
SCORINGS_EXPLAINED: Final = {
    POINTS: "The first ten of each board get 25, 18, 15, 12, 10, 8, 6, 4, 2 and 1 points. Tied entrants share the "
    "points of their places, and the interval shows the points that they could get if the ties were broken.",
    GEOMETRIC_MEAN: "The geometric mean of the speedups over the baseline, over all boards. A board without a kernel, "
    "or with one slower than the baseline, counts as 1×.",
    FAST_P: "The share of boards on which the kernel is surely faster than the baseline. Equal shares are ordered by "
    "the share more than twice as fast, then by the share of boards solved at all.",
}
MEANINGS: Final = {
    "Speedup": "How many times as fast as the baseline, which ran alternately with your kernel on the same device. "
    "Above 1× is faster than the baseline, below 1× slower. Ranks go by speedup.",
    "Time": "The time that the judge measured in this run, over its timed cases. On a board it is the geometric mean "
    "over the kernel's own runs, so only another run of that kernel changes it. It does not decide the rank: the speed "
    "of the machine may change between two runs, and the baseline's time changes with it.",
    "95 % interval": "How far chance may have moved the measured speedup. If the run were repeated many times, 95 of "
    "100 such intervals would contain the true value.",
    "Clock tolerance": "The precise timer of a GPU runs inside the sandbox, within reach of the code that it times. "
    "The judge's own clock is out of reach and a little coarser. The judge's clock confirms all of the time but for "
    "this share at most. The share is a property of the measurement, not of your code: it is larger for short kernels, "
    "and zero on hardware that the judge's clock alone times. Kernels that differ by less are tied.",
    "Runs": "All ranked runs of the same kernel count as one value, their mean. A further run makes the value more "
    "precise, but does not favour it. Changes of names, comments or white space do not make a new kernel.",
    "Tied": f"Two kernels are tied when they differ by less than {100 * TIE:g} %, by no more than the clock tolerance, "
    "or by no more than chance can explain. They share a rank; the kernel that was that fast first is listed first.",
    "Telemetry": "Whether the device's clocks, temperatures and throttle reasons were recorded during the timing. "
    "Blocks in which the device was throttled or disturbed are discarded and repeated.",
    "Timing epoch": "Times rank together only if they were measured with the same driver, limits, software and version "
    "of the judge. A change of any of them makes a new epoch, and an organiser decides when boards rank it. A contest "
    "keeps its own epoch.",
}

TELEMETRY: Final = {
    "full": "Clocks, temperatures and throttle reasons were recorded during every timed block.",
    "mask_only": "Only the throttle reasons were recorded, ten times a second. A shorter slowdown could go unnoticed.",
    "none": "This machine recorded no telemetry, so its clocks during the run are unknown.",
}
