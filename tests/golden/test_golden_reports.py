"""Verdicts, screenings and pages of stored reports of every kind stay the same, to the last digit."""

import json
from pathlib import Path
from typing import Any

import pytest

from leaderboard.review.rules.thresholds import RULES
from runner.evidence import rules
from tests.golden import answers, make, store

RUNNERS_OWN = set(rules.RULES)


@pytest.mark.parametrize("name", store.names())
def test_golden_report_is_answered_as_before(name: str) -> None:
    found = answers.answer(store.read(name))
    stored = store.read_answer(name)
    assert found == stored, "if the change is meant, run python -m tests.golden.make --renew and look at the difference"
    assert store.text_of(found) == store.text_of(stored), (
        "equal numbers that are written otherwise: 1 and 1.0, 0.0 and -0.0"
    )


def test_every_golden_report_has_an_answer_and_the_other_way_round() -> None:
    assert store.names() == sorted(path.stem for path in store.ANSWERS.glob("*.json"))


def test_golden_reports_are_small() -> None:
    files = [*store.REPORTS.iterdir(), *store.ANSWERS.iterdir()]
    assert sum(path.stat().st_size for path in files) < 3_400_000


@pytest.fixture(scope="module")
def stored() -> list[dict[str, Any]]:
    return [store.read_answer(name) for name in store.names()]


def test_every_rule_of_the_site_holds_a_golden_report(stored: list[dict[str, Any]]) -> None:
    held = {one["rule"] for answer in stored for board in answer.get("site", []) for one in board["held"]}
    assert held == set(RULES), "tests/golden/README.md describes how to add a report that a new rule holds"


def test_every_rule_of_the_runner_finds_a_golden_report(stored: list[dict[str, Any]]) -> None:
    runs = [run for answer in stored for run in answer.get("replay", {}).get("evidence", [])]
    assert {one["rule"] for run in runs for one in run["findings"]} == RUNNERS_OWN
    assert any(run["impossible"] for run in runs)


def test_make_overwrites_no_golden_report_that_would_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "HERE", tmp_path)
    monkeypatch.setattr(store, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(store, "ANSWERS", tmp_path / "answers")
    report = {"outcome": "infra_error", "cases": [], "evidence": {}, "ratio": None}
    (tmp_path / "one.json").write_text(json.dumps(report))
    add = ["--add", "one", str(tmp_path / "one.json")]
    assert make.main(add) == 0
    assert make.main(add) == 0, "nothing changes"
    store.answer_path("one").write_text("{}")
    assert make.main([]) == 1
    assert store.read_answer("one") == {}
    assert make.main(["--renew"]) == 0
    assert "refused" in store.read_answer("one")["replay"]
