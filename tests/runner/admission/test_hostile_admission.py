"""Texts and figures of a hostile problem: the result of its admission test always fits the wire."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaderboard.judging.runners import check_storable
from problems.spec import Problem
from runner.admission import examine, outputs
from runner.admission.examine import Tally
from runner.commands.local import find_problem
from runner.evidence.schema import Check
from runner.judge.data.faults import Fault
from runner.wire import STARTER, Expectation, Report, dump
from sandbox.protocol import clean_text

PROBLEM = Problem.from_bundle(find_problem("vectoradd").to_bundle())
LONGEST = "\N{PARTY POPPER}" * 2_000
MOST_STARTERS = 8
TEXT = st.text(max_size=20).map(lambda text: clean_text(text.encode("utf-8", "replace"))) | st.sampled_from(
    [LONGEST, "NotApplicable: ", f"NotApplicable: {LONGEST}"]
)
FIGURE = st.none() | st.floats(0, allow_nan=False, allow_infinity=False)


def fill(tally: Tally, kind: str, text: str, figure: float | None, public: bool) -> None:
    """Add an answer of a variant, as `examine` does."""
    if kind == "fault":
        tally.failed(Fault("runtime_error", "raised", text, told_by_tenant=True), public=public)
    elif kind == "wrong":
        tally.failed(Fault("wrong", "shape", text, told_by_tenant=True), public=public)
    else:
        figures = {"worst_share": figure, "relative_l2": figure, "limit_l2": 1e-3}
        check = Check(
            case="n=1", seed=1, public=public, good=kind == "good", reason="", message=text, figures=[figures]
        )
        tally.judged(check, set(), "n=1")


ANSWER = st.tuples(st.sampled_from(["fault", "wrong", "good", "bad"]), TEXT, FIGURE, st.booleans())
NAMES = (*examine.variants(PROBLEM), examine.BASELINE)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.fixed_dictionaries({name: st.lists(ANSWER, max_size=3) for name in NAMES}), TEXT)
@example({name: [("fault", LONGEST, None, True)] for name in NAMES}, LONGEST)
@example({name: [("bad", LONGEST, 1.0, True), ("good", "", 1.0, False)] for name in NAMES}, LONGEST)
def test_result_of_an_admission_test_fits_the_wire(
    answers: dict[str, list[tuple[str, str, float | None, bool]]], text: str
) -> None:
    tallies = {name: Tally() for name in NAMES}
    for name, some in answers.items():
        for answer in some:
            fill(tallies[name], *answer)
    drawn = [outputs.Drawn({"n": 1}, varied=True, plain=text, again=False)]
    found = examine.conclude(PROBLEM, tallies, cases=3, drawn=drawn)
    starters = [
        Expectation(f"{STARTER}language {number}", "passed", "wrong (shape)", None, text[:300])
        for number in range(MOST_STARTERS)
    ]
    told = examine.Admission((*found.lines, *starters), found.marks, found.cases, found.margin).to_json()
    report = Report(attempt_id="1", token=1, outcome="wrong", message=found.sentence, admission=told)
    assert Report.from_json(json.loads(dump(report))) == report
    check_storable(told, "admission")
