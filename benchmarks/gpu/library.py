"""The library's samples and starters on a host of one or several GPUs, each GPU with judges of its own.

python -m benchmarks.gpu.library GPUS [BUDGET_S] [--sets FOLDER] [NAME …]
By hand, after `source benchmarks/gpu/setup.sh`; default: 500 s, all. NAME: only samples with it in their path
(`softmax/`, `cheating/`). Starters must be accepted. The most important jobs come first: starters and accepted samples,
then wrong, cheating, slow samples; of each kind the first of every problem, the second of every problem, and so on.
Prints a line a job, and the jobs that the budget left. With OUT set, every report is kept there.

--sets: instead of the library, all problems in a folder of public sets: of GPU MODE's each with its own submission.py,
or else its reference as it is; of KernelBench each file's Model as ModelNew, and the same compiled by torch.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from problems.directives import other_hardware
from problems.spec import COMPILED
from runner.commands import local, render, verify
from runner.wire import Report

LIBRARY = Path(__file__).parents[2] / "problems" / "library"
CORES_EACH = 8
STARTERS = ("template_triton.py", "template_cuda.py", "template.py")
ORDER = ("accepted", "wrong", "cheating", "slow")
AS_IT_IS = "from reference import ref_kernel\n\n\ndef custom_kernel(data):\n    return ref_kernel(data)\n"


@dataclass(frozen=True)
class Task:
    folder: Path
    sample: verify.Sample
    file: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}/{self.sample.name}"


def tasks(names: list[str]) -> list[Task]:
    found = []
    for task in sorted(LIBRARY.glob("*/*/task.yml")):
        folder = task.parent
        if folder.parent.name == "calibration":
            continue
        for name in STARTERS:
            path = folder / name
            if path.exists():
                found.append(Task(folder, verify.Sample(name, "accepted", path.read_text("utf-8")), path))
        for sample in verify.in_folders(folder):
            found.append(Task(folder, sample, folder / sample.name))
    hardware = os.environ.get("RUNNER_HARDWARE", "H200").lower()
    found = [task for task in found if not names or any(name in task.name for name in names)]
    meant = [task for task in found if not other_hardware(task.sample.source, hardware)]
    turns: Counter[tuple[Path, str]] = Counter()
    order = []
    for task in meant:
        kind = (task.folder, task.sample.expected)
        order.append((ORDER.index(task.sample.expected), turns[kind], len(order)))
        turns[kind] += 1
    return [meant[number] for _, _, number in sorted(order)]


def tasks_of_sets(sets: Path, names: list[str]) -> list[Task]:
    """Return the tasks of public sets. Problems that cannot be judged are printed and left out."""
    written = Path(tempfile.mkdtemp(prefix="photofinish-sets-"))
    found = []
    places = [task.parent for task in sorted(sets.rglob("task.yml"))] + sorted(sets.rglob("level*/*.py"))
    for place in places:
        try:
            samples = list(_own_solutions(place))
        except local.UsageError as err:
            print(f"{place}: {err}")
            continue
        for sample in samples:
            if not names or any(name in f"{place}/{sample.name}" for name in names):
                file = written / f"{place.parent.name}-{place.stem}-{sample.name}"
                file.write_text(sample.source)
                found.append(Task(place, sample, file))
    return found


def _own_solutions(place: Path) -> Iterator[verify.Sample]:
    problem = local.find_problem(str(place))
    if place.is_file():
        yield verify.Sample("ModelNew.py", "accepted", problem.templates["Python"])
        yield verify.Sample("compiled.py", "accepted", problem.templates[COMPILED])
        return
    own = place / "submission.py"
    yield verify.Sample("submission.py", "accepted", own.read_text("utf-8") if own.exists() else AS_IT_IS)


def main() -> None:
    gpus, words = int(sys.argv[1]), sys.argv[2:]
    budget_s = float(words.pop(0)) if words and words[0].isdigit() else 500.0
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    planned = tasks_of_sets(Path(words[1]), words[2:]) if words[:1] == ["--sets"] else tasks(words)
    for task in planned:
        waiting.put(task)
    ends = time.monotonic() + budget_s
    print(f"{len(planned)} jobs on {gpus} GPUs\nsample | verdict | µs | speed of light | seconds | as its folder says")
    threads = [threading.Thread(target=_work, args=(gpu, waiting, ends)) for gpu in range(gpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while not waiting.empty():
        print(f"{waiting.get().name} | not run")


def _work(gpu: int, waiting: queue.SimpleQueue[Task], ends: float) -> None:
    while time.monotonic() < ends:
        try:
            task = waiting.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        report = _judge(gpu, task)
        print(_line(task, report, time.monotonic() - began), flush=True)


def _judge(gpu: int, task: Task) -> Report | None:
    """Judge in a process of its own, on cores of its own. Return None where it failed."""
    kept = Path(os.environ.get("OUT") or tempfile.gettempdir()) / f"library-{task.name.replace('/', '-')}.json"
    kept.unlink(missing_ok=True)
    cores = f"{gpu * CORES_EACH}-{(gpu + 1) * CORES_EACH - 1}"
    command = [sys.executable, "-m", "benchmarks.gpu.measure", "one", str(task.folder), str(task.file), str(kept)]
    env = {**os.environ, "RUNNER_GPU": str(gpu), "RUNNER_STATE": f"{tempfile.gettempdir()}/state-{gpu}"}
    done = subprocess.run(["taskset", "-c", cores, *command], check=False, env=env, capture_output=True, text=True)
    if not kept.exists():
        print(f"{task.name} on GPU {gpu}: {done.stderr[-1500:]}", flush=True)
        return None
    return Report.from_json(json.loads(kept.read_text()))


def _line(task: Task, report: Report | None, took_s: float) -> str:
    if report is None:
        return f"{task.name} | - | - | - | {took_s:.1f} | the judge's process failed"
    line = verify.line(task.sample, report)
    timed = [case for case in report.cases if case["stage"] == "time"]
    times = " ".join(f"{case['measured_us']:.2f}" for case in timed)
    bounds = render.bounds(report)
    shares = " ".join(
        f"{bounds[name] / 10 / case['measured_us']:.0f} %" for case in timed if (name := case["name"]) in bounds
    )
    said = "yes" if line.good else f"NO: {line.explained[:200]}"
    return f"{task.name} | {line.got} | {times or '-'} | {shares or '-'} | {took_s:.1f} | {said}"


if __name__ == "__main__":
    main()
