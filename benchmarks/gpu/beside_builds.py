"""Influence of work for the next jobs on the times of the same GPU's jobs.

    python -m benchmarks.gpu.beside_builds [SECONDS] [CORES]

By hand, after `source benchmarks/gpu/setup.sh`; default: 240 s, 6 cores. In turn, an addition of three sizes and a
matrix product are judged against themselves: beside no work (`idle`), beside builds of CUDA candidates, one after
another as a runner's daemon makes them (`building`), and beside three containers at a time that import torch, as a
judge's spares do, but started and ended meanwhile (`importing`). Prints a row a case and state. No job starts later
than SECONDS after the start. With OUT set, every report is kept there.
"""

import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from benchmarks.gpu import candidates, neighbours
from benchmarks.judge import five_cases
from runner import config
from runner.daemon.ahead import Ahead
from runner.daemon.canary import own_job
from runner.host import accelerators
from runner.wire import Job
from sandbox import container, policy

SPARES = 3
SIZES = "add:size=1024,size=524288,size=16777216"


def endless(hardware: str) -> Iterator[Job]:
    """Yield CUDA candidates; no two sources are the same."""
    problem = five_cases().on(hardware)
    for number in itertools.count():
        source = f"{candidates.CUDA}\nNUMBER = {number}\n".replace('SOURCE = """', f'SOURCE = """// {number}')
        job = own_job("candidate", problem, source, "submission.py", "test", hardware)
        yield replace(job, submission_id=f"c{number}")


@contextmanager
def builds(settings: config.JudgeSettings, cores: int) -> Iterator[list[str]]:
    """Build ahead for as long as the context lasts; yield the submissions whose build has begun."""
    begun: list[str] = []
    jobs = endless(settings.runner_hardware)

    def asked() -> list[Job]:
        job = next(jobs)
        begun.append(job.submission_id)
        return [job]

    ahead = Ahead(
        asked,
        (sys.executable, "-m", "runner.job.build"),
        config.judge_environment("benchbuilds"),
        {},
        accelerators.building_cores(sorted(os.sched_getaffinity(0)), cores),
        lambda: None,
    )
    ahead.begin()
    try:
        yield begun
    finally:
        ahead.close()


@contextmanager
def imports(settings: config.JudgeSettings, cores: int) -> Iterator[list[str]]:
    """Import torch in containers for as long as the context lasts; yield the pids of those that are done."""
    done: list[str] = []
    ended = threading.Event()
    building = accelerators.building_cores(sorted(os.sched_getaffinity(0)), cores)
    mine = accelerators.cpuset(accelerators.share_out(sorted(os.sched_getaffinity(0)), building).spares)
    if not mine:
        raise SystemExit("a tenant has more cores than build here: give more CORES, or use a larger host")
    gpu = accelerators.make_of(settings.runner_hardware).equipment(settings)

    def work() -> None:
        with closing(container.connect()) as client:
            image = container.image_id(client, settings.sandbox_image)
            while not ended.is_set():
                wanted = policy.tenant(image, accelerators.draw_uid(), mine, gpu)
                with container.Container(client, wanted, "benchspares") as made:
                    made.start()
                    made.accept(time.monotonic_ns() + 60 * 10**9).close()
                    done.append(str(made.pid))

    threads = [threading.Thread(target=work) for _ in range(SPARES)]
    for one in threads:
        one.start()
    try:
        yield done
    finally:
        ended.set()
        for one in threads:
            one.join()


BESIDE = {"idle": lambda settings, cores: nullcontext([]), "building": builds, "importing": imports}


def main() -> None:
    seconds, cores = [float(one) for one in (*sys.argv[1:], *("240", "6")[len(sys.argv) - 1 :])]
    settings, until = config.load_judge(), time.monotonic() + seconds
    kept = Path(os.environ.get("OUT") or tempfile.mkdtemp())
    rows: list[neighbours.Row] = []
    for number, state in enumerate(itertools.cycle(BESIDE)):
        for at, (problem, file) in enumerate(((SIZES, neighbours.ADD[1]), neighbours.MATMUL)):
            if time.monotonic() > until:
                print(neighbours.table(rows))
                return
            path = kept / f"{number}-{at}-{state}.json"
            measured = (sys.executable, "-m", "benchmarks.gpu.measure", "one", problem, file, str(path))
            with BESIDE[state](settings, int(cores)) as beside:
                subprocess.run(measured, check=False)
            print(f"{state}: {len(beside)} beside it", flush=True)
            if path.exists():
                rows.append((state, neighbours.read(path)))


if __name__ == "__main__":
    main()
