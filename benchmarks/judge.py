"""`make bench`, the judge's part: the wall time of one ranked job of five cases on this hardware, split by phase.

    python -m benchmarks.judge [--jobs N] [--file FILE] [--problem FOLDER]

Each job goes the daemon's way (runner/daemon/judge_handle.py): a judge is prepared, takes the job, reports, clears
away. Warm is the time from the hand-over of the job to its report on disk; cold adds the preparation. While the job
builds, checks and times, it has the device, and no second job could use it; platform overhead is the rest of the warm
time. Calls are summed over all sides, from the start of a call's clock until its output is read and its container is
frozen again; the table also shows warm less the calls. The way to the site and back is not included.

No site is needed, and none of its packages: this runs on a bare GPU host too, with the runner's settings in the
environment (RUNNER_HARDWARE, SANDBOX_IMAGE …). Without SANDBOX_IMAGE the image of this checkout is taken, and built
where it is missing.
"""

import argparse
import os
import platform
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from deploy.console import SetupError, say
from deploy.docker_engine import ensure_docker
from deploy.image import ensure_image
from problems.spec import Case, Problem
from runner import config
from runner.commands import local
from runner.daemon.judge_handle import JudgeProcess
from runner.daemon.loan import Patience, borrowed
from runner.daemon.spool import Spool
from runner.errors import RunnerError
from runner.host import accelerators, helper
from runner.wire import Job, Report

FIVE_CASES: Final[tuple[Case, ...]] = (
    {"rows": 1531, "cols": 2047, "seed": 41},
    {"rows": 1024, "cols": 4096, "seed": 42},
    {"rows": 4096, "cols": 1024, "seed": 43},
    {"rows": 320, "cols": 10007, "seed": 44},
    {"rows": 16384, "cols": 256, "seed": 45},
)
SUBMISSION: Final = local.LIBRARY / "kernels101" / "softmax" / "submissions" / "accepted" / "torch_out.py"
PREPARE_LIMIT_S: Final = 180.0
JOB_LIMIT_S: Final = 1_800.0
SPOOL_BYTES: Final = 256_000_000


@dataclass(frozen=True)
class Took:
    """Seconds of a job: `ahead` of it, `warm` from claim (`claimed_at`, Unix time) to report, and `after` the report.

    The report has the rest.
    """

    ahead: float
    warm: float
    after: float
    report: Report
    claimed_at: float

    def phase(self, name: str) -> float:
        return float(self.report.evidence["phases_s"].get(name, 0.0))

    @property
    def working(self) -> float:
        """Seconds in which the device is this job's and works for its verdict."""
        return sum(self.phase(name) for name in ("building", "checking", "timing"))

    @property
    def beyond_calls(self) -> float:
        return self.warm - self.phase("calls")


ROWS: Final[tuple[tuple[str, Callable[[Took], float]], ...]] = (
    ("cold: from nothing to report", lambda took: took.ahead + took.warm),
    ("  prepared ahead: process, containers, torch, memory", lambda took: took.ahead),
    ("warm: claim to report", lambda took: took.warm),
    ("  building", lambda took: took.phase("building")),
    ("  oracle's load", lambda took: took.phase("oracle")),
    ("  checking, public and secret", lambda took: took.phase("checking")),
    ("  timing", lambda took: took.phase("timing")),
    ("  the rest: hand-over, end of the candidate, verdict, report", lambda took: took.warm - _named(took)),
    ("in checking and timing", lambda took: took.phase("checking") + took.phase("timing")),
    ("  calls and freezing", lambda took: took.phase("calls")),
    ("  around the calls: poison, probe, digests, pause", lambda took: took.phase("steps") - took.phase("calls")),
    ("  waiting for inputs and expected outputs, copying them", lambda took: took.phase("inputs")),
    ("  the problem's own code, meanwhile and beside comparing", lambda took: took.phase("problem")),
    ("  comparing", lambda took: took.phase("comparing")),
    ("cleared away after the report", lambda took: took.after),
    ("platform overhead: neither building, checking nor timing", lambda took: took.warm - took.working),
    ("warm less the calls alone", lambda took: took.beyond_calls),
    ("  less waiting for inputs", lambda took: took.beyond_calls - took.phase("inputs")),
    ("  less that and all steps of a call", lambda took: took.warm - took.phase("inputs") - took.phase("steps")),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge", description="time ranked jobs of five cases")
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--file", type=Path, default=SUBMISSION, help="the submission")
    parser.add_argument("--problem", help="a folder or a name of the library; default: softmax in five shapes")
    options = parser.parse_args()
    try:
        if "SANDBOX_IMAGE" not in os.environ:
            ensure_docker()
            os.environ["SANDBOX_IMAGE"] = ensure_image()
        settings = config.load_judge()
        problem = (local.find_problem(options.problem) if options.problem else five_cases()).on(
            settings.runner_hardware
        )
        source = local.read_source(options.file)
        device = accelerators.device_of(settings)
        with borrowed(device, settings.runner_locks, Patience(), f"make bench (pid {os.getpid()})"):
            jobs = list(run_jobs(settings, problem, source, options.jobs))
    except (RunnerError, SetupError) as error:
        say(f"error: {error}")
        return 1
    for line in table(jobs):
        say(line)
    return 0 if all(took.report.outcome == "passed" for took in jobs) else 1


def five_cases() -> Problem:
    return replace(local.find_problem("softmax"), benchmarks=FIVE_CASES, benchmarks_on={})


def run_jobs(settings: config.JudgeSettings, problem: Problem, source: str, count: int) -> Iterator[Took]:
    """Run the jobs in turn, each in a judge of its own, as the daemon does."""
    host = accelerators.fingerprint(settings.runner_hardware, settings.runner_gpu)
    say(
        f"{problem.slug}, {len(problem.benchmarks)} cases, on {host.get('gpu', host['cpu'])}, {host['cpus']} cores, "
        f"Linux {platform.release()}, load {os.getloadavg()[0]:.2f}"
    )
    with tempfile.TemporaryDirectory(prefix="photofinish-bench-") as folder:
        spool = Spool(Path(folder), SPOOL_BYTES)
        for number in range(count):
            took = run_job(settings, problem, source, spool)
            report = took.report
            quads = [len(timing["quads"]) for timing in report.evidence["timing"]]
            say(
                f"job {number + 1}: {report.outcome} {report.reason}{', '.join(report.flags)}, quads {quads}, "
                f"warm {took.warm:.2f} s, device {took.phase('calls'):.2f} s, "
                f"{1000 * took.phase('timing') / max(sum(quads), 1):.1f} ms of timing a quad, "
                f"load {os.getloadavg()[0]:.2f}"
            )
            yield took


def run_job(settings: config.JudgeSettings, problem: Problem, source: str, spool: Spool) -> Took:
    job = Job(
        attempt_id=f"bench-{secrets.token_hex(8)}",
        token=0,
        lease_s=86_400,
        hardware=settings.runner_hardware,
        mode="ranked",
        submission_id="bench",
        filename="submission.py",
        source=source,
        problem=problem.to_bundle(),
        problem_digest=problem.digest,
    )
    environment, user = config.judge_environment(f"bench{secrets.token_hex(6)}"), helper.judge_user(settings)
    judge = JudgeProcess(
        (sys.executable, "-m", "runner.job.judge_main"),
        environment | (user.environment(settings) if user else {}),
        limit_s=JOB_LIMIT_S,
        grace_s=10.0,
        identity=user.identity if user else None,
    )
    began = time.monotonic()
    with _gone_afterwards(judge):
        judge.prepare(PREPARE_LIMIT_S)
        claimed, claimed_at = time.monotonic(), time.time()
        report = judge.run(job, lambda event: None)
        spool.put(report)
        reported = time.monotonic()
    return Took(claimed - began, reported - claimed, time.monotonic() - reported, report, claimed_at)


@contextmanager
def _gone_afterwards(judge: JudgeProcess) -> Iterator[None]:
    try:
        yield
    except BaseException:
        judge.stop("interrupted")
        raise
    finally:
        judge.finish()


def _named(took: Took) -> float:
    return sum(took.phase(name) for name in ("building", "oracle", "checking", "timing"))


def table(jobs: list[Took]) -> Iterator[str]:
    """Yield a Markdown table in seconds: the median over the jobs and their range."""
    yield f"| seconds, {len(jobs)} jobs | median | range |"
    yield "| --- | --- | --- |"
    for name, value in ROWS:
        values = sorted(value(took) for took in jobs)
        indent = "&nbsp;" * 2 * (len(name) - len(name.lstrip()))
        yield f"| {indent}{name.lstrip()} | {statistics.median(values):.2f} | {values[0]:.2f} … {values[-1]:.2f} |"


if __name__ == "__main__":
    sys.exit(main())
