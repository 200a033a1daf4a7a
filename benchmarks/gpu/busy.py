"""Working time of the device in a ranked job, by its own counter. By hand, after `source benchmarks/gpu/setup.sh`.

python -m benchmarks.gpu.busy JOBS [PROBLEM FILE | PREPARED.json …]

PREPARED: a problem with its submission, as `benchmarks.gpu.sets prepare` writes it. Without arguments: softmax in five
shapes.

NVML's samples of utilisation give the share of the time before each sample in which a kernel of any process ran: the
tenants' kernels and the judge's, which poison, probe, draw inputs and compare. Copies and waits for memory writes do
not count.
"""

import itertools
import json
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pynvml

from benchmarks import judge
from problems.spec import Problem
from runner import config
from runner.commands import local
from runner.config import JudgeSettings
from runner.host import accelerators

EVERY_S: Final = 0.5  # the device keeps samples of some two seconds


class Utilisation(threading.Thread):
    """Collector of (Unix time in µs, percent) of every sample, oldest first, from its start until `stop`."""

    def __init__(self, gpu: int) -> None:
        super().__init__(daemon=True)
        pynvml.nvmlInit()
        self._handle = pynvml.nvmlDeviceGetHandleByIndex(gpu)
        self._ended = threading.Event()
        self.samples: list[tuple[int, int]] = []

    def run(self) -> None:
        while not self._ended.wait(EVERY_S):
            last = self.samples[-1][0] if self.samples else 0
            try:
                _, found = pynvml.nvmlDeviceGetSamples(self._handle, pynvml.NVML_GPU_UTILIZATION_SAMPLES, last)
            except pynvml.NVMLError_NotFound:  # no new sample
                continue
            self.samples += [(one.timeStamp, one.sampleValue.uiVal) for one in found if one.timeStamp > last]

    def stop(self) -> list[tuple[int, int]]:
        self._ended.wait(2 * EVERY_S)  # the last samples of a job come after it
        self._ended.set()
        self.join()
        return self.samples


def busy_s(samples: Sequence[tuple[int, int]], since_s: float, until_s: float) -> tuple[float, float]:
    """Return the seconds in which kernels ran between two moments, and the seconds that samples cover."""
    busy = known = 0.0
    for (before, _), (at, percent) in itertools.pairwise(samples):
        inside = min(at / 1e6, until_s) - max(before / 1e6, since_s)
        if inside > 0:
            busy, known = busy + inside * percent / 100, known + inside
    return busy, known


def read_pairs(chosen: Sequence[str]) -> Iterator[tuple[Problem, str]]:
    """Yield each problem with the source of its submission. Raises SystemExit for a problem that is not supported."""
    match chosen:
        case []:
            yield judge.five_cases(), local.read_source(judge.SUBMISSION)
        case [name, file] if not name.endswith(".json"):
            yield local.find_problem(name), local.read_source(Path(file))
        case prepared_files:
            for path in prepared_files:
                prepared = json.loads(Path(path).read_text("utf-8"))
                if prepared["unsupported"]:
                    sys.exit(f"{path}: {prepared['unsupported']}")
                yield Problem.from_bundle(prepared["problem"]), prepared["source"]


def main() -> None:
    settings = config.load_judge()
    for problem, source in read_pairs(sys.argv[2:]):
        measure(settings, problem.on(settings.runner_hardware), source, int(sys.argv[1]))


def measure(settings: JudgeSettings, problem: Problem, source: str, count: int) -> None:
    """Judge the submission `count` times, and print how long kernels ran in each job."""
    watch = Utilisation(settings.runner_gpu)
    watch.start()
    device = accelerators.device_of(settings)
    with accelerators.DeviceLock(device, settings.runner_locks):
        jobs = list(judge.run_jobs(settings, problem, source, count))
    samples = watch.stop()
    apart = [(later[0] - earlier[0]) / 1e3 for earlier, later in itertools.pairwise(samples)]
    print(f"{len(samples)} samples, {statistics.median(apart):.1f} ms apart")
    print("warm s | device time of calls | kernels ran (of seconds known) | the rest")
    for took in jobs:
        busy, known = busy_s(samples, took.claimed_at, took.claimed_at + took.warm)
        print(f"{took.warm:.2f} | {took.phase('calls'):.2f} | {busy:.2f} ({known:.2f}) | {took.warm - busy:.2f}")
    print(*judge.table(jobs), sep="\n")


if __name__ == "__main__":
    main()
