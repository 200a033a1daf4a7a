"""Attacks of our own on this judge in particular: each was tried, those that worked were answered, all stay here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.attacks.conftest import Judge

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]

OWN = sorted((Path(__file__).parent / "own").glob("*.py"))
REJECTED = ("wrong", "policy", "runtime_error", "build_error", "timeout", "out_of_memory")


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_it_gains_nothing(path: Path, judge: Judge) -> None:
    source = path.read_text()
    found = re.search(r"^expect: (\w+)", source, re.MULTILINE)
    assert found is not None
    report = judge(source, "softmax", "test")
    seen = (report.outcome, report.reason, report.message, report.logs["stderr"][-500:])
    assert "ATTACK-EFFECT" not in report.logs["stderr"], seen
    assert "LEAK" not in str(report.to_json()), seen
    match found.group(1):
        case "wrong" | "rejected":
            assert report.outcome in REJECTED, seen
        case "contained":
            assert report.outcome == "passed", seen
        case other:
            pytest.fail(f"{path.stem} expects {other!r}, which this test does not know")
