"""Attacks of our own on this judge in particular: each was tried, those that worked were answered, all stay here.

An attack's docstring says what it would gain, `expect: VERDICT | why`, and where a quick run on softmax would not show
it `on: PROBLEM MODE`. Verdicts: `wrong` and `rejected` (no score; `rejected as OUTCOME` says which), `contained` (right
answers pass, and nothing that was tried had an effect), `useless` (rejected, or passed without the trick having been of
any use), `timed` (no score, or passed at no less than three quarters of its `cost_ms`).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from runner.wire import Report
from tests.attacks.conftest import Judge

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]

REJECTED = ("wrong", "policy", "runtime_error", "build_error", "timeout", "out_of_memory")
HONEST_SHARE = 0.75  # of cost_ms


@dataclass(frozen=True)
class Attack:
    """A file of own/, with what its docstring says."""

    path: Path
    source: str
    expect: str
    outcome: str
    problem: str
    mode: str
    cost_ms: float

    @classmethod
    def read(cls, path: Path) -> Attack:
        source = path.read_text()
        expect = re.search(r"^expect: (\w+)(?: as (\w+))? \|", source, re.MULTILINE)
        assert expect is not None, f"{path.name} has no line `expect: VERDICT | why`"
        on = re.search(r"^on: (\w+) (\w+)$", source, re.MULTILINE)
        problem, mode = on.groups() if on else ("softmax", "test")
        cost = re.search(r"^cost_ms: (\d+)", source, re.MULTILINE)
        return cls(path, source, expect[1], expect[2] or "", problem, mode, float(cost[1]) if cost else 0.0)


def attacks() -> list[ParameterSet]:
    found = [Attack.read(path) for path in sorted((Path(__file__).parent / "own").glob("*.py"))]
    timed = (pytest.mark.timed,)
    return [pytest.param(one, id=one.path.stem, marks=timed if one.cost_ms else ()) for one in found]


@pytest.mark.parametrize("attack", attacks())
def test_it_gains_nothing(attack: Attack, judge: Judge) -> None:
    report = judge(attack.source, attack.problem, attack.mode)
    seen = (report.outcome, report.reason, report.message[:600], report.logs["stderr"][-1500:])
    effect = "ATTACK-EFFECT" in report.logs["stderr"]
    rejected = report.outcome in REJECTED and report.score_us is None
    assert "LEAK" not in str(report.to_json()), seen
    assert not steering(report), (steering(report), seen)
    match attack.expect:
        case "wrong" | "rejected":
            assert rejected, seen
            assert not effect, seen
            assert attack.outcome in ("", report.outcome), seen
        case "contained":
            assert report.outcome == "passed", seen
            assert not effect, seen
        case "useless":
            assert rejected or (report.outcome == "passed" and not effect), seen
        case "timed":
            assert attack.cost_ms > 0
            times = [case["measured_us"] / 1e3 for case in report.cases if case["stage"] == "time"]
            honest = report.outcome == "passed" and times and min(times) >= HONEST_SHARE * attack.cost_ms
            assert honest or report.score_us is None, (seen, times)
        case other:
            pytest.fail(f"{attack.path.stem} expects {other!r}, which this test does not know")


def steering(report: Report) -> set[str]:
    """Characters that could steer a terminal or turn a reader's words around, in anything that people are shown."""
    shown = report.message + report.logs["stdout"] + report.logs["stderr"]
    return {letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cf", "Cs") and letter not in "\n\t"}
