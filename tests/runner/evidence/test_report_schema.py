"""Evidence is parsed before any decision: valid evidence passes, each invalid field is named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from problems.spec import Problem, case_name
from runner.evidence import schema
from runner.evidence.schedule import ABIIBA, A, B, I
from runner.evidence.schema import ReportError
from tests.runner.judge.simulated import FakeSide, Race, at_block, counted, race

SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"
CIRCUMSTANCES: dict[str, Any] = {
    "tuned": False,
    "hardware": "cpu",
    "fingerprint": {"cpu": "one", "cpus": 2},
    "epoch": "sha256:0123456789",
    "problem_digest": "sha256:" + "0" * 64,
    "image": "sha256:" + "1" * 64,
    "left_out": [],
    "cores": {"judge": [0], "tenant": [1]},
    "phases_s": {"all": 3.25},
}


def simulated(made: Race | None = None) -> dict[str, Any]:
    """The judge's stored evidence of a simulated race, as JSON brings it back."""
    made = made or race(0.5)
    made.run()
    evidence = made.evidence() | CIRCUMSTANCES
    evidence["checks"] = [check | {"seed": 7, "figures": []} for check in evidence["checks"]]
    again: dict[str, Any] = json.loads(json.dumps(evidence))
    return again


def test_what_the_judge_writes_fits() -> None:
    schema.parse(simulated())


def test_void_quads_with_their_reasons_fit() -> None:
    hot = at_block(9, before={"counters": counted(270, 0)}, counters=counted(270, 5_000_000))
    evidence = simulated(race(0.5, heat=hot))
    assert any(quad["void"] for quad in evidence["timing"][0]["quads"])
    schema.parse(evidence)


def test_a_confirmation_fits() -> None:
    made = Race(order=ABIIBA)
    made.sides = {name: FakeSide(made, name, 4e6) for name in (A, B, I)}
    schema.parse({"version": 3, "runs": [simulated(made)], "alone": [simulated(), None]})


@pytest.mark.parametrize(
    "case", [{"n": 4, "seed": -1}, {f"text{n}": "x" * 200 for n in range(31)} | {"seed": -(2**63)}]
)
def test_a_check_of_any_case_that_a_problem_may_have_fits(case: dict[str, Any]) -> None:
    task = {"slug": "a", "title": "A", "description": "", "files": {"reference.py": ""}, "benchmarks": [{"n": 1}]}
    (kept,) = Problem.from_bundle({"bundle": 1, **task, "tests": [case]}).tests
    evidence = simulated()
    evidence["checks"] += [evidence["checks"][0] | {"case": case_name(kept), "seed": kept["seed"], "arguments": kept}]
    schema.parse(evidence)


def changed(evidence: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the value at a path such as "timing.0.calls"; the value Ellipsis removes it."""
    copy: Any = json.loads(json.dumps(evidence))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at = copy
    for step in way:
        at = at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    found: dict[str, Any] = copy
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mode", "fast"),
        ("certified", 1),
        ("certified", ...),
        ("clock", "sundial"),
        ("more", 1),
        ("checks.0.good", "yes"),
        ("checks.0.message", "x" * 30_000),
        ("timing.0.calls", -1),
        ("timing.0.ended", "somehow"),
        ("timing.0.quads.0.blocks.0.side", "judge"),
        ("timing.0.quads.0.blocks.0.calls.0", [1, 2, 3]),
        ("timing.0.quads.0.blocks.0.calls.0.0", "fast"),
        ("timing.0.quads.0.blocks.0.calls.0.0", 1e300),
        ("timing.0.quads.0.blocks.0.heat", {"before": {}}),
        ("timing.0.quads.0.blocks.0.heat.before.at_ns", "soon"),
        ("timing.0.quads.0.more", 1),
        ("phases_s.all", None),
        ("fault", {"outcome": "wrong"}),
    ],
)
def test_what_does_not_fit_is_named(path: str, value: Any) -> None:
    with pytest.raises(ReportError) as caught:
        schema.parse(changed(simulated(), path, value))
    field = next(step for step in path.split(".") if not step.isdigit())
    assert f"evidence.{field}" in str(caught.value)
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        (None, "expected an object"),
        ([], "expected an object"),
        ({}, "ended before there was anything"),
        ({"version": True}, "ended before there was anything"),
        ({"version": 2, "quads": []}, "Judge the submission again"),
        ({"version": 4}, "upgrade it"),
        ({"version": 3, "runs": 5}, "evidence.runs"),
        ({"version": 3, "phases_s": {"all": float("nan")}}, "not JSON compliant"),
    ],
)
def test_what_is_no_evidence_of_this_version_is_refused_with_a_sentence(evidence: Any, says: str) -> None:
    with pytest.raises(ReportError, match=re.escape(says)):
        schema.parse(evidence)


def test_the_schema_in_the_docs_is_current() -> None:
    assert SCHEMA.read_text("utf-8") == schema.schema_text(), (
        "run python -m runner.evidence.schema > docs/report.schema.json"
    )
