"""Slowdown of a block while a foreign process uses its core: the source of throttle.TAKEN_SHARE. By hand, when quiet:

python -m benchmarks.company

Blocks of six calls of some ms run on one core, while a process of ours, which counts as foreign, uses shares of that
core. Prints, by the share that telemetry saw, how much slower the blocks' medians were than on the free core.
"""

import os
import statistics
import subprocess
import sys
import time
from contextlib import closing
from itertools import pairwise

import torch

from runner.evidence.throttle import rule
from runner.judge.device.telemetry import CpuTelemetry

BLOCKS, CALLS = 60, 6
COMPANY = ((0.0, 1.0), (0.05, 0.01), (0.1, 0.01), (0.25, 0.01), (0.1, 0.05), (0.25, 0.05), (0.5, 0.05), (0.3, 0.2))
EDGES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 9.0)
STRANGER = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
share, period = float(sys.argv[2]), float(sys.argv[3])
while os.getppid() != 1:
    began = time.thread_time()
    while time.thread_time() - began < share * period:
        pass
    time.sleep((1 - share) * period)
"""


def main() -> None:
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    torch.set_num_threads(1)
    seen: list[tuple[float, float]] = []  # foreign share, median of the block in ms
    with closing(CpuTelemetry(own=lambda: frozenset({os.getpid()}), cores=[core])) as telemetry:
        alone = _blocks(telemetry)
        for share, period in COMPANY[1:]:
            stranger = subprocess.Popen([sys.executable, "-c", STRANGER, str(core), str(share), str(period)])
            try:
                time.sleep(0.2)
                seen += _blocks(telemetry)
            finally:
                stranger.kill()
                stranger.wait()
    usual = statistics.median(took for _, took in alone)
    print(f"nobody there: {usual:.3f} ms a call")
    _say([(share, took / usual) for share, took in alone + seen])


def _blocks(telemetry: CpuTelemetry) -> list[tuple[float, float]]:
    data = torch.rand(1 << 20)
    out = torch.empty_like(data)
    found = []
    for _ in range(BLOCKS):
        telemetry.begin()
        calls = []
        for _ in range(CALLS):
            began = time.perf_counter_ns()
            for _ in range(4):
                torch.exp(data, out=out)
            calls.append((time.perf_counter_ns() - began) / 1e6)
        share = rule(telemetry.end(), None).figures.get("foreign_share", 0.0)
        found.append((share, statistics.median(calls)))
    return found


def _say(seen: list[tuple[float, float]]) -> None:
    print("share of others | blocks | slower: p10, median, p90")
    for low, high in pairwise(EDGES):
        slower = sorted(ratio for share, ratio in seen if low <= share < high)
        if slower:
            tenth = len(slower) // 10
            print(
                f"{100 * low:.0f} … {100 * high:.0f} % | {len(slower)} | "
                f"{slower[tenth]:.3f} {statistics.median(slower):.3f} {slower[-1 - tenth]:.3f}"
            )


if __name__ == "__main__":
    main()
