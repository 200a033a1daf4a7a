"""Lean calls beside calls with events, on a GPU host.

By hand, after `source benchmarks/gpu/setup.sh`:

    python -m benchmarks.gpu.lean JOBS PROBLEM[:PART] FILE [PROBLEM[:PART] FILE …]
    python -m benchmarks.gpu.lean read REPORT …

Each pair is judged JOBS times, each time in a process of its own; a line a job and case. With OUT set, every report is
kept there. Times in µs, candidate less baseline where there is one figure.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.gpu.measure import judged
from runner.evidence import certificate, schema, stats
from runner.evidence.sample import BASELINE, CANDIDATE
from runner.evidence.schema import Evidence, Quad, Timing
from runner.wire import Report

HEAD = (
    "job | verdict, ratio | case | told: baseline, difference | lean calls save: baseline, candidate | gaps apart by "
    "own calls | drift: baseline, candidate | seems hidden, by lean calls | by calls with events: all, fastest | "
    "forgeable: with lean calls, without | lean calls, unready"
)


def main() -> None:
    first, *words = sys.argv[1:]
    print(HEAD, flush=True)
    if first == "read":
        for path in words:
            _say(Path(path).stem, Report.from_json(json.loads(Path(path).read_text())))
        return
    for problem, file in zip(words[::2], words[1::2], strict=True):
        for number in range(int(first)):
            if (report := judged(problem, file, number)) is not None:
                _say(f"{problem} {Path(file).stem} {number}", report)


def _say(name: str, report: Report) -> None:
    for line in _lines(report):
        print(f"{name} | {line}", flush=True)


def _lines(report: Report) -> Iterator[str]:
    said = f"{report.outcome} {report.reason} {report.ratio and round(report.ratio, 4)}"
    if not report.evidence.get("timing"):
        yield f"{said} | {report.message[:400]}"
        return
    evidence = schema.parse_run(report.evidence)
    for timing in evidence.timing:
        quads = [quad for quad in timing.quads if quad.compares(CANDIDATE)]
        is_lean = any(block.lean for quad in quads for block in quad.of(CANDIDATE))
        yield f"{said} | {timing.case} | {_figures(timing, quads, evidence) if is_lean else 'no lean calls'}"


def _figures(timing: Timing, quads: Sequence[Quad], evidence: Evidence) -> str:
    sides = (BASELINE, CANDIDATE)
    blocks = {side: [block for quad in quads for block in quad.of(side)] for side in sides}
    told = {side: stats.midmean([call.inner_ns for block in blocks[side] for call in block.calls]) for side in sides}
    walls, lean = (
        {side: stats.midmean([call.spent_ns(certified=True) for call in calls[side]]) for side in sides}
        for calls in (
            {side: [call for block in blocks[side] for call in block.calls] for side in sides},
            {side: [call for block in blocks[side] for call in block.lean] for side in sides},
        )
    )
    known = certificate.has_lean_calls(timing, quads, CANDIDATE)
    drift = [f"{certificate.lean_drift_ns(timing, quads, side) / 1e3:+.2f}" if known else "-" for side in sides]
    hidden = certificate.lean_hidden_of_case(timing, quads, CANDIDATE) if known else None
    others = certificate.hidden_of_case(timing, quads, CANDIDATE, is_lean=known, rules=evidence.rules)
    spreads = [
        certificate.certify(timing, evidence.model_copy(update={"rules": rules})).spread_ns / 1e3 for rules in (4, 3)
    ]
    unready = [sum(block.unready for quad in timing.quads for block in quad.of(side)) for side in sides]
    return " | ".join(
        (
            f"{told[BASELINE] / 1e3:.2f}, {(told[CANDIDATE] - told[BASELINE]) / 1e3:+.2f}",
            ", ".join(f"{(walls[side] - lean[side]) / 1e3:.2f}" for side in sides),
            f"{certificate.lean_apart_ns(timing, CANDIDATE) / 1e3:+.2f}" if known else "-",
            ", ".join(drift),
            f"{hidden.value / 1e3:+.2f}±{hidden.spread / 1e3:.2f}" if hidden else "-",
            ", ".join(f"{one.value / 1e3:+.2f}±{one.spread / 1e3:.2f}" for one in others),
            ", ".join(f"{spread:.2f}" for spread in spreads),
            f"{sum(len(block.lean) for block in blocks[CANDIDATE])}, {unready[0]} and {unready[1]}",
        )
    )


if __name__ == "__main__":
    main()
