"""A confirmation with more samples than the wire carries is reduced case by case and yields the same record."""

import io
import json
from dataclasses import replace
from functools import cache
from typing import Any

from rich.console import Console

from runner.commands import render, replay
from runner.evidence import schema as evidence_report
from runner.job.confirm import LIMIT_BYTES, confirm, fit
from runner.wire import MAX_REPORT_BYTES, Report, dump
from tests.runner.job.test_confirmation_is_one_report_of_many_runs import JOB, SETTINGS, FakeJudge, disturbed

JSON = dict[str, Any]


def is_summed_up(run: dict[str, Any]) -> bool:
    return evidence_report.parse_run(run).is_summed_up


@cache
def whole() -> Report:
    """Five runs, the second disturbed by its incumbent, so that a sixth run has the candidate alone."""
    return confirm(JOB, SETTINGS, lambda event: None, FakeJudge(run2=disturbed))


def runs_of(report: Report) -> list[JSON]:
    return [*report.evidence["runs"], *filter(None, report.evidence["alone"])]


def unconverged(report: Report, number: int, cases: int = 1) -> Report:
    """The same confirmation with this many copies of a run whose case did not converge."""
    runs = list(report.evidence["runs"])
    timing = runs[number]["timing"][0] | {"ended": "quads"}
    runs[number] = runs[number] | {"timing": [timing] * cases}
    return replace(report, evidence=report.evidence | {"runs": runs})


def test_what_fits_stays_as_it_is() -> None:
    assert fit(whole(), len(dump(whole()))) == whole()


def test_a_case_that_did_not_converge_gives_way_first() -> None:
    report = unconverged(whole(), 3)
    fitted = fit(report, len(dump(report)) - 1)
    assert [is_summed_up(run) for run in fitted.evidence["runs"]] == [False, False, False, True, False]
    assert len(dump(fitted)) < len(dump(report))
    [summary] = [timing["summary"] for timing in fitted.evidence["runs"][3]["timing"]]
    assert summary["quads"] == len(summary["wall_ns"]) == len(report.evidence["runs"][3]["timing"][0]["quads"])
    assert summary["sides"][0] == ["baseline", "candidate", "incumbent", "incumbent", "candidate", "baseline"]
    assert report.evidence["runs"][3]["timing"][0]["quads"], "what was handed in is not changed"


def test_the_rest_follows_until_it_fits() -> None:
    small = fit(whole(), 1)
    assert all(is_summed_up(run) for run in runs_of(small))
    assert len(dump(small)) < len(dump(whole())) / 4
    assert small.confirmation == whole().confirmation
    assert all(len(text) <= 2_000 for text in small.logs.values())


def test_one_that_is_too_large_is_cut_to_what_the_wire_takes() -> None:
    """The wire's own limit is sixteen times this limit, and a test of it would take sixteen times as long."""
    one = len(json.dumps(whole().evidence["runs"][0]["timing"][0]))
    big = unconverged(whole(), 2, cases=1_500_000 // one)
    text = dump(fit(big, 1_000_000))
    assert 900_000 < len(text) <= 1_000_000 < len(dump(big)), "and no more is summed up than it takes"
    assert Report.from_json(json.loads(text)).confirmation["accepted"] is True
    assert LIMIT_BYTES < MAX_REPORT_BYTES


def test_what_was_summed_up_is_evidence_all_the_same() -> None:
    evidence_report.parse(json.loads(dump(fit(whole(), 1)))["evidence"])


def test_the_record_is_decided_again_from_what_each_run_came_to() -> None:
    told = json.loads(dump(fit(whole(), 1)))
    found = replay.replay(told)
    assert (found.same, found.summed_up, found.runs) == (True, 6, ())
    assert found.record is not None
    assert found.record.accepted
    assert found.record.held
    told["confirmation"]["accepted"] = False
    assert [difference.what for difference in replay.replay(told).differences] == ["confirmation.accepted"]


def test_a_person_is_told_that_samples_are_missing() -> None:
    screen = Console(file=io.StringIO(), width=400)
    render.replayed(screen, replay.replay(json.loads(dump(fit(whole(), 1)))))
    text: str = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "Of 6 runs not all samples were kept" in text
