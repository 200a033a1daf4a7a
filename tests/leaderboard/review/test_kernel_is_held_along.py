"""Rejecting a run holds the kernel's remaining published runs; undoing the rejection restores them."""

import pytest

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.judging.models import Result
from leaderboard.review.case import acts
from leaderboard.review.models import Case, Finding
from leaderboard.review.rules import screen
from leaderboard.standings.models import Entry
from leaderboard.standings.read.status import status_of
from tests.leaderboard.review.test_review_case import reviewer
from tests.leaderboard.stage import Stage

WHY = "it keeps what it computed"


@pytest.fixture
def runs(stage: Stage) -> list[Result]:
    """Judge two published runs of a kernel, a held run of the same kernel, and a published run of another kernel."""
    return [
        stage.judge(stage.submit(kernel=kernel), ratio=ratio, score_us=1000 * ratio)
        for kernel, ratio in ((1, 0.8), (1, 0.79), (1, 0.3), (2, 0.85))
    ]


def published() -> set[int]:
    return set(Entry.objects.values_list("attempt__result", flat=True))


def reject(stage: Stage, result: Result, **told: bool) -> None:
    pipeline.reject_result(result=result, actor=stage.olga, reason=WHY, now=stage.later(1), **told)


def undo(stage: Stage, result: Result) -> None:
    pipeline.undo_decision(result=result, actor=stage.olga, reason="I was wrong", now=stage.later(1))


def states(*results: Result) -> list[str]:
    return [Case.objects.get(result=result).state for result in results]


def test_they_wait_with_it_and_come_back_with_it(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    assert published() == {first.pk, second.pk, other.pk}
    reject(stage, held)
    assert published() == {other.pk}
    assert states(first, second) == ["waiting", "waiting"]
    assert status_of(first.attempt.submission, now=stage.now).review == "under_review"
    assert set(Finding.objects.filter(rule="kernel_rejected").values_list("result", flat=True)) == {first.pk, second.pk}
    audited = Row.objects.filter(act="hold_along_result", actor=stage.olga, reason__contains=WHY)
    assert {row.object_id for row in audited} == {str(first.pk), str(second.pk)}
    undo(stage, held)
    assert published() == {first.pk, second.pk, other.pk}
    assert states(first, second, held) == ["not_held", "not_held", "waiting"]
    assert status_of(first.attempt.submission, now=stage.now).review is None
    assert Row.objects.filter(act="release_along_result", reason="I was wrong").count() == 2


def test_again_after_it_was_undone(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    reject(stage, held)
    undo(stage, held)
    reject(stage, held)
    assert published() == {other.pk}
    undo(stage, held)
    assert published() == {first.pk, second.pk, other.pk}


def test_they_stay_where_a_reviewer_wants_that(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    reject(stage, held, hold_others=False)
    assert published() == {first.pk, second.pk, other.pk}
    undo(stage, held)
    assert published() == {first.pk, second.pk, other.pk}


def test_what_a_person_decided_meanwhile_stays(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    reject(stage, held)
    pipeline.clear_result(result=first, actor=stage.olga, reason="this one is sound", now=stage.later(1))
    assert published() == {first.pk, other.pk}
    pipeline.reject_result(result=second, actor=stage.olga, reason=WHY, now=stage.later(1), hold_others=False)
    undo(stage, held)
    assert published() == {first.pk, other.pk}
    assert states(first, second) == ["cleared", "rejected"]


def test_a_question_asked_meanwhile_holds_nobody(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    reject(stage, held)
    acts.ask(result=first, actor=stage.olga, question="How so?", now=stage.later(1))
    undo(stage, held)
    assert published() == {first.pk, second.pk, other.pk}


def test_what_was_cleared_before_is_cleared_again(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    pipeline.clear_result(result=held, actor=reviewer(stage), reason="read it", now=stage.later(1))
    pipeline.hold_result(result=first, actor=stage.olga, reason="somebody complained", now=stage.later(1))
    reject(stage, first)
    assert published() == {other.pk}
    assert states(held) == ["waiting"]
    undo(stage, first)
    assert published() == {second.pk, held.pk, other.pk}
    assert states(held) == ["cleared"]


def test_they_wait_until_the_last_rejection_is_undone(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    pipeline.hold_result(result=first, actor=stage.olga, reason="somebody complained", now=stage.later(1))
    reject(stage, held)
    reject(stage, first)
    undo(stage, held)
    assert published() == {other.pk}
    undo(stage, first)
    assert published() == {second.pk, other.pk}


def test_what_nobody_holds_any_more_is_held_by_hand(stage: Stage, runs: list[Result]) -> None:
    first, second, held, other = runs
    reject(stage, held)
    undo(stage, held)
    pipeline.hold_result(result=first, actor=stage.olga, reason="somebody complained", now=stage.later(1))
    assert (published(), states(first)) == ({second.pk, other.pk}, ["waiting"])
    pipeline.clear_result(result=first, actor=stage.olga, reason="this one is sound", now=stage.later(1))
    assert published() == {first.pk, second.pk, other.pk}


def test_what_nobody_holds_any_more_was_cleared_by_nobody(stage: Stage, runs: list[Result]) -> None:
    """Without a person's clearance, the result gives its owner no cover, judged alone or among many."""
    first, _, held, _ = runs
    reject(stage, held)
    undo(stage, held)
    assert states(first) == ["not_held"]
    for run in runs:
        alone = screen.known(run, 0.8)
        assert alone.incumbent_ratio is None
        assert alone == screen.Compared(runs).known(run, 0.8)
    pipeline.hold_result(result=first, actor=stage.olga, reason="somebody complained", now=stage.later(1))
    pipeline.clear_result(result=first, actor=stage.olga, reason="this one is sound", now=stage.later(1))
    assert screen.known(held, 0.8) == screen.Compared(runs).known(held, 0.8)
    assert screen.known(held, 0.8).incumbent_ratio == 0.8
