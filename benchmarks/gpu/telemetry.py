"""Telemetry's readings on this host, and their cost. By hand: python -m benchmarks.gpu.telemetry [HARDWARE]

Prints the device's fitness, a whole window with its ruling, then medians and 99th percentiles of `begin` and `end`.
On a GPU a second window lies around a second of matrix products: counters, clocks and mask must move as they should.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing

from runner.evidence.throttle import Window, rule
from runner.host.accelerators import make_of
from runner.judge.device.telemetry import Telemetry

ROUNDS = 300


def main(hardware: str = "cpu") -> None:
    make = make_of(hardware)
    for fit in make.host_fit(0):
        print(f"{'ok ' if fit.ok else 'BAD'} {fit.name}: {fit.found} {fit.remedy}")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # as the judge does
    with closing(make.telemetry(0, own=lambda: frozenset({os.getpid()}))) as telemetry:
        _show("a calm second", _around(telemetry, lambda: time.sleep(1)))
        if not make.on_host:
            _show("a second of work", _around(telemetry, _multiply))
        _cost(telemetry)
        print("level:", telemetry.level)


def _around(telemetry: Telemetry, work: Callable[[], None]) -> Window:
    telemetry.begin()
    work()
    return telemetry.end()


def _show(title: str, window: Window) -> None:
    print(title, json.dumps(window.to_json()), rule(window, None), sep="\n  ")


def _multiply() -> None:
    import torch

    square = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    until = time.monotonic() + 1
    while time.monotonic() < until:
        square @ square
        torch.cuda.synchronize()


def _cost(telemetry: Telemetry) -> None:
    begins, ends = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        telemetry.begin()
        between = time.perf_counter_ns()
        telemetry.end()
        ended = time.perf_counter_ns()
        begins.append((between - began) / 1e3)
        ends.append((ended - between) / 1e3)
    for name, found in (("begin", begins), ("end", ends)):
        print(f"{name}: {statistics.median(found):.1f} µs, p99 {sorted(found)[int(0.99 * len(found))]:.1f} µs")


if __name__ == "__main__":
    main(*sys.argv[1:])
