"""The public problem sets on a GPU host, each problem answered by its own reference. A journal keeps each result.

    python -m benchmarks.gpu.sets prepare FOLDER [--kernelbench CHECKOUT] [--gpumode CHECKOUT] [--precision fp16|bf16]
    python -m benchmarks.gpu.sets split FOLDER PARTS HARDWARE NAME…
    python -m benchmarks.gpu.sets run FOLDER JOURNAL [--only NAME…] [--seconds N] [--limit N] [--gpus N] [--ahead]
        [--again]
    python -m benchmarks.gpu.sets table JOURNAL…

`prepare`, where the checkouts are, writes a JSON file for each problem: its bundle and the submission. KernelBench's
`Model` is sent as `ModelNew`, GPU MODE's reference as the submission. FOLDER has some 4 MB and travels to the host.

`split` makes of each problem with NAME in its name so many problems, each with a part of its timed cases on HARDWARE
and of its tests: for a problem that takes longer than a command on a lent machine may.

`run`, on the host after `source benchmarks/gpu/setup.sh`, judges each problem at its own sizes, as ranked, in a process
of its own, and appends a line to JOURNAL, and its report to JOURNAL.reports.gz, a line of JSON as well. Problems with a
line are left out, so that an interrupted run continues.
A problem whose inputs have no room on RUNNER_HARDWARE gets its line at once. Each judge tells its course in
sets-NAME.log in the folder of temporary files, of which a line over the limit has the end.
--only: problems with NAME in their name, in the order of the names. --seconds: no problem is started later. --limit: a
problem that takes longer is ended, with a line (default 540). --gpus: so many of the host's devices side by side, each
with its own cores. --again: judge also what did not pass, or passed outside of the range. --ahead: prepare the next
judge while the last one works, on further cores. Its containers have half of the usual room for data, and the other
judge's processes do not count as foreign: a problem that needs more room gets no line.

`table` prints JOURNAL in Markdown, the last line of each problem: the ratio, or the stated reason. The candidate is the
baseline, so its ratio should lie within 0.97 and 1.03.
"""

import argparse
import gzip
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from problems.formats import kernelbench
from problems.formats.folders import read_sets
from problems.sizes import too_large
from problems.spec import Problem
from runner.config import JudgeSettings
from runner.wire import Event, Job, Report

LEAST, MOST = 0.97, 1.03  # of the ratio of two runs of one code
LIMIT_S: Final = 540.0  # for a problem: with its start below the ten minutes of a command on a lent machine
ENDING_S: Final = 30.0  # for the removal of the containers after SIGTERM
CORES_EACH: Final = 8
AT_ONCE: Final = 2  # judges of a GPU with --ahead: one works, one is prepared
SAID_CHARS: Final = 600  # of a reason in the journal
SHOWN_CHARS: Final = 200  # in the table
UNSUPPORTED: Final = "unsupported"
DIED: Final = "died"  # the judge's process ended without a report
OVER: Final = "over the limit"
COURSE: Final = "course: "  # begins the lines of a judge that tell what it does
NO_MEMORY: Final = (  # outcome of a judge beside which another is prepared, and words of its reason
    ("infra_error", "needs more memory than this hardware has free"),
    ("out_of_memory", "Your code left too little memory for the judge"),
    (DIED, "bytes of device memory"),
)
NO_ROOM: Final = "no room beside the next judge"
TOO_LARGE: Final = "too large"  # for the host's hardware, by the sizes in the reference's text

Line = dict[str, Any]
Judge = Callable[[Path, int, float], Line]  # of a prepared file, by a worker's number, with its limit in seconds


# -- where the checkouts are -------------------------------------------------------------------------------------------


def prepare(folder: Path, kernelbench_at: Path | None, gpumode_at: Path | None, precision: str) -> Counter[str]:
    """Write the prepared files. Return the number of problems of each set."""
    folder.mkdir(parents=True, exist_ok=True)
    if next(folder.glob("*.json"), None) is not None:
        sys.exit(f"{folder} has JSON files already; name a new folder")
    counts: Counter[str] = Counter()
    found = _problems(kernelbench_at, gpumode_at, precision)
    for number, (collection, name, problem, source) in enumerate(found, start=1):
        counts[collection] += 1
        bundle = replace(problem, templates={}).to_bundle()
        prepared: Line = {"name": name, "set": collection, "unsupported": problem.unsupported}
        if not problem.unsupported:
            prepared |= {"problem": bundle, "source": source}
        path = folder / f"{number:03}-{re.sub(r'[^A-Za-z0-9._-]', '-', name)}.json"
        path.write_text(json.dumps(prepared))
    return counts


def _problems(
    kernelbench_at: Path | None, gpumode_at: Path | None, precision: str
) -> Iterator[tuple[str, str, Problem, str]]:
    """Yield set, name, problem and submission. Raises SystemExit where a problem cannot be read."""
    if kernelbench_at is not None:
        found = kernelbench.load_collection(kernelbench_at, precision=precision)
        _refuse(found.faults)
        for entry in found.entries:
            collection = f"{found.name} level {entry.problem.level}"
            yield collection, entry.slug, entry.problem, entry.problem.templates.get("Python", "")
    for file in read_sets(gpumode_at) if gpumode_at is not None else ():
        if file.is_foreign:
            continue
        _refuse([file.fault] if file.fault else file.found.faults if file.found else [])
        for entry in file.found.entries if file.found else ():
            name = f"{Path(file.label).stem}/{entry.slug}"
            yield f"GPU MODE {Path(file.label).stem}", name, entry.problem, as_submission(entry.problem.entry)


def _refuse(faults: Iterable[Any]) -> None:
    if listed := [f"{fault.name}: {fault.field}: {fault.message}" for fault in faults]:
        sys.exit("not all problems could be read:\n" + "\n".join(listed))


def split(folder: Path, parts: int, hardware: str, words: Iterable[str]) -> Iterator[str]:
    """Replace the prepared files of these problems by files of their parts. Yield the names of the parts."""
    for path in sorted(folder.glob("*.json")):
        prepared = json.loads(path.read_text("utf-8"))
        if prepared["unsupported"] or not any(word in prepared["name"] for word in words):
            continue
        whole = Problem.from_bundle(prepared["problem"]).on(hardware)
        count = min(parts, len(whole.benchmarks))
        for number in range(count):
            tests = whole.tests[number::count] or whole.tests[:1]
            part = replace(whole, benchmarks=whole.benchmarks[number::count], tests=tests)
            name = f"{prepared['name']}, part {number + 1} of {count}"
            told = prepared | {"name": name, "problem": part.to_bundle()}
            path.with_name(f"{path.stem}-{number + 1}.json").write_text(json.dumps(told))
            yield name
        path.unlink()


def as_submission(entry: str) -> str:
    """Return a submission that answers with the problem's own reference."""
    return f"from reference import ref_kernel\n\n\ndef {entry}(data):\n    return ref_kernel(data)\n"


# -- on the GPU host ---------------------------------------------------------------------------------------------------


def read_journal(path: Path) -> dict[str, Line]:
    """Return the last line of each problem. A line that an interruption tore is left out."""
    found: dict[str, Line] = {}
    for text in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        found[line["name"]] = line
    return found


class Journal:
    """Appends lines, whole and at once: a run that is killed loses only its unfinished problems."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            with path.open("a", encoding="utf-8") as file:
                file.write("\n")  # after a torn line

    def append(self, line: Line) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def run(
    folder: Path,
    journal: Path,
    *,
    judge: Judge,
    only: Iterable[str] = (),
    seconds: float = float("inf"),
    limit_s: float = LIMIT_S,
    workers: int = 1,
    again: bool = False,
) -> int:
    """Judge what the journal lacks. Return the number of problems that are left."""
    known, kept = read_journal(journal), Journal(journal)
    waiting: queue.SimpleQueue[tuple[Path, Line]] = queue.SimpleQueue()
    due: list[tuple[int, Path, Line]] = []
    wanted = list(only) or [""]
    for path in sorted(folder.glob("*.json")):
        prepared = json.loads(path.read_text("utf-8"))
        name, before = prepared["name"], known.get(prepared["name"])
        is_due = before is None or (again and before["outcome"] != UNSUPPORTED and not is_good(before))
        turn = next((turn for turn, word in enumerate(wanted) if word in name), None)
        if not is_due or turn is None:
            continue
        if prepared["unsupported"]:
            kept.append(_line(prepared, outcome=UNSUPPORTED, reason=prepared["unsupported"]))
            continue
        if reasons := too_large(Problem.from_bundle(prepared["problem"]), [os.environ.get("RUNNER_HARDWARE", "")]):
            if before is None:
                kept.append(_line(prepared, outcome=TOO_LARGE, reason=reasons[0]))
            continue
        due.append((turn, path, prepared))
    for _, path, prepared in sorted(due, key=lambda one: one[0]):
        waiting.put((path, prepared))
    print(f"{waiting.qsize()} problems to judge, {workers} at once", flush=True)
    ends = time.monotonic() + seconds

    def work(number: int) -> None:
        while time.monotonic() < ends:
            try:
                path, prepared = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            line = _line(prepared, **judge(path, number, limit_s))
            line["seconds"] = round(time.monotonic() - began, 1)
            if line["outcome"] != NO_ROOM:
                kept.append(line)
            print(f"{line['name']} | {verdict(line)} | {line['seconds']} s", flush=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waiting.qsize()


def _line(prepared: Line, **told: Any) -> Line:
    return {"name": prepared["name"], "set": prepared["set"]} | told


def judge_apart(
    path: Path, number: int, limit_s: float, turns: list[threading.Lock] | None = None, *, reports: Path
) -> Line:
    """Judge a prepared file in a process of its own, on cores of its own, and append its report to `reports`.

    `turns`: a lock for each GPU, which the judge has while it works; without them, each worker has a GPU of its own.
    """
    gpu = number // (AT_ONCE if turns else 1)
    kept = Path(tempfile.gettempdir(), f"sets-{path.stem}.json")
    kept.unlink(missing_ok=True)
    cores = f"{number * CORES_EACH}-{(number + 1) * CORES_EACH - 1}"
    pinned = ["taskset", "-c", cores] if (number + 1) * CORES_EACH <= (os.cpu_count() or 1) else []
    env = {**os.environ, "RUNNER_GPU": str(gpu), "RUNNER_STATE": f"{tempfile.gettempdir()}/state-{number}"}
    act = "one-ahead" if turns else "one"
    command = [*pinned, sys.executable, "-m", "benchmarks.gpu.sets", act, str(path), str(kept)]
    with kept.with_suffix(".log").open("w+") as said:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said, "bufsize": 0}
        process: subprocess.Popen[bytes] = subprocess.Popen(command, env=env, **pipes)
        is_over = not _ended(process, limit_s, turns[gpu] if turns else threading.Lock())
        said.seek(0)
        words = said.read()
    if is_over:
        reached = [line.removeprefix(COURSE) for line in words.splitlines() if line.startswith(COURSE)]
        stood = f" It stood at: {reached[-1]}" if reached else ""
        return {"outcome": OVER, "reason": f"It took longer than {limit_s:g} s on this host.{stood}"}
    line = {"outcome": DIED, "reason": f"The judge's process ended: {words[-SAID_CHARS:]}"}
    if kept.exists():
        report = json.loads(kept.read_text())
        with reports.open("ab", buffering=0) as file:  # a single write, so that workers mix no lines
            file.write(gzip.compress(json.dumps({"file": path.stem, "report": report}).encode() + b"\n"))
        kept.unlink()
        line = line_of(Report.from_json(report))
    return line | {"outcome": NO_ROOM} if turns and lacks_memory(line) else line


def lacks_memory(line: Line) -> bool:
    return any(line["outcome"] == outcome and words in line["reason"] for outcome, words in NO_MEMORY)


def _ended(process: subprocess.Popen[bytes], limit_s: float, turn: threading.Lock) -> bool:
    """Let a judge work in its turn, and wait for its end. Return whether it judged within the limit.

    It prints a line when it is prepared, and a line when it has judged; the removal of its containers is no part of its
    turn.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    over = threading.Event()

    def end() -> None:
        over.set()
        process.terminate()  # it removes its containers

    with process.stdin as orders, process.stdout as answers:
        watches = [threading.Timer(limit_s, end) for _ in range(2)]
        watches[0].start()
        answers.readline()
        watches[0].cancel()
        with turn, suppress(BrokenPipeError):
            watches[1].start()
            orders.write(b"\n")
            answers.readline()
        watches[1].cancel()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return not over.is_set()


def one(prepared: Path, kept: Path, *, ahead: bool = False) -> None:
    """Judge a prepared file in this process, and write its report. `ahead`: with containers from before its turn."""
    from rich.console import Console

    from runner import config
    from runner.commands import local
    from runner.job import cleanup

    found, settings = json.loads(prepared.read_text("utf-8")), config.load_judge()
    problem = Problem.from_bundle(found["problem"])
    job = local.job_from(problem, found["source"], "reference.py", "ranked", settings.runner_hardware)
    with cleanup.tidy(Console(stderr=True)):
        if ahead:
            _judge_ahead(job, local.replace_id(settings), kept)
        else:
            _await_turn()
            kept.write_text(json.dumps(local.judge_here(job, settings, _tell).to_json()))


def _await_turn() -> None:
    print("prepared", flush=True)
    sys.stdin.readline()


def _tell(event: Event) -> None:
    print(f"{COURSE}{event.state} {json.dumps(event.data)}, {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)


def _judge_ahead(job: Job, settings: JudgeSettings, kept: Path) -> None:
    """Prepare containers, judge with them in turn, and write the report before they are removed."""
    from runner.daemon.loan import Patience, borrowed
    from runner.host import accelerators
    from runner.job import cleanup, execute, prepare
    from runner.judge.data import cuda
    from runner.judge.device import nvml

    device = accelerators.device_of(settings)
    with (
        patch.object(nvml.Strangers, "pids", lambda own: set()),  # the other judge would be one
        patch.object(prepare, "COMPARED_S", 0.0),  # the containers are compared again in turn
        patch.object(cuda, "INPUTS", 2 * cuda.INPUTS),
        patch.object(cuda, "OUTPUTS", 2 * cuda.OUTPUTS),
        cleanup.cleared(settings.runner_id),
        prepare.prepared(settings, execute.sides_of(job)) as ready,
    ):
        _await_turn()
        with borrowed(device, settings.runner_locks, Patience(), f"a public set's {job.filename}"):
            report = execute.execute(job, settings, _tell, ready)
        kept.write_text(json.dumps(report.to_json()))
        print("judged", flush=True)


def line_of(report: Report) -> Line:
    """Return the journal's fields of a report; `reason` is for a person, with the operator's detail."""
    detail = str(report.evidence.get("operator", "")).strip()[-SAID_CHARS:]
    said = [report.reason, report.message, "" if report.outcome == "passed" else detail]
    fingerprint = report.evidence.get("fingerprint")
    facts = fingerprint if isinstance(fingerprint, dict) else {}
    return {
        "outcome": report.outcome,
        "reason": ": ".join(filter(None, said))[: 2 * SAID_CHARS],
        "ratio": report.ratio,
        "half_width": report.half_width,
        "forgeable": report.forgeable,
        "score_us": report.score_us,
        "flags": list(report.flags),
        "telemetry": report.telemetry,
        "device": facts.get("gpu") or facts.get("cpu", ""),
    }


# -- the table ---------------------------------------------------------------------------------------------------------


def is_good(line: Line) -> bool:
    """Return whether the problem passed with a ratio in the range."""
    return line["outcome"] == "passed" and line.get("ratio") is not None and LEAST <= line["ratio"] <= MOST


def verdict(line: Line) -> str:
    """Return a sentence on a problem: the ratio with its interval, or the reason for having none."""
    if line["outcome"] == "passed" and line.get("ratio") is not None:
        width = f" ± {100 * line['half_width']:.1f} %" if line.get("half_width") is not None else ""
        flags = f" ({', '.join(line['flags'])})" if line.get("flags") else ""
        return ("" if is_good(line) else "outside: ") + f"{line['ratio']:.4f}{width}{flags}"
    reason = " ".join(str(line.get("reason") or "no reason is stated").split())
    return f"{line['outcome']}: {reason[:SHOWN_CHARS]}"


def table(lines: Iterable[Line]) -> str:
    """Return the journal in Markdown: a summary of each set, then a row for each problem."""
    listed = sorted(lines, key=lambda line: (line["set"], line["name"]))
    sets: dict[str, list[Line]] = {}
    for line in listed:
        sets.setdefault(line["set"], []).append(line)
    rows = [
        f"| set | problems | passed, {LEAST} to {MOST} | passed, outside | unsupported, with a reason | other |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, own in sets.items():
        good = sum(map(is_good, own))
        passed = sum(line["outcome"] == "passed" for line in own)
        unsupported = sum(line["outcome"] == UNSUPPORTED for line in own)
        rest = len(own) - passed - unsupported
        rows.append(f"| {name} | {len(own)} | {good} | {passed - good} | {unsupported} | {rest} |")
    rows += ["", "| problem | result | µs | seconds |", "| --- | --- | --- | --- |"]
    for line in listed:
        time_us = f"{line['score_us']:.1f}" if line.get("score_us") else ""
        said = verdict(line).replace("|", "\\|")
        rows.append(f"| {line['name']} | {said} | {time_us} | {line.get('seconds', '')} |")
    return "\n".join(rows)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.sets", description=__doc__.split("\n")[0])
    acts = parser.add_subparsers(dest="act", required=True)
    act = acts.add_parser("prepare")
    act.add_argument("folder", type=Path)
    act.add_argument("--kernelbench", type=Path, help="a checkout of ScalingIntelligence/KernelBench")
    act.add_argument("--gpumode", type=Path, help="a checkout of gpu-mode/reference-kernels")
    act.add_argument("--precision", choices=kernelbench.PRECISIONS, default=kernelbench.FP32, help="of KernelBench")
    act = acts.add_parser("split")
    act.add_argument("folder", type=Path)
    act.add_argument("parts", type=int)
    act.add_argument("hardware")
    act.add_argument("names", nargs="+", metavar="NAME")
    act = acts.add_parser("run")
    act.add_argument("folder", type=Path)
    act.add_argument("journal", type=Path)
    act.add_argument("--only", nargs="+", default=(), metavar="NAME")
    act.add_argument("--seconds", type=float, default=float("inf"))
    act.add_argument("--limit", type=float, default=LIMIT_S)
    act.add_argument("--gpus", type=int, default=1)
    act.add_argument("--ahead", action="store_true")
    act.add_argument("--again", action="store_true")
    act = acts.add_parser("table")
    act.add_argument("journals", type=Path, nargs="+")
    for name in ("one", "one-ahead"):  # for judge_apart
        act = acts.add_parser(name)
        act.add_argument("prepared", type=Path)
        act.add_argument("kept", type=Path)
    given = parser.parse_args(words)
    if given.act == "prepare":
        counts = prepare(given.folder, given.kernelbench, given.gpumode, given.precision)
        print("\n".join(f"{name}: {count}" for name, count in counts.items()) or "nothing: name a checkout")
    elif given.act == "split":
        found = list(split(given.folder, given.parts, given.hardware, given.names))
        print("\n".join(found) or "nothing: no problem has such a name")
    elif given.act == "run":
        turns = [threading.Lock() for _ in range(given.gpus)] if given.ahead else None
        left = run(
            given.folder,
            given.journal,
            judge=partial(judge_apart, turns=turns, reports=Path(f"{given.journal}.reports.gz")),
            only=given.only,
            seconds=given.seconds,
            limit_s=given.limit,
            workers=given.gpus * (AT_ONCE if given.ahead else 1),
            again=given.again,
        )
        print(f"{left} problems are left; run again to continue" if left else "nothing is left")
    elif given.act == "table":
        lines: dict[str, Line] = {}
        for path in given.journals:
            lines |= read_journal(path)
        print(table(lines.values()))
    else:
        one(given.prepared, given.kept, ahead=given.act == "one-ahead")


if __name__ == "__main__":
    main(sys.argv[1:])
