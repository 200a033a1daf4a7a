"""Times that a submission's container reports of itself: any of them gain nothing beyond the share that the verdict
gives as forgeable, and the report can be sent, read and replayed."""

import json
from itertools import cycle
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaderboard.judging.runners import check_storable
from runner.evidence import replay, rules, schema, verdict
from runner.evidence.schedule import CPU, GPU, B, Profile
from runner.job.execute import report_of
from runner.judge.sides.arena import MOST_TOLD_NS
from runner.wire import OUTCOMES, Report, dump
from tests.runner.evidence.whole import parsed
from tests.runner.judge.simulated import FakeSide, Race, race

BASELINE_NS = 4e6
RATIO = 0.98
SLACK = 0.02  # the simulation's noise
BLANK = Report(attempt_id="1", token=1, outcome="infra_error")

Word = tuple[bool, float]  # whether a share of the true time, or nanoseconds
WORDS: st.SearchStrategy[Word] = st.one_of(
    st.tuples(st.just(True), st.floats(0, 3)),
    st.tuples(st.just(False), st.integers(0, MOST_TOLD_NS) | st.sampled_from([0, 1, MOST_TOLD_NS])),
)


def raced(words: list[Word], profile: Profile) -> tuple[verdict.Verdict, Race]:
    made = race(RATIO, baseline_ns=BASELINE_NS, profile=profile, probe_ns=lambda race: 15_000.0 * (profile is GPU))
    honest, left = made.call, cycle(words)

    def call(side: FakeSide, slow: float = 1.0) -> Any:
        sample = honest(side, slow)
        if side.name != B or not words:
            return sample
        is_share, number = next(left)
        return sample._replace(inner_ns=min(int(sample.inner_ns * number if is_share else number), MOST_TOLD_NS))

    made.call = call  # type: ignore[method-assign]
    return made.run(), made


def check_report(made: Race, decided: verdict.Verdict) -> None:
    """Check that the evidence is read by the site, decides the same again, and its report crosses the wire."""
    evidence = parsed(made.evidence())
    evidence.findings += rules.findings(evidence)
    assert replay.rerun(evidence.timing[0], evidence) == []
    again = verdict.decide(evidence)
    assert (again.outcome, again.reason, again.score_us) == (decided.outcome, decided.reason, decided.score_us)
    report = Report.from_json(json.loads(dump(report_of(BLANK, evidence, {}))))
    check_storable(report.to_json() | {"cases": list(report.cases), "flags": list(report.flags)}, "report")
    assert schema.parse(report.evidence) == evidence


@pytest.fixture(scope="module")
def honest() -> verdict.Verdict:
    return raced([], CPU)[0]


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.lists(WORDS, min_size=1, max_size=7))
def test_reported_times_change_no_verdict_on_the_judges_clock(honest: verdict.Verdict, words: list[Word]) -> None:
    decided, made = raced(words, CPU)
    assert decided == honest
    check_report(made, decided)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.lists(WORDS, min_size=1, max_size=7) | st.tuples(WORDS).map(list))
@example([(False, 0)])
@example([(True, 0.0), (True, 1.0)])
@example([(False, MOST_TOLD_NS)])
def test_reported_times_gain_at_most_the_forgeable_share_on_a_devices_clock(words: list[Word]) -> None:
    decided, made = raced(words, GPU)
    assert decided.outcome in OUTCOMES
    if decided.outcome == "passed":
        assert decided.forgeable is not None
        (time,) = decided.times
        assert time.candidate_ns >= (1 - time.forgeable - SLACK) * RATIO * BASELINE_NS
    check_report(made, decided)
