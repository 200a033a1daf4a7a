"""All runs of a kernel that failed on fresh seeds wait for a person, also after new judging, submission or clearing."""

import pytest

from leaderboard import pipeline
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import Result
from leaderboard.review.models import Case, Finding
from leaderboard.standings.models import Entry
from leaderboard.submissions.models import Submission
from tests.leaderboard import records
from tests.leaderboard.records import confirm, found
from tests.leaderboard.stage import Stage

WRONG = {"told": records.FAILED, "outcome": "wrong", "reason": "values"}


def lines() -> set[str]:
    return set(Entry.objects.values_list("owner__username", flat=True))


def led(stage: Stage, ratio: float = 0.8) -> Submission:
    """Let ben lead and ada take first place with kernel 7."""
    stage.judge(stage.submit(stage.ben), ratio=0.9)
    candidate = stage.submit(stage.ada, kernel=7)
    stage.judge(candidate, ratio=ratio)
    return candidate


def clear(stage: Stage, submission: Submission) -> None:
    result = Result.objects.filter(attempt__submission=submission).latest("pk")
    pipeline.clear_result(result=result, actor=stage.olga, reason="read it", now=stage.later(1))


def test_all_runs_of_it_do(stage: Stage) -> None:
    led(stage)
    stage.judge(stage.submit(stage.ada, kernel=7), ratio=0.81)
    stage.judge(stage.submit(stage.ada, kernel=8), ratio=0.95)
    confirm(stage, **WRONG)
    assert Entry.objects.filter(owner=stage.ada).count() == 1, "of another kernel"
    assert Case.objects.filter(state="waiting").count() == 2


def test_so_does_what_is_judged_anew_at_that_moment_and_after(stage: Stage) -> None:
    candidate = led(stage)
    job = records.claim(stage)
    rejudge(submission=candidate, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    pipeline.take_report(runner=stage.rex, report=found(job, **WRONG), now=stage.later(1))
    assert lines() == {"ben"}
    again = stage.judge(candidate, ratio=0.8)
    assert (lines(), again.case.state) == ({"ben"}, "waiting")
    assert list(Finding.objects.filter(result=again).values_list("rule", flat=True)) == ["held_before"]
    clear(stage, candidate)
    assert lines() == {"ada", "ben"}


def test_what_was_cleared_without_knowing_is_cleared_again(stage: Stage) -> None:
    candidate = led(stage, ratio=0.3)
    clear(stage, candidate)
    assert lines() == {"ada", "ben"}
    confirm(stage, **WRONG)
    assert (lines(), Case.objects.get().state) == ({"ben"}, "waiting")
    clear(stage, candidate)
    assert lines() == {"ada", "ben"}, "by somebody who knew"
    stage.later(3600)
    confirm(stage, **WRONG)
    assert lines() == {"ada", "ben"}, "nothing new was found"


@pytest.mark.parametrize("rejected", [False, True])
def test_what_a_person_holds_does_not_rank_by_being_sent_again(stage: Stage, rejected: bool) -> None:
    result = stage.judge(stage.submit(kernel=7), ratio=0.9)
    told = {"result": result, "actor": stage.olga, "reason": "it is ben's", "now": stage.now}
    pipeline.hold_result(**told)
    if rejected:
        pipeline.reject_result(**told)
    again = stage.judge(stage.submit(kernel=7), ratio=0.9)
    assert (lines(), again.case.state) == (set(), "waiting")
    stage.judge(stage.submit(kernel=8), ratio=0.9)
    assert Entry.objects.count() == 1, "another kernel of theirs is not held for it"
