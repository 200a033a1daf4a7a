"""Screening stores every rule's measure, applies its competition's thresholds, and costs little."""

import json
import time
from typing import Any

from leaderboard.review.models import Finding, Measurement
from leaderboard.review.rules.findings import Known, Reported, Source, measure
from leaderboard.standings.read.status import status_of
from runner.wire import MAX_REPORT_BYTES
from tests.leaderboard.stage import Stage
from tests.runner.judge.suspects import case, evidence

# Times the cost of reading the report as JSON in this process; measured: 4.2 to 5.9, under load 7.4, and 14.3 once late
# in a long run, where reading took half of its usual time.
AFFORDED = 24.0


def set_thresholds(stage: Stage, **thresholds: Any) -> None:
    competition = stage.board.competition
    competition.thresholds = thresholds
    competition.save(update_fields=["thresholds"])


def test_a_result_that_nothing_holds_leaves_its_measures(stage: Stage) -> None:
    run = evidence(case(candidate=0.9e6), case(candidate=0.7e6, name="n=9"))
    result = stage.judge(stage.submit(), ratio=0.8, evidence=run)
    kept = Measurement.objects.get(result=result)
    assert kept.values["faster_than_best"] > 1.3
    assert kept.values["one_case_apart"] > 1.0
    assert {name: round(ratio, 1) for name, ratio in kept.case_ratios.items()} == {"n=8": 0.9, "n=9": 0.7}
    assert not Finding.objects.exists()
    assert status_of(result.attempt.submission, now=stage.now).published


def test_a_finding_keeps_its_threshold_and_samples(stage: Stage) -> None:
    stage.judge(stage.submit(), ratio=0.4, evidence=evidence(case(candidate=0.4e6)))
    finding = Finding.objects.get()
    assert (finding.rule, finding.threshold) == ("faster_than_best", 2.0)
    assert finding.samples["candidate_ns"]


def test_a_competition_sets_what_is_held(stage: Stage) -> None:
    set_thresholds(stage, faster_than_best=3)
    assert status_of(stage.judge(stage.submit(), ratio=0.4).attempt.submission, now=stage.now).published
    set_thresholds(stage, faster_than_best=1.2)
    stage.judge(stage.submit(stage.ben), ratio=0.3)
    assert Finding.objects.get().threshold == 1.2


def test_thresholds_that_no_rule_knows_any_more_leave_the_usual_ones(stage: Stage) -> None:
    set_thresholds(stage, faster_than_light=3, faster_than_best=99)
    stage.judge(stage.submit(), ratio=0.4)
    assert Finding.objects.get().threshold == 2.0


def test_a_case_is_compared_with_what_stands_and_not_with_what_is_held(stage: Stage) -> None:
    def told(fast: float) -> dict[str, Any]:
        cases = [case(candidate=0.95e6, name=f"n={n}") for n in range(7)]
        return {"ratio": 0.8, "evidence": evidence(*cases, case(candidate=fast * 1e6, name="n=7"), tuned=False)}

    stage.judge(stage.submit(stage.ben), **told(0.9))
    assert status_of(stage.judge(stage.submit(), **told(0.31)).attempt.submission, now=stage.now).published
    stage.judge(stage.submit(stage.cleo), **told(0.1))
    assert "case_faster_than_best" in {finding.rule for finding in Finding.objects.all()}
    assert (
        status_of(stage.judge(stage.submit(stage.ben), **told(0.12)).attempt.submission, now=stage.now).review
        == "under_review"
    )


def test_the_longest_report_is_screened_for_little_more_than_it_costs_to_read() -> None:
    run = evidence(*(case(name=f"n={n}", quads=250) for n in range(32)))
    text = json.dumps({"evidence": run})
    run["timing"] = (run["timing"] * 4)[: 32 * MAX_REPORT_BYTES // len(text)]
    text = json.dumps({"evidence": run})
    assert len(text) > 0.9 * MAX_REPORT_BYTES
    began = time.process_time()
    report = json.loads(text)
    read = time.process_time() - began
    measured = measure(Reported(1.0, report=report), Known(), Source())
    took = time.process_time() - began - read
    print(f"{len(text) / 1e6:.1f} MB screened in {1000 * took:.0f} ms, read in {1000 * read:.0f} ms")
    assert measured.case_ratios
    assert took < AFFORDED * read
