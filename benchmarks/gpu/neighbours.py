"""Influence of a GPU's work on the times of another GPU of the host.

    RUNNER_FLEET=all python -m benchmarks.gpu.neighbours [SECONDS] [ROUNDS]

By hand, after `source benchmarks/gpu/setup.sh`, on a host with two GPUs; default: 240 s, two rounds. Both GPUs have the
cores that the fleet's plan gives them. In each round the first GPU judges an addition of 4 KB and 2 MB and a matrix
product, each against itself, beside each state of the second GPU:

    idle        no work
    timed       the same jobs, one after another
    loaded      matrix products without a pause
    building    eight compilers of CUDA, on the cores of its runner

Prints a line a job and the work of the neighbour, then a table: a row a case and state. No job starts later than
SECONDS after the start. With OUT set, every report is kept there.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.gpu import measure
from runner import config
from runner.evidence import certificate, schema, stats
from runner.evidence.sample import BASELINE
from runner.host import accelerators, fleet
from runner.judge.device.nvidia import names_of
from runner.wire import Report

ADD: Final = ("add:size=1024,size=524288", "benchmarks/gpu/submissions/add_torch.py")
MATMUL: Final = ("problems/library/calibration/matmul", "problems/library/calibration/matmul/baseline.py")
COMPILERS: Final = 8
LOADED_S: Final = 60.0  # until the first matrix product
PRODUCTS: Final = """
import os, torch
squares = [torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100):
        torch.mm(squares[0], squares[1], out=squares[2])
    torch.cuda.synchronize()
    print("100 products", flush=True)
"""
SOURCE: Final = """
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
template <typename T> void work(int n) {
  thrust::device_vector<T> v(n);
  thrust::sort(v.begin(), v.end());
  thrust::stable_sort(v.begin(), v.end(), thrust::greater<T>());
  thrust::inclusive_scan(v.begin(), v.end(), v.begin());
}
template void work<float>(int);
template void work<long>(int);
"""

Row = tuple[str, Report]


class Job(NamedTuple):
    """Job on a seat."""

    seat: fleet.Seat
    problem: str
    file: str


def on_seat(seat: fleet.Seat, command: Sequence[str]) -> list[str]:
    """Return the command with the settings and the cores of a seat."""
    return [sys.executable, "-m", "runner.commands.start", "fleet", "--only", str(seat.number), *command]


def judge(job: Job, kept: Path) -> Report | None:
    """Judge a job in a process of its own. Return None where it failed; its output is above."""
    kept.unlink(missing_ok=True)
    measured = (sys.executable, "-m", "benchmarks.gpu.measure", "one", job.problem, job.file, str(kept))
    subprocess.run(on_seat(job.seat, measured), check=False)
    return read(kept) if kept.exists() else None


def read(kept: Path) -> Report:
    return Report.from_json(json.loads(kept.read_text()))


@contextmanager
def idle(seat: fleet.Seat, folder: Path) -> Iterator[Callable[[], str]]:
    yield lambda: "no work"


@contextmanager
def timed(seat: fleet.Seat, folder: Path) -> Iterator[Callable[[], str]]:
    ended, done = threading.Event(), []

    def work() -> None:
        while not ended.is_set():
            report = judge(Job(seat, *ADD), folder / f"neighbour-{len(done)}.json")
            done.append(report.outcome if report else "no report")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield lambda: f"jobs that ended: {', '.join(done) or 'none'}"
    finally:
        ended.set()
        thread.join()


@contextmanager
def loaded(seat: fleet.Seat, folder: Path) -> Iterator[Callable[[], str]]:
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": names_of(seat.number).uuid}
    log = folder / "products"
    with log.open("w") as out:
        command = ("taskset", "-c", accelerators.spans(seat.cores), sys.executable, "-c", PRODUCTS)
        process = subprocess.Popen(command, env=env, stdout=out, stderr=out)
        try:
            until = time.monotonic() + LOADED_S
            while "products" not in log.read_text():
                if process.poll() is not None or time.monotonic() > until:
                    sys.exit(f"no matrix product on GPU {seat.number}: {log.read_text()[-1000:]}")
                time.sleep(0.2)
            first, began = len(log.read_text().splitlines()), time.monotonic()

            def rate() -> str:
                products = 100 * (len(log.read_text().splitlines()) - first)
                return f"{products * 2 * 8192**3 / (time.monotonic() - began) / 1e12:.0f} TFLOP/s"

            yield rate
        finally:
            process.terminate()
            process.wait()


@contextmanager
def building(seat: fleet.Seat, folder: Path) -> Iterator[Callable[[], str]]:
    source = folder / "work.cu"
    source.write_text(SOURCE)
    loop = 'while :; do nvcc -O3 -c -o "$0.$1.o" "$0" && echo built; done'
    log = folder / "built"
    path = f"{os.environ['PATH']}:/usr/local/cuda/bin"
    with log.open("w") as out:
        processes = [
            subprocess.Popen(
                ("taskset", "-c", accelerators.spans(seat.cores), "bash", "-c", loop, str(source), str(number)),
                env={**os.environ, "PATH": path},
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
            for number in range(COMPILERS)
        ]
        try:
            yield lambda: f"files compiled: {log.read_text().count('built')}"
        finally:
            for process in processes:
                os.killpg(process.pid, 9)
                process.wait()


STATES: Final[Mapping[str, Callable]] = {"idle": idle, "timed": timed, "loaded": loaded, "building": building}


def table(rows: Sequence[Row]) -> str:
    """Return a row for each case and state of the neighbour, all jobs of the first GPU together."""
    lines = [
        "| case | neighbour | event µs, by job | against idle % | A/A %, by job | in-run CV %, by job "
        "| wall - event µs, by job | quads (void) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    found: dict[tuple[str, str], list[tuple[schema.Timing, schema.Evidence]]] = {}
    for state, report in rows:
        if report.evidence.get("timing"):
            evidence = schema.parse_run(report.evidence)
            for timing in evidence.timing:
                if timing.calls_of(BASELINE, valid=True):
                    found.setdefault((timing.case, state), []).append((timing, evidence))
    for (case, state), jobs in sorted(found.items(), key=lambda item: item[0][0]):
        calls = [timing.calls_of(BASELINE, valid=True) for timing, _ in jobs]
        events = [stats.midmean([call.inner_ns for call in job]) / 1e3 for job in calls]
        alone = [timing for timing, _ in found.get((case, "idle"), ())]
        at_rest = [stats.midmean([call.inner_ns for call in one.calls_of(BASELINE, valid=True)]) / 1e3 for one in alone]
        apart = f"{100 * (statistics.mean(events) / statistics.mean(at_rest) - 1):+.2f}" if at_rest else "-"
        ratios = [measure.ratio_of(certificate.certify(*job).quads) for job in jobs]
        quads = [quad for timing, _ in jobs for quad in timing.quads]
        columns = (
            " ".join(f"{event:.2f}" for event in events),
            apart,
            " ".join(f"{100 * (ratio - 1):+.2f}" for ratio in ratios),
            " ".join(f"{measure.variation([call.inner_ns for call in job]):.2f}" for job in calls),
            " ".join(f"{statistics.median(call.gap_ns for call in job) / 1e3:.1f}" for job in calls),
            f"{len(quads)} ({sum(bool(quad.void) for quad in quads)})",
        )
        lines.append(f"| {case} | {state} | {' | '.join(columns)} |")
    return "\n".join(lines)


def main(seconds: float = 240.0, rounds: int = 2) -> None:
    seats = fleet.plan_here(config.load_judge())
    if len(seats) < 2:
        sys.exit("one GPU has no neighbour: set RUNNER_FLEET on a host with two")
    folder = Path(os.environ.get("OUT") or tempfile.mkdtemp())
    ends, rows = time.monotonic() + seconds, []
    for turn in range(rounds):
        for name, state in STATES.items():
            if time.monotonic() > ends:
                break
            with state(seats[1], folder) as work_done:
                for number, pair in enumerate((ADD, MATMUL)):
                    if time.monotonic() > ends:
                        break
                    report = judge(Job(seats[0], *pair), folder / f"{name}-{turn}-{number}.json")
                    if report is not None:
                        rows.append((name, report))
                print(f"{name}: {work_done()}", flush=True)
    print(table(rows))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3]))
