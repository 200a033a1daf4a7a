"""Honest runs, stored and simulated, through the site's rules.

`python -m tests.leaderboard.honest_runs 500` prints the share of them that each rule holds.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from leaderboard.review.rules.findings import Known, Reported, Source, held_by, measure
from runner.evidence import rules, schema, verdict
from runner.evidence.schedule import CPU, GPU
from tests.runner.evidence.test_plausible_honest import bursts, crowded, honest, neighbours, steady, warming
from tests.runner.evidence.test_plausible_stored import STORED, read
from tests.runner.evidence.whole import whole


def stored() -> Iterator[dict[str, Any]]:
    for path in STORED:
        yield whole(read(path))


def simulated(runs: int) -> Iterator[dict[str, Any]]:
    """Yield simulated honest runs, a fifth of them on a GPU's clock."""
    chance = random.Random(5)
    drifts = (steady, neighbours, bursts, crowded, warming)
    for number in range(runs):
        yield honest(GPU if number % 5 == 4 else CPU, drifts[number // 5 % len(drifts)], chance)


def reported(evidence: dict[str, Any]) -> Reported | None:
    """Return the evidence as a runner reports it, with the judge's findings, or None unless it passes."""
    evidence = whole(evidence)
    run = schema.parse_run(evidence)
    evidence["findings"] = [finding.model_dump() for finding in rules.findings(run)]
    decided = verdict.decide(schema.parse_run(evidence))
    if decided.ratio is None:
        return None
    return Reported(
        ratio=decided.ratio,
        half_width=decided.half_width or 0.0,
        forgeable=decided.forgeable or 0.0,
        flags=decided.flags,
        report={"evidence": evidence},
    )


def shares(runs: int) -> tuple[int, Counter[str]]:
    """Return the number of passed runs and, by rule, the number of held runs; "any" counts runs held by any rule."""
    passed, held = 0, Counter[str]()
    for evidence in (*stored(), *simulated(runs)):
        seen = reported(evidence)
        if seen is None:
            continue
        passed += 1
        found = held_by(measure(seen, Known(incumbent_ratio=1.0), Source()).measures)
        held.update(one.rule for one in found)
        held.update(["any"] if found else [])
    return passed, held


if __name__ == "__main__":
    total, counted = shares(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    print(f"{total} honest runs passed")
    for name, count in counted.most_common():
        print(f"  {name:24} held {count} ({100 * count / total:.2f} %)")
