"""Figures of the judge on a GPU host, as docs/lab-notebook keeps them.

By hand, after `source benchmarks/gpu/setup.sh`:

    python -m benchmarks.gpu.measure JOBS PROBLEM[:PART] FILE [PROBLEM[:PART] FILE …]

Each pair is judged JOBS times, each time in a process of its own; then a table, a line a case. PART: only the benchmark
cases with it in their name (`add:size=1024`), or with one of several parts (`add:size=1024,size=524288`). With OUT set,
every report is kept there. RUNNER_LEAVE_OUT leaves out steps.
"""

import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from problems.spec import case_name
from runner import config
from runner.commands import local
from runner.evidence import certificate, schedule, schema, stats
from runner.evidence.sample import BASELINE, CANDIDATE
from runner.evidence.schema import Evidence, Timing
from runner.wire import Report

PARTS = ("put_ns", "take_ns", "thaw_ns", "freeze_ns", "probe_ns")


def main() -> None:
    jobs, *pairs = sys.argv[1:]
    for problem, file in zip(pairs[::2], pairs[1::2], strict=True):
        began = time.monotonic()
        reports = [judged(problem, file, number) for number in range(int(jobs))]
        print(f"{problem} {Path(file).name}: {jobs} jobs in {time.monotonic() - began:.0f} s", flush=True)
        _say_cases([report for report in reports if report is not None])


def judged(problem: str, file: str, number: int) -> Report | None:
    """Judge in a new process. Return None where the process failed; its output is above."""
    folder = Path(os.environ.get("OUT") or tempfile.gettempdir())
    name = f"{problem}-{Path(file).stem}-{os.environ.get('RUNNER_LEAVE_OUT', '')}{number}"
    kept = folder / (re.sub(r"[^\w:-]", "-", name) + ".json")
    kept.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "benchmarks.gpu.measure", "one", problem, file, str(kept)], check=False)
    return Report.from_json(json.loads(kept.read_text())) if kept.exists() else None


def one(problem: str, file: str, kept: str) -> None:
    name, _, part = problem.partition(":")
    settings = config.load_judge()
    found = local.find_problem(name).on(settings.runner_hardware)
    parts = part.split(",")
    found = replace(found, benchmarks=tuple(c for c in found.benchmarks if any(p in case_name(c) for p in parts)))
    began = time.monotonic()
    job = local.job_of(found, Path(file), "ranked", settings.runner_hardware)
    report = local.judge_here(job, settings, lambda event: None)
    Path(kept).write_text(json.dumps(report.to_json()))
    _say_job(problem, file, report, time.monotonic() - began)


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
    """Print a line a case: midmeans over the calls of the baseline's valid blocks, by job, and over jobs."""
    passed = [schema.parse_run(report.evidence) for report in reports if report.evidence.get("timing")]
    if not passed:
        return
    print(
        "case | event µs, by job | CV over jobs % | in-run CV % | wall - event µs, median (p10 … p90) | put | take | "
        "thaw | freeze | probe µs | rest µs (p10 … p90) | u with what could be spared µs | seems hidden µs, "
        "± 95 % over the job's blocks | gaps apart µs | A/A %, by job | quads (void) | repeats: again/fresh, "
        "same bits"
    )
    for index in range(len(passed[0].timing)):
        jobs = [(evidence.timing[index], evidence) for evidence in passed if len(evidence.timing) > index]
        _say_case([(timing, evidence) for timing, evidence in jobs if timing.calls_of(BASELINE, valid=True)])


def _say_case(found: list[tuple[Timing, Evidence]]) -> None:
    if not found:
        return
    timings = [timing for timing, _ in found]
    jobs = [timing.calls_of(BASELINE, valid=True) for timing in timings]
    events = [stats.midmean([call.inner_ns for call in calls]) / 1e3 for calls in jobs]
    in_run = statistics.median(variation([call.inner_ns for call in calls]) for calls in jobs)
    calls = [call for job in jobs for call in job]
    certified = [certificate.certify(timing, evidence) for timing, evidence in found]
    ratios = [ratio_of(one.quads) for one in certified]
    columns = [f"{statistics.median(getattr(call, part) for call in calls) / 1e3:.1f}" for part in PARTS]
    voids = sum(bool(quad.void) for timing in timings for quad in timing.quads)
    print(
        f"{timings[0].case}{_way(timings)} | {' '.join(f'{event:.2f}' for event in events)} | "
        f"{variation(events):.2f} | {in_run:.2f} | "
        f"{_spread([call.gap_ns for call in calls])} | {' | '.join(columns)} | "
        f"{_spread([call.gap_ns - call.copying_ns - call.thaw_ns for call in calls])} | "
        f"{' '.join(f'{one.spread_ns / 1e3:.1f}' for one in certified)} | "
        f"{' '.join(_hidden(timing) for timing in timings)} | "
        f"{' '.join(f'{certificate.apart_ns(timing, CANDIDATE) / 1e3:+.2f}' for timing in timings)} | "
        f"{' '.join(f'{100 * (ratio - 1):+.2f}' for ratio in ratios)} | "
        f"{sum(len(timing.quads) for timing in timings)} ({voids}) | {_repeats(timings)}",
        flush=True,
    )


def _hidden(timing: Timing) -> str:
    """Return the time that the candidate's calls seem to hide, all and the fastest, with its error within the job."""
    valid = [quad for quad in timing.quads if quad.compares(CANDIDATE)]
    quads = certificate.calls_of(valid, CANDIDATE)
    found = zip(certificate.hidden_of_case(timing, valid, CANDIDATE), (False, True), strict=True)
    return " ".join(f"{one.value / 1e3:+.2f}±{_error_ns(quads, fastest) / 500:.2f}" for one, fastest in found)


def _error_ns(quads: list[certificate.Calls], fastest: bool) -> float:
    return certificate.hidden(quads, fastest=fastest, least_ns=0.0).spread / certificate.ERRORS


def _way(timings: list[Timing]) -> str:
    """Return a note where not all jobs' calls were queued on the device."""
    queued = sum(timing.queued for timing in timings)
    return "" if queued == len(timings) else f" ({queued} of {len(timings)} queued)"


def variation(values: list[float]) -> float:
    """Return the coefficient of variation in per cent."""
    return 100 * statistics.pstdev(values) / statistics.mean(values) if len(values) > 1 else 0.0


def ratio_of(quads: list[list[float]]) -> float:
    """Return the candidate's time over the baseline's, the median over certified blocks."""
    return math.exp(stats.median(schedule.differences(quads)))


def _spread(values_ns: list[float]) -> str:
    ordered = sorted(values_ns)
    tenth = len(ordered) // 10
    return f"{statistics.median(ordered) / 1e3:.1f} ({ordered[tenth] / 1e3:.1f} … {ordered[-1 - tenth] / 1e3:.1f})"


def _repeats(timings: list[Timing]) -> str:
    repeats = [repeat for timing in timings for repeat in timing.repeats if not repeat.near]
    if not repeats:
        return "-"
    ratio = statistics.median(repeat.again.inner_ns / max(repeat.fresh.inner_ns, 1) for repeat in repeats)
    same = sum(repeat.same_bits for repeat in repeats)
    return f"{ratio:.3f}, {same} of {len(repeats)}"


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(*sys.argv[2:])
    else:
        main()
