"""Figures of the judge on a GPU host, as docs/measurements.md keeps them. By hand, after `source tests/gpu/setup.sh`.

python -m tests.gpu.measure JOBS PROBLEM FILE [PROBLEM FILE …]     each pair JOBS times; a table a case
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from runner import config, once
from runner.judge import certificate
from runner.wire import Report


def main() -> None:
    jobs, *pairs = sys.argv[1:]
    for problem, file in zip(pairs[::2], pairs[1::2], strict=True):
        reports = []
        for _ in range(int(jobs)):
            began = time.monotonic()
            found = once.find_problem(problem)
            report = once.judge_once(found, Path(file), "ranked", config.load_judge(), lambda event: None)
            reports.append(report)
            _keep(report, f"{found.slug}-{Path(file).stem}-{len(reports)}")
            _say_job(problem, file, report, time.monotonic() - began)
        _say_cases(reports)


def _keep(report: Report, name: str) -> None:
    """The whole report, where the environment's OUT names a folder."""
    if "OUT" in os.environ:
        (Path(os.environ["OUT"]) / f"{name}.json").write_text(json.dumps(report.to_json()))


def _say_job(problem: str, file: str, report: Report, took_s: float) -> None:
    ratio = f"{report.ratio:.4f}" if report.ratio else "-"
    times = [f"{case['measured_us']:.2f}" for case in report.cases if case["stage"] == "time"]
    print(
        f"{problem} {Path(file).name}: {report.outcome} {report.reason}, ratio {ratio}, µs {' '.join(times)}", end=" "
    )
    print(f"{list(report.flags)} {took_s:.1f} s {report.evidence.get('phases_s')}", flush=True)
    if report.outcome != "passed":
        print("  ", report.message[:600], report.evidence.get("operator", "")[-1500:])
        print("  ", {name: text[-800:] for name, text in report.logs.items() if text.strip()})


def _say_cases(reports: list[Report]) -> None:
    """A line a case: medians over the calls of the baseline's blocks, spread over jobs."""
    passed = [report.evidence for report in reports if report.evidence.get("timing")]
    if not passed:
        return
    print("case | event med µs (jobs) | CV jobs % | in-run CV % | gap µs | u µs | put µs | take µs | probe µs | A/A %")
    for index, timing in enumerate(passed[0]["timing"]):
        same = [evidence["timing"][index] for evidence in passed if len(evidence["timing"]) > index]
        _say_case(timing["case"], [timing for timing in same if timing["quads"]])


def _say_case(name: str, timings: list[dict[str, Any]]) -> None:
    if not timings:
        return
    events, cvs, gaps, spreads, ratios = [], [], [], [], []
    columns: list[list[float]] = [[], [], []]
    for timing in timings:
        calls = [call for quad in timing["quads"] for block in (quad[0], quad[3]) for call in block["calls"]]
        inner = [call[3] for call in calls]
        events.append(statistics.median(inner) / 1e3)
        cvs.append(100 * statistics.pstdev(inner) / statistics.mean(inner))
        gaps.append(statistics.median(call[0] - call[3] for call in calls) / 1e3)
        certified = certificate.certify(timing, clock="event", certified=True)
        spreads.append(certified.spread_ns / 1e3)
        b = statistics.median(time for quad in certified.quads for time in quad[1:3])
        ratios.append(100 * (b / 1e3 / events[-1] - 1))
        for column, place in zip(columns, (1, 2, 4), strict=True):
            column.append(statistics.median(call[place] for call in calls) / 1e3)
    over = 100 * statistics.pstdev(events) / statistics.mean(events) if len(events) > 1 else 0.0
    middle = [f"{statistics.median(column):.1f}" for column in columns]
    print(f"{name} | {' '.join(f'{event:.2f}' for event in events)} | {over:.2f} | {statistics.median(cvs):.2f} | "
          f"{statistics.median(gaps):.1f} | {' '.join(f'{spread:.1f}' for spread in spreads)} | {' | '.join(middle)} | "
          f"{' '.join(f'{ratio:+.2f}' for ratio in ratios)}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
