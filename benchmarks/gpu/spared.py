"""Time of a call that a tenant can spare by taking over from the harness.

By hand, after `source benchmarks/gpu/setup.sh`:

python -m benchmarks.gpu.spared JOBS NAME [NAME …]

Attacks of tests/attacks/gpu that have a CUT_NS, judged JOBS times each without a cut. They report the true time of
their kernel: the hidden time that the judge finds, below 0, is the spared time. runner/evidence/certificate.py has the
derived figures (SPARED_EARLY_NS, SPARED_LEAN_NS, SPARED_BY_HOST_NS). With OUT set, every report is kept there.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.attacks import Task, attacks, run
from runner.evidence import certificate, schema, stats
from runner.evidence.sample import BASELINE, CANDIDATE
from runner.wire import Report


def main() -> None:
    jobs, *names = sys.argv[1:]
    print(
        "attack | verdict | case | told, baseline's told µs | spared µs, of all calls, of the fastest | ± | of lean "
        "calls | queued"
    )
    with tempfile.TemporaryDirectory() as folder:
        for attack in attacks(names):
            path = Path(folder) / attack.path.name
            path.write_text(re.sub(r"^CUT_NS = .*$", "CUT_NS = 0", attack.source, flags=re.MULTILINE))
            for number in range(int(jobs)):
                told = path.with_stem(f"{attack.path.stem}-true-{number}")
                told.write_text(path.read_text())
                report = run(Task(replace(attack, path=told)))
                for line in lines(report) if report else ["the judge's process failed"]:
                    print(f"{attack.path.stem} | {line}", flush=True)


def lines(report: Report) -> Iterator[str]:
    said = f"{report.outcome} {report.reason}, ratio {report.ratio and round(report.ratio, 3)}"
    evidence = schema.parse_run(report.evidence)
    if not evidence.timing:
        yield f"{said} | {report.message[:400]} {report.logs['stderr'][-1500:]}"
    for timing in evidence.timing:
        quads = [quad for quad in timing.quads if quad.compares(CANDIDATE)]
        if not quads:
            continue
        is_lean = certificate.has_lean_calls(timing, quads, CANDIDATE)
        lean = certificate.lean_hidden_of_case(timing, quads, CANDIDATE) if is_lean else None
        everywhere, fastest = certificate.hidden_of_case(timing, quads, CANDIDATE, is_lean=is_lean)
        told = [
            stats.midmean([sample.inner_ns for sample in timing.calls_of(side, valid=True)])
            for side in (CANDIDATE, BASELINE)
        ]
        yield (
            f"{said} | {timing.case} | {told[0] / 1e3:.2f}, {told[1] / 1e3:.2f} | {-everywhere.value / 1e3:.1f}, "
            f"{-fastest.value / 1e3:.1f} | {everywhere.spread / 1e3:.1f} | "
            f"{f'{-lean.value / 1e3:.2f} ± {lean.spread / 1e3:.2f}' if lean else '-'} | {timing.queued}"
        )


if __name__ == "__main__":
    main()
