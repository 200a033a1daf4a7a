"""An implausibly fast result is visible only to its owner until an organiser decides, once and on the record."""

import pytest

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import Result
from leaderboard.review.models import Decision, Finding
from leaderboard.review.rules.findings import Known, Reported, Source, held_by, measure
from leaderboard.review.standing import held_results
from leaderboard.standings.models import Entry
from leaderboard.standings.read.records import incumbent_ratio
from leaderboard.standings.read.status import status_of, statuses_of
from tests.leaderboard.stage import Stage
from tests.leaderboard.standings.test_board_order import entries_of
from tests.runner.judge.suspects import steady


def hold(stage: Stage) -> Result:
    return stage.judge(stage.submit(), ratio=0.4, score_us=400.0)


@pytest.mark.parametrize(
    ("ratio", "incumbent", "held"),
    [
        (0.5, None, False),
        (0.499, None, True),
        (0.46, 0.9, False),
        (0.44, 0.9, True),
        (0.6, 3.0, False),
        (0.49, 3.0, True),  # a slow incumbent does not excuse a higher speed against the baseline
        (5.0, None, False),
    ],
)
def test_the_rule_holds_what_is_over_twice_the_best(ratio: float, incumbent: float | None, held: bool) -> None:
    reported = Reported(ratio, report={"evidence": steady(ratio)})
    known = Known(incumbent, case_ratios={"n=8": incumbent} if incumbent else {})
    assert bool(held_by(measure(reported, known, Source()).measures)) == held


def test_a_finding_says_what_was_found_in_figures(stage: Stage) -> None:
    hold(stage)
    finding = Finding.objects.get()
    assert finding.rule == "faster_than_best"
    assert "2.50× as fast as the baseline" in finding.sentence
    assert finding.figures["ratio"] == 0.4


def test_a_run_that_was_not_certified_waits_however_plausible_it_is(stage: Stage) -> None:
    stage.judge(stage.submit(), ratio=0.9, flags=("not_certified", "not_converged"))
    assert entries_of(stage.board) == []
    assert [finding.rule for finding in Finding.objects.all()] == ["not_certified"]


def test_a_clean_result_is_published_at_once(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission, ratio=0.6)
    assert [line.entry.submission for line in entries_of(stage.board)] == [submission]
    seen = status_of(submission, now=stage.now)
    assert (seen.published, seen.rank, seen.review) == (True, 1, None)


def test_a_held_result_is_invisible_and_under_review_to_its_owner(stage: Stage) -> None:
    result = hold(stage)
    assert entries_of(stage.board) == []
    submission = result.attempt.submission
    for seen in (status_of(submission, now=stage.now), statuses_of([submission])[submission.pk]):
        assert (seen.status, seen.outcome, seen.review, seen.published) == ("done", "passed", "under_review", False)
    assert list(held_results()) == [result]


def test_what_is_held_is_no_incumbent(stage: Stage) -> None:
    hold(stage)
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    assert incumbent_ratio(epoch="", without=stage.submit()) == 0.8


def test_the_incumbent_moves_the_bar(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ben), ratio=0.55)
    stage.judge(stage.submit(), ratio=0.3)
    assert [line.entry.owner for line in entries_of(stage.board)] == [stage.ada, stage.ben]


def test_a_superuser_publishes_it_on_the_record(stage: Stage) -> None:
    result = hold(stage)
    pipeline.clear_result(result=result, actor=stage.olga, reason="a real trick", now=stage.now)
    seen = status_of(result.attempt.submission, now=stage.now)
    assert (seen.published, seen.rank, seen.review) == (True, 1, None)
    row = Row.objects.get(act="clear_result")
    assert (row.actor, row.reason, row.object_id) == (stage.olga, "a real trick", str(result.pk))
    assert (row.before, row.after["review"]) == ({"review": "waiting"}, "cleared")
    assert not held_results().exists()
    assert Entry.objects.get().submitted_at == result.attempt.submission.created_at


def test_a_superuser_rejects_it_on_the_record(stage: Stage) -> None:
    result = hold(stage)
    pipeline.reject_result(result=result, actor=stage.olga, reason="reads a clock", now=stage.now)
    assert status_of(result.attempt.submission, now=stage.now).review == "rejected"
    assert entries_of(stage.board) == []
    assert Row.objects.get(act="reject_result").reason == "reads a clock"


@pytest.mark.parametrize("name", ["ada", "ben", "cleo"])
def test_no_competitor_decides(stage: Stage, name: str) -> None:
    result = hold(stage)
    with pytest.raises(UserError) as caught:
        pipeline.clear_result(result=result, actor=getattr(stage, name), reason="please", now=stage.now)
    assert caught.value.status == 403
    assert not Decision.objects.exists()
    assert not Entry.objects.exists()


def test_a_decision_is_made_once(stage: Stage) -> None:
    result = hold(stage)
    pipeline.reject_result(result=result, actor=stage.olga, reason="no", now=stage.now)
    with pytest.raises(UserError, match="rejected already; undo that first"):
        pipeline.clear_result(result=result, actor=stage.olga, reason="oh, yes", now=stage.now)
    assert Decision.objects.get().act == "reject"
    assert Row.objects.count() == 1
    assert not Entry.objects.exists()


def test_what_was_never_held_needs_no_decision(stage: Stage) -> None:
    result = stage.judge(stage.submit())
    with pytest.raises(UserError, match="never held"):
        pipeline.reject_result(result=result, actor=stage.olga, reason="I do not like it", now=stage.now)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 2001])
def test_a_decision_needs_a_reason(stage: Stage, reason: str) -> None:
    result = hold(stage)
    with pytest.raises(UserError) as caught:
        pipeline.clear_result(result=result, actor=stage.olga, reason=reason, now=stage.now)
    assert caught.value.field == "reason"


def test_a_held_result_that_is_judged_again_is_decided_by_the_new_one(stage: Stage) -> None:
    result = hold(stage)
    submission = result.attempt.submission
    rejudge(submission=submission, actor=stage.olga, reason="check it", now=stage.now)
    with pytest.raises(UserError, match="judged again"):
        pipeline.clear_result(result=result, actor=stage.olga, reason="fine", now=stage.now)
    stage.judge(submission, ratio=0.9)
    assert status_of(submission, now=stage.now).published
