"""Share of honest samples that rank while one core is busy half the time.

    python -m benchmarks.noise [--runs N] [--once] [--quiet] [--busy-ms 50] [--idle-ms 50] [--out FOLDER]

Judges the accepted samples of `make up` (samples.py: softmax, vector add) in turn with `runner once … --mode ranked`,
until N of them came to an end, beside a process that keeps one core busy for 50 ms and leaves it for 50 ms. A sample
that a disturbed machine could not time is judged again at most three times, as on a site; with `--once` it is not.
Prints a line a judging, then the number of runs that rank and the width of their intervals. Exit code 0: all rank.

With `--out` each report is stored there, for `runner replay` and for measuring a rule before it is written. Has the
requirements of `runner once`: Docker, the sandbox image (SANDBOX_IMAGE), root for certified times.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from deploy.console import say
from deploy.samples import LIBRARY, Sample, plan

MORE_TRIES: Final = 3  # leaderboard.judging.verdicts.MOST; the site's packages are missing beside a bare runner
JUDGE_LIMIT_S: Final = 900
STRANGER: Final = """
import os, sys, time
core, busy_s, idle_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {core})
while os.getppid() != 1:
    until = time.monotonic() + busy_s
    while time.monotonic() < until:
        pass
    time.sleep(idle_s)
"""


@dataclass(frozen=True)
class Judged:
    """The last judging of a sample. `tries`: the number of judgings."""

    sample: Sample
    tries: int
    report: dict[str, Any]

    @property
    def ranks(self) -> bool:
        return self.report["outcome"] == "passed" and bool(self.report["ratio"])


@contextmanager
def half_busy_core(busy_s: float, idle_s: float) -> Iterator[None]:
    """Keep the last core that this process may use half busy for as long as the context lasts."""
    core = max(os.sched_getaffinity(0))
    stranger = subprocess.Popen([sys.executable, "-c", STRANGER, str(core), str(busy_s), str(idle_s)])
    try:
        yield
    finally:
        stranger.kill()
        stranger.wait()


def judge(sample: Sample) -> dict[str, Any]:
    """Return the report that `runner once` prints."""
    program = str(Path(sys.executable).parent / "runner")
    command = [program, "once", sample.board, str(sample.path), "--mode", "ranked", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=JUDGE_LIMIT_S, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"runner once printed no report: {(done.stdout + done.stderr)[-600:]}") from None
    return report


def is_noise(report: dict[str, Any]) -> bool:
    return str(report["outcome"]) == "unmeasurable"


def run(sample: Sample, number: int, *, tries: int, out: Path | None) -> Judged:
    report: dict[str, Any] = {}
    for judged in range(1, tries + 1):
        began = time.monotonic()
        report = judge(sample)
        name = f"{number:02}-{sample.board}-{sample.path.stem}"
        if out is not None:
            (out / f"{name}-{judged}.json").write_text(json.dumps(report))
        say(f"{name:34} try {judged}  {time.monotonic() - began:5.1f} s  {_told(report)}")
        if not is_noise(report):
            break
    return Judged(sample, judged, report)


def _told(report: dict[str, Any]) -> str:
    if report["ratio"]:
        flags = f"  {', '.join(report['flags'])}" if report["flags"] else ""
        return f"passed  ratio {report['ratio']:.3f} ± {100 * report['half_width']:.1f} %{flags}"
    return f"{report['outcome']} ({report['reason']}): {report['message'][:120]}"


def summary(found: Sequence[Judged]) -> list[str]:
    ranked = [one for one in found if one.ranks]
    lines = [f"{len(ranked)} of {len(found)} rank, {sum(one.tries == 1 for one in ranked)} of them in the first try"]
    if ranked:
        widths = sorted(100 * one.report["half_width"] for one in ranked)
        lines.append(f"half-widths: median {statistics.median(widths):.1f} %, widest {widths[-1]:.1f} %")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="judgings that come to an end (default: 20)")
    parser.add_argument("--once", action="store_true", help="judge nothing again")
    parser.add_argument("--quiet", action="store_true", help="no company, for comparison")
    parser.add_argument("--busy-ms", type=float, default=50)
    parser.add_argument("--idle-ms", type=float, default=50)
    parser.add_argument("--out", type=Path, help="folder for the reports")
    options = parser.parse_args(arguments)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    honest = [sample for sample in plan(LIBRARY) if sample.folder == "accepted"]
    tries = 1 if options.once else 1 + MORE_TRIES
    busy_s = 0.0 if options.quiet else options.busy_ms / 1e3
    with half_busy_core(busy_s, options.idle_ms / 1e3 if busy_s else 3600.0):
        found = [
            run(sample, number, tries=tries, out=options.out)
            for number, sample in enumerate(islice(cycle(honest), options.runs), 1)
        ]
    for line in summary(found):
        say(line)
    return 0 if all(one.ranks for one in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
