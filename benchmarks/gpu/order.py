"""Effect of the side whose container is started first. By hand, after `source benchmarks/gpu/setup.sh`.

python -m benchmarks.gpu.order ROUNDS [CALLS]

Jobs of add's cases of 4 KB, 2 MB and 64 MB, each side with the same code: ROUNDS times a job with the baseline started
and connected first, and a job with the candidate first; at most CALLS calls a block (8). Then a line a case: the excess
of the first side's time over the second's, and the spread of all sides. With OUT set, every report is kept there.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

from runner import config
from runner.commands import local
from runner.evidence import schedule, schema, stats
from runner.evidence.sample import BASELINE, CANDIDATE
from runner.evidence.schema import Evidence, Timing
from runner.job import prepare

SIZES: Final = (1024, 524288, 16777216)
FILE: Final = Path(__file__).parent / "submissions" / "add_torch.py"


def main() -> None:
    rounds, calls = int(sys.argv[1]), (sys.argv[2:] or ["8"])[0]
    folder = Path(os.environ.get("OUT") or tempfile.mkdtemp())
    found: dict[str, list[Evidence]] = {}
    for number in range(rounds):
        for first in (BASELINE, CANDIDATE):
            kept = folder / f"order-{first}-{calls}-{number}.json"
            subprocess.run([sys.executable, "-m", "benchmarks.gpu.order", "one", first, calls, str(kept)], check=False)
            if kept.exists():
                found.setdefault(first, []).append(schema.parse_run(json.loads(kept.read_text())["evidence"]))
    say(found)


def one(first: str, calls: str, kept: str) -> None:
    class Fixed:
        """Fixed order in place of chance."""

        def sample(self, sides: Sequence[Any], count: int) -> list[Any]:
            return sorted(sides, key=lambda side: getattr(side, "name", side) != first)[:count]

    problem = local.find_problem("add").on("H200")
    problem = replace(problem, benchmarks=tuple(case for case in problem.benchmarks if case["size"] in SIZES))
    profile = replace(schedule.GPU, most_calls=int(calls))
    with (
        mock.patch.object(prepare, "random", mock.Mock(SystemRandom=Fixed)),
        mock.patch.object(schedule, "GPU", profile),
    ):
        settings = config.load_judge()
        job = local.job_of(problem, FILE, "ranked", settings.runner_hardware)
        report = local.judge_here(job, settings, lambda event: None)
    Path(kept).write_text(json.dumps(report.to_json()))
    times = [f"{case['measured_us']:.2f}" for case in report.cases if case["stage"] == "time"]
    print(f"{first} first: {report.outcome} {report.reason}, µs {' '.join(times)}", flush=True)


def say(found: dict[str, list[Evidence]]) -> None:
    """Print the table. `found`: evidence of the jobs, by the side that was started first."""
    print("case | jobs | first less the other µs, mean ± its error | all sides µs, mean | CV %")
    cases = [timing.case for evidence in next(iter(found.values()), [])[:1] for timing in evidence.timing]
    for index, case in enumerate(cases):
        apart, told = [], []
        for first, jobs in found.items():
            for evidence in jobs:
                ours, theirs = (told_us(evidence.timing[index], side) for side in (BASELINE, CANDIDATE))
                apart.append(ours - theirs if first == BASELINE else theirs - ours)
                told += [ours, theirs]
        error = statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
        mean = statistics.mean(told)
        print(
            f"{case} | {len(apart)} | {statistics.mean(apart):+.3f} ± {error:.3f} | {mean:.2f} | "
            f"{100 * statistics.pstdev(told) / mean:.2f}"
        )


def told_us(timing: Timing, side: str) -> float:
    return stats.midmean([sample.inner_ns for sample in timing.calls_of(side, valid=True)]) / 1e3


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(*sys.argv[2:])
    else:
        main()
