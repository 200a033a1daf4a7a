"""A machine that was disturbed or unfit: measured again, elsewhere where possible, at most twice, at nobody's cost."""

from __future__ import annotations

import pytest

from leaderboard.judging.claim import ALIVE, claim_next
from leaderboard.judging.models import REMEASURE, Attempt, Result
from leaderboard.judging.rejudge import rejudge
from leaderboard.judging.remeasure import MOST
from leaderboard.judging.runners import greet
from leaderboard.judging.sweep import expire_leases
from leaderboard.judging.usage import usage_of
from leaderboard.standings.status import status_of
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage, current, make_runner


def spoil(stage: Stage, submission: Submission, reason: str = "voids") -> None:
    stage.judge(submission, outcome="unmeasurable", reason=reason, message="too many quads were void")


@pytest.mark.parametrize("reason", ["voids", "device_unfit"])
@pytest.mark.parametrize("mode", ["benchmark", "ranked"])
def test_it_is_measured_again_at_most_twice_then_shown_with_its_reason(stage: Stage, mode: str, reason: str) -> None:
    submission = stage.submit(mode=mode)
    for number in range(1, MOST + 1):
        spoil(stage, submission, reason)
        assert (current(submission).cause, current(submission).number) == (REMEASURE, number + 1)
        assert status_of(submission, now=stage.now).status == "queued"
    spoil(stage, submission, reason)
    seen = status_of(submission, now=stage.now)
    assert (seen.status, seen.outcome, seen.reason, seen.published) == ("done", "unmeasurable", reason, False)
    assert Result.objects.count() == submission.attempts.count() == MOST + 1


def test_it_costs_no_quota(stage: Stage) -> None:
    submission = stage.submit()
    before = usage_of(stage.ada, now=stage.now)
    spoil(stage, submission)
    assert usage_of(stage.ada, now=stage.now) == before


def test_a_steady_machine_settles_it(stage: Stage) -> None:
    submission = stage.submit()
    spoil(stage, submission)
    stage.judge(submission)
    assert status_of(submission, now=stage.now).rank == 1


@pytest.mark.parametrize("reason", ["unsteady", "below_resolution"])
def test_what_the_kernel_itself_does_is_not_measured_again(stage: Stage, reason: str) -> None:
    submission = stage.submit()
    spoil(stage, submission, reason)
    assert status_of(submission, now=stage.now).status == "done"


def test_another_runner_takes_it_where_there_is_one(stage: Stage) -> None:
    tex = make_runner("tex")
    greet(runner=tex, fingerprint={}, epoch="", now=stage.now)
    submission = stage.submit()
    spoil(stage, submission)
    assert claim_next(runner=stage.rex, now=stage.now) is None
    job = stage.claim(tex)
    stage.report(job, runner=tex, outcome="unmeasurable", reason="voids")
    assert stage.claim().submission_id == str(submission.pk), "both have tried: either may"


@pytest.mark.parametrize("why", ["silent", "suspended", "set aside", "of other hardware"])
def test_the_same_runner_takes_it_where_the_other_is_of_no_use(stage: Stage, why: str) -> None:
    tex = make_runner("tex", hardware="H200" if why == "of other hardware" else "cpu")
    greet(runner=tex, fingerprint={}, epoch="", now=stage.now)
    submission = stage.submit()
    spoil(stage, submission)
    if why == "silent":
        stage.later(ALIVE.total_seconds())
    elif why == "suspended":
        type(tex).objects.filter(pk=tex.pk).update(suspended_at=stage.now)
    elif why == "set aside":
        type(tex).objects.filter(pk=tex.pk).update(set_aside_at=stage.now)
    assert stage.claim().submission_id == str(submission.pk)


def test_a_line_that_was_earned_before_stays(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission)
    rejudge(submission=submission, actor=stage.olga, reason="check it", now=stage.now)
    for _ in range(MOST + 1):
        spoil(stage, submission)
    assert status_of(submission, now=stage.now).rank == 1
    rejudge(submission=submission, actor=stage.olga, reason="once more", now=stage.now)
    spoil(stage, submission)
    assert status_of(submission, now=stage.now).status == "queued", "a new judging has its own tries"


def test_a_lost_runner_in_between_gives_no_further_try(stage: Stage) -> None:
    submission = stage.submit()
    spoil(stage, submission)
    spoil(stage, submission)
    stage.claim()
    stage.later(61)
    assert expire_leases(now=stage.now) == 1
    spoil(stage, submission)
    assert (status_of(submission, now=stage.now).status, Attempt.objects.count()) == ("done", MOST + 2)
