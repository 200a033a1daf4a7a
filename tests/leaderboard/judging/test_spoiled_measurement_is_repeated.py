"""A disturbed machine or a judge that failed: judged again later, elsewhere, at most three times, free of charge."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from leaderboard import broker
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.judging import attempts
from leaderboard.judging.attempts import cancel, rejudge
from leaderboard.judging.claim import ALIVE
from leaderboard.judging.models import REMEASURE, REPLACEMENT, Attempt, Result
from leaderboard.judging.runners import greet
from leaderboard.judging.sweep import expire_leases, ring_idle
from leaderboard.judging.usage import usage_of
from leaderboard.judging.verdicts import MOST
from leaderboard.pipeline import claim_work
from leaderboard.standings.read.status import status_of
from leaderboard.submissions.models import QuotaLine, Submission
from tests.leaderboard.rejudging_stage import set_of
from tests.leaderboard.stage import Stage, current, make_problem, make_runner


def spoil(stage: Stage, submission: Submission, reason: str = "voids", outcome: str = "unmeasurable") -> None:
    stage.judge(submission, outcome=outcome, reason=reason, message="too many quads were void")


SPOILED = [("unmeasurable", reason) for reason in ("voids", "device_unfit", "unsteady", "starved")]
SPOILED += [("infra_error", reason) for reason in ("sandbox", "judge_died", "judge_hung", "judge_protocol")]


@pytest.mark.parametrize(("outcome", "reason"), SPOILED)
@pytest.mark.parametrize("mode", ["test", "benchmark", "ranked"])
def test_a_spoiled_one_is_judged_again_at_most_three_times_then_shown_with_its_reason(
    stage: Stage, mode: str, outcome: str, reason: str
) -> None:
    submission = stage.submit(mode=mode)
    for number in range(1, MOST + 1):
        spoil(stage, submission, reason, outcome)
        assert (current(submission).cause, current(submission).number) == (REMEASURE, number + 1)
        assert status_of(submission, now=stage.now).status == "queued"
    spoil(stage, submission, reason, outcome)
    seen = status_of(submission, now=stage.now)
    assert (seen.status, seen.outcome, seen.reason, seen.published) == ("done", outcome, reason, False)
    assert Result.objects.count() == submission.attempts.count() == MOST + 1


def test_it_costs_no_quota(stage: Stage) -> None:
    submission = stage.submit()
    before = usage_of(stage.ada, now=stage.now)
    spoil(stage, submission)
    assert usage_of(stage.ada, now=stage.now) == before


@pytest.mark.parametrize("in_shadow", [False, True])
def test_replacement_and_remeasuring_keep_the_version_of_the_attempt_before_them(stage: Stage, in_shadow: bool) -> None:
    """The board's new version may still be closed: its admission test is to come."""
    submission = stage.submit()
    if in_shadow:
        stage.judge(submission)
        set_of(stage, submission)
    job, old = stage.claim(), stage.board.version
    newer = make_problem(description="Softmax of each column.")
    version = ProblemVersion.objects.create(
        problem=stage.board.problem, digest=newer.digest, bundle=newer.to_bundle(), created_at=stage.now
    )
    Board.objects.update(version=version)
    stage.report(job, outcome="unmeasurable", reason="voids")
    stage.claim()
    expire_leases(now=stage.later(3600))
    tries = Attempt.objects.filter(is_shadow=in_shadow).order_by("number")
    assert [one.cause for one in tries][1:] == [REMEASURE, REPLACEMENT]
    assert {one.version for one in tries} == {old}


def test_a_steady_machine_settles_it(stage: Stage) -> None:
    submission = stage.submit()
    spoil(stage, submission)
    stage.judge(submission)
    assert status_of(submission, now=stage.now).rank == 1


def test_remeasuring_waits_twice_as_long_each_time_and_rings_nobody_before(
    stage: Stage,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settings.REMEASURE_AFTER_S = 120
    rung: list[Attempt] = []
    monkeypatch.setattr(attempts, "ring_for", rung.append)
    submission = stage.submit()
    for tried, wait_s in ((1, 120), (2, 240), (3, 480)):
        with django_capture_on_commit_callbacks(execute=True):
            spoil(stage, submission, "unsteady")
        seen = status_of(submission, now=stage.now)
        expected = f"Judged again soon: the machine was disturbed (try {tried + 1} of 4)"
        assert (seen.status, seen.message) == ("queued", expected)
        assert current(submission).not_before == stage.now + timedelta(seconds=wait_s)
        stage.later(wait_s - 1)
        assert claim_work(runner=stage.rex, now=stage.now) is None
        stage.later(1)
    assert rung == []
    stage.judge(submission)
    assert status_of(submission, now=stage.now).rank == 1


def test_the_sweeper_rings_for_a_remeasuring_only_when_it_is_due(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "rings_waiting", lambda hardware: 0)
    monkeypatch.setattr(broker, "ring", lambda **told: True)
    submission = stage.submit()
    for moved, rung in ((timedelta(hours=1), 0), (timedelta(seconds=-1), 1)):
        Attempt.objects.filter(submission=submission).update(not_before=timezone.now() + moved)
        assert ring_idle() == rung


def test_a_remeasuring_stands_at_the_end_of_the_queue(stage: Stage, settings: Settings) -> None:
    settings.REMEASURE_AFTER_S = 10
    spoiled = stage.submit(stage.ada)
    spoil(stage, spoiled)
    stage.later(5)
    others = [stage.submit(stage.ada) for _ in range(3)]
    stage.later(600)
    later = stage.submit(stage.ada)
    order = [stage.claim().submission_id for _ in range(5)]
    assert order == [str(one.pk) for one in (*others, spoiled, later)]


def test_a_pass_of_a_remeasured_one_ends_its_tries(stage: Stage) -> None:
    submission = stage.submit()
    spoil(stage, submission, "unsteady")
    stage.judge(submission, ratio=1.7)
    assert claim_work(runner=stage.rex, now=stage.now) is None
    with pytest.raises(UserError):
        rejudge(submission=submission, actor=stage.ada, reason="a better draw", now=stage.now)


def test_a_remeasuring_can_be_called_off_while_it_waits(stage: Stage, settings: Settings) -> None:
    settings.REMEASURE_AFTER_S = 120
    submission = stage.submit()
    spoil(stage, submission, "unsteady")
    cancel(submission=submission, actor=stage.ada, reason="never mind", now=stage.now)
    stage.later(3600)
    assert claim_work(runner=stage.rex, now=stage.now) is None
    assert status_of(submission, now=stage.now).status == "cancelled"


@pytest.mark.parametrize("reason", ["unsteady", "starved"])
def test_the_token_of_a_spoiled_one_comes_back_after_the_last_try(stage: Stage, reason: str) -> None:
    submission = stage.submit()
    for _ in range(MOST + 1):
        assert not submission.quota_lines.filter(act=QuotaLine.GIVEN_BACK).exists()
        spoil(stage, submission, reason)
    assert submission.quota_lines.filter(act=QuotaLine.GIVEN_BACK).exists()


def test_a_remeasuring_counts_by_the_time_it_was_sent(stage: Stage, settings: Settings) -> None:
    settings.REMEASURE_AFTER_S = 120
    submission = stage.submit()
    sent_at = submission.created_at
    spoil(stage, submission, "unsteady")
    stage.later(3600)
    stage.judge(submission)
    standing = status_of(submission, now=stage.now).standing
    assert standing is not None
    assert standing.value.submitted_at == sent_at


@pytest.mark.parametrize("reason", ["self_disturbed", "below_resolution"])
def test_what_the_kernel_itself_does_is_not_measured_again(stage: Stage, reason: str) -> None:
    submission = stage.submit()
    spoil(stage, submission, reason)
    assert status_of(submission, now=stage.now).status == "done"


def test_another_runner_takes_it_where_there_is_one(stage: Stage) -> None:
    tex = make_runner("tex")
    greet(runner=tex, fingerprint={}, epoch="", now=stage.now)
    submission = stage.submit()
    spoil(stage, submission)
    assert claim_work(runner=stage.rex, now=stage.now) is None
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


@pytest.mark.parametrize("mode", ["test", "benchmark", "ranked"])
@pytest.mark.parametrize("why", ["spoiled", "away_from"])
def test_a_runner_of_another_epoch_keeps_no_timed_attempt_from_the_ranked_epoch(
    stage: Stage, why: str, mode: str
) -> None:
    rex, tex = stage.rex, make_runner("tex")
    for runner, epoch in ((rex, "driver-1"), (tex, "driver-2")):
        greet(runner=runner, fingerprint={"driver": epoch}, epoch=epoch, now=stage.now)
        runner.refresh_from_db()
    submission = stage.submit(mode=mode)
    if why == "spoiled":
        stage.report(stage.claim(rex), runner=rex, outcome="unmeasurable", reason="voids", epoch="driver-1")
    else:
        stage.report(stage.claim(rex), runner=rex, epoch="driver-1")
        rejudge(submission=submission, actor=stage.olga, reason="check it", now=stage.now, away_from=rex)
    taken_by = next(runner for runner in (rex, tex) if claim_work(runner=runner, now=stage.now))
    assert taken_by == (tex if mode == "test" else rex)


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
    for _ in range(MOST):
        spoil(stage, submission)
    stage.claim()
    stage.later(61)
    assert expire_leases(now=stage.now) == 1
    spoil(stage, submission)
    assert (status_of(submission, now=stage.now).status, Attempt.objects.count()) == ("done", MOST + 2)
