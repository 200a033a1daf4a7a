"""Every CUDA attack of tests/attacks on a GPU host, against the whole judge and without the steps that answer it.

python -m benchmarks.gpu.attacks [BUDGET_S] [without] [NAME …]
By hand, after `source benchmarks/gpu/setup.sh`; default: 300 s, all; `without`: only without the steps that answer
them. With RUNNER_GPUS above 1: the attacks of several ranks (`h…` are attacks on a host's memory).

Each job is a process. First all attacks run with every step of a call: each must gain nothing. Then, while the budget
lasts, attacks whose docstring names steps run without them: there a gain is expected, and shows the purpose of the
step. Exit code 1 when an attack gained with all steps. With OUT set, every report is kept there.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from problems.spec import case_name
from runner import config
from runner.commands import local
from runner.wire import Report
from tests.attacks.attack import Attack

ATTACKS = Path(__file__).parents[2] / "tests" / "attacks"
FORGED = Path(__file__).parent / "submissions" / "add_forged_events.py"
BUDGET_S = 300.0


@dataclass(frozen=True)
class Task:
    """A job: an attack, and the steps of a call that are left out."""

    attack: Attack
    left_out: str = ""

    @property
    def name(self) -> str:
        return self.attack.path.stem + (f" without {self.left_out}" if self.left_out else "")


def attacks(names: list[str]) -> list[Attack]:
    """Return the attacks that a name is part of: ours, the forged events, and those of the shared set that matter here.

    From the shared set these are attacks that need a GPU and attacks that try to get out of the container.
    """
    if int(os.environ.get("RUNNER_GPUS", "1")) > 1:
        by_ranks = [Attack.read(path) for path in sorted((ATTACKS / "ranks").glob("r*.py"))]
        return [one for one in by_ranks if not names or any(name in one.path.stem for name in names)]
    found = [Attack.read(path) for path in sorted((ATTACKS / "gpu").glob("g*.py"))]
    found.append(Attack(FORGED, FORGED.read_text(), "rejected", problem="add", case="size=16777216", mode="ranked"))
    shared = [(path, path.read_text()) for path in sorted((ATTACKS / "corpus").glob("*.py"))]
    found += [_shared(path, source) for path, source in shared if _needs_cuda(source) or _breaks_out(source)]
    return [one for one in found if not names or any(name in one.path.stem for name in names)]


def _needs_cuda(source: str) -> bool:
    return re.search(r'^REQUIRES = "cuda"', source, re.MULTILINE) is not None


def _breaks_out(source: str) -> bool:
    return re.search(r"^expect: contained", source, re.MULTILINE) is not None


def _shared(path: Path, source: str) -> Attack:
    """Read a shared attack. `flagged` there means rejected, or an honest time. Killing a parent ends as an error."""
    if _breaks_out(source):
        expected = "rejected" if "SIGKILL" in source else "contained"
        return Attack(path, source, expected, problem="vectoradd", mode="ranked")
    cost = re.search(r"^TRUE_COST_MS = ([\d.]+)", source, re.MULTILINE)
    assert cost is not None, path.name
    return Attack(path, source, "timed", problem="vectoradd", mode="ranked", cost_ms=float(cost[1]))


def tasks(found: list[Attack], *, all_steps: bool = True) -> Iterator[Task]:
    if all_steps:
        yield from (Task(attack) for attack in found)
    yield from (Task(attack, left_out) for attack in found for left_out in attack.steps)


def main() -> None:
    words = sys.argv[1:]
    budget_s = float(words.pop(0)) if words and words[0].isdigit() else BUDGET_S
    all_steps = words[:1] != ["without"]
    ends = time.monotonic() + budget_s
    failed = 0
    print("attack | seconds | verdict | ratio | µs | findings | gained", flush=True)
    for task in tasks(attacks(words if all_steps else words[1:]), all_steps=all_steps):
        if time.monotonic() > ends:
            print(f"{task.name} | not run: {budget_s:g} s are over", flush=True)
            continue
        began = time.monotonic()
        report = run(task)
        gained = task.attack.gained(report) if report is not None else "the judge's process failed"
        print(line(task, report, time.monotonic() - began, gained), flush=True)
        failed += bool(gained) and not task.left_out
    raise SystemExit(1 if failed else 0)


def run(task: Task) -> Report | None:
    """Run in a process of its own, since a CUDA error must not reach the next job. Return None where it failed."""
    folder = Path(os.environ.get("OUT") or tempfile.gettempdir())
    kept = folder / (task.name.replace(" ", "-") + ".json")
    kept.unlink(missing_ok=True)
    asked = f"{task.attack.problem}:{task.attack.case}"
    command = [sys.executable, "-m", "benchmarks.gpu.attacks", "one", asked, str(task.attack.path), str(kept)]
    subprocess.run(command, check=False, env={**os.environ, "RUNNER_LEAVE_OUT": task.left_out})
    return Report.from_json(json.loads(kept.read_text())) if kept.exists() else None


def one(asked: str, file: str, kept: str) -> None:
    name, _, part = asked.partition(":")
    settings = config.load_judge()
    found = local.find_problem(name).on(settings.runner_hardware)
    found = replace(found, benchmarks=tuple(case for case in found.benchmarks if part in case_name(case)))
    job = local.job_of(found, Path(file), "ranked", settings.runner_hardware)
    report = local.judge_here(job, settings, lambda event: None)
    Path(kept).write_text(json.dumps(report.to_json()))


def line(task: Task, report: Report | None, took_s: float, gained: str) -> str:
    if report is None:
        return f"{task.name} | {took_s:.1f} | - | - | - | - | {gained}"
    times = " ".join(f"{case['measured_us']:.2f}" for case in report.cases if case["stage"] == "time")
    ratio = f"{report.ratio:.4f}" if report.ratio else "-"
    rules = " ".join(finding["rule"] for finding in report.evidence.get("findings", []))
    said = "" if report.outcome == "passed" else f" ({report.message[:160]!r})"
    return (
        f"{task.name} | {took_s:.1f} | {report.outcome} {report.reason}{said} | {ratio} | {times or '-'} | "
        f"{rules or '-'} | {gained or 'nothing'}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(*sys.argv[2:])
    else:
        main()
