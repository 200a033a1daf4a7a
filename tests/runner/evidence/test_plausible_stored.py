"""Real runs of the library's own samples, as the judge measured them on a busy two-core machine: none is held.

honest/*.json.gz hold the part of their evidence that the rules read.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from runner.evidence import schema
from runner.evidence.schedule import A, B
from tests.runner.evidence.whole import findings, impossible

STORED = sorted((Path(__file__).parent / "honest").glob("*.json.gz"))


def read(path: Path) -> dict[str, Any]:
    evidence: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return evidence | {"version": schema.VERSION}  # decisions on `cpu` have not changed since


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name.partition(".")[0])
def test_an_honest_run_is_neither_held_nor_rejected(path: Path) -> None:
    evidence = read(path)
    assert all(timing["quads"] and timing["repeats"] for timing in evidence["timing"])
    assert evidence["limits"]["ceilings"] is not None
    assert findings(evidence) == []
    assert impossible(evidence) is None


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name.partition(".")[0])
def test_a_forged_one_is(path: Path) -> None:
    """The same samples with a candidate that takes a hundredth of its time."""
    evidence = read(path)
    for timing in evidence["timing"]:
        for block in (block for quad in timing["quads"] for block in quad["blocks"] if block["side"] == B):
            block["calls"] = [_shortened(sample) for sample in block["calls"]]
    assert "faster_than_best" in {finding.rule for finding in findings(evidence)}
    assert impossible(evidence) is not None


def _shortened(sample: list[int]) -> list[int]:
    wall, put, take, *others = sample
    return [put + take + (wall - put - take) // 100, put, take, *others]


def test_there_are_runs_of_both_problems_and_both_sides() -> None:
    evidences = [read(path) for path in STORED]
    assert len(evidences) >= 6
    assert {len(evidence["timing"]) for evidence in evidences} == {1, 2}
    sides = {repeat["side"] for evidence in evidences for timing in evidence["timing"] for repeat in timing["repeats"]}
    assert sides == {A, B}
