"""Rulings on a block: valid, void or spoiled by a side. Pure, so that a replay rules again from stored samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runner.evidence import schedule, stats, throttle
from runner.evidence.sample import Sample
from runner.evidence.schedule import A
from runner.evidence.throttle import SET_ASIDE, VOID, Ruling, Window

# Beyond PROBE_FACTOR times the idle device's duration, other work is on the device: a turn of another context takes
# 2.4 ms on an H200, a hiccup of the judge's own process up to 0.3.
PROBE_FACTOR: Final = 5
PROBE_SLACK_NS: Final = 500_000


def rule_block(
    side: str, samples: Sequence[Sample], window: Window, *, warm: Window | None, probe_limit_ns: float, guest: str
) -> tuple[Ruling, str]:
    """Decide what becomes of a block, and which side is to blame for it.

    `warm` is the window around this side's last warm-up. `guest` is the side of foreign code that ran last before the
    block: work that is still running when the block begins is charged to it.
    """
    ruling = throttle.rule(window, warm)
    if ruling.action != SET_ASIDE:
        if not all(sample.is_sane for sample in samples):
            return Ruling(VOID, "clock"), ""
        slow = [number for number, sample in enumerate(samples) if sample.probe_ns > probe_limit_ns > 0]
        if slow:
            slowest = max(sample.probe_ns for sample in samples)
            return Ruling(VOID, schedule.BUSY, figures={"probe_ns": slowest}), guest_after(guest, side, slow[0])
    return ruling, side if ruling.charged else ""


def breaks(ruling: Ruling) -> bool:
    """Return whether the device broke. The block is then no evidence about any code."""
    return ruling.action == SET_ASIDE and throttle.is_broken(ruling.reason)


def guest_after(guest: str, side: str, calls: int = 1) -> str:
    """Return the side of foreign code that ran last, after `calls` calls of `side`."""
    return side if calls and side != A else guest


def probe_limit_ns(idle: Sequence[Sample], before: Sequence[Sample] = ()) -> float:
    """Return the duration above which an idle probe met foreign work, in ns; 0 where there is no probe.

    `before` holds calls from before there was a submission: work left on the device slows the probes of idle calls too.
    """
    usual = min(stats.median([sample.probe_ns for sample in samples]) for samples in (idle, before) if samples)
    return PROBE_FACTOR * usual + PROBE_SLACK_NS if usual > 0 else 0.0
