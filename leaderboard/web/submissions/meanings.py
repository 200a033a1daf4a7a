"""The figures of a result, explained for people who did not build the judge. Words only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leaderboard.standings.ranking.ranking import TIE


@dataclass(frozen=True)
class Meaning:
    title: str
    text: str


MEANINGS: Final = (
    Meaning(
        "Speedup",
        "How many times as fast as the baseline, which ran beside your kernel, turn by turn, in the same minute on the "
        "same device: above 1× is faster than the baseline, below 1× slower. The speedup ranks.",
    ),
    Meaning(
        "Time",
        "What the judge measured in this run, over its timed cases. On a board it is the geometric mean over the "
        "kernel's own runs, so only another run of that kernel changes it. It does not rank: between two runs the "
        "machine's speed may change, and the baseline's time changes with it.",
    ),
    Meaning(
        "95 % interval",
        "How far chance alone may have moved the comparison: measured again many times, 95 of 100 such intervals would "
        "hold the true value.",
    ),
    Meaning(
        "Clock tolerance",
        "A GPU's fine stopwatch runs in the sandbox, in reach of the code that it times; the judge's own clock is out "
        "of reach and a little coarser. The judge's clock confirms all of the time but for this share at most. The "
        "share is a property of the measurement and not of the code: it is larger for short kernels, and zero on "
        "hardware where the judge's clock alone counts. Differences that it could explain are ties.",
    ),
    Meaning(
        "Runs",
        "Ranked runs of the same kernel count as one value, their mean. Sending it again makes the value surer, not "
        "luckier; changing names, comments or blanks makes no new kernel.",
    ),
    Meaning(
        "Tied",
        f"Two kernels are tied when they differ by less than {100 * TIE:g} %, by no more than the clock's tolerance, "
        "or by no more than chance could do. They share a rank, and whoever was that fast first stands first.",
    ),
    Meaning(
        "Telemetry",
        "Whether the device's clocks, temperatures and reasons for slowing down were watched while it timed. Blocks in "
        "which the device was throttled or disturbed are thrown away and repeated.",
    ),
    Meaning(
        "Timing epoch",
        "Times rank together only under the same driver, limits, software and version of the judge. When one of them "
        "changes a new epoch is proposed; an organiser decides when boards rank it. A contest keeps its own.",
    ),
)

TELEMETRY: Final = {
    "full": "Clocks, temperatures and reasons for slowing down were watched through every timed block.",
    "mask_only": "The reasons for slowing down were polled ten times a second; a shorter dip could go unseen.",
    "none": "Nothing was watched on this machine, so nobody knows at which clocks it ran.",
}
