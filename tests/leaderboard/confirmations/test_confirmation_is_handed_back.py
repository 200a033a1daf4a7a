"""A confirmation counts no loss when its runner restarts or an answer is lost."""

import pytest

from leaderboard import pipeline
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.models import AWARD, Confirmation
from leaderboard.errors import StaleLease
from leaderboard.judging.lease import release, renew
from leaderboard.judging.runners import greet
from runner.wire import Job
from tests.leaderboard.confirmations.test_record_is_confirmed import claim, only, overtake
from tests.leaderboard.stage import Stage, make_board, make_runner


def test_release_of_a_confirmation_counts_no_loss(stage: Stage) -> None:
    overtake(stage)
    job = claim(stage)
    renew(attempt_id=only().attempt_id, runner=stage.rex, token=job.token, now=stage.later(61))
    release(attempt_id=only().attempt_id, runner=stage.rex, token=job.token, now=stage.now)
    assert (only().state, only().losses, only().runner) == ("queued", 0, None)
    tess = make_runner("tess")
    assert pipeline.claim_work(runner=tess, now=stage.now) is not None, "the pause between two records does not count"
    with pytest.raises(StaleLease):
        renew(attempt_id=only().attempt_id, runner=stage.rex, token=job.token, now=stage.now)


def test_claim_of_a_held_confirmation_gets_it_again_or_loses_it_after_a_restart(stage: Stage) -> None:
    overtake(stage)
    first = claim(stage)
    second = pipeline.claim_work(runner=stage.rex, now=stage.later(1))
    assert second is not None
    assert (second.attempt_id, second.runs, second.deadline_s) == (first.attempt_id, first.runs, first.deadline_s)
    assert second.token > first.token
    greet(runner=stage.rex, fingerprint={}, epoch="", now=stage.later(1))
    pipeline.claim_work(runner=stage.rex, now=stage.later(1))
    assert (only().state, only().losses) == ("queued", 1)


def renewed(stage: Stage, job: Job) -> bool:
    """Renew the lease; return whether the runner is to end the work."""
    return pipeline.renew_work(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, now=stage.now).cancel


def test_a_confirmation_that_nobody_awaits_yields_to_a_submission(stage: Stage) -> None:
    overtake(stage)
    job = claim(stage)
    assert not renewed(stage, job)
    submission = stage.submit(stage.cleo, mode="test")
    assert not renewed(stage, job), "an idle runner would have taken it in a moment"
    stage.later(5)
    assert renewed(stage, job)
    assert (only().state, only().losses, only().runner) == ("queued", 0, None)
    taken = pipeline.claim_work(runner=stage.rex, now=stage.now)
    assert taken is not None
    assert taken.submission_id == str(submission.pk)
    with pytest.raises(StaleLease):
        renewed(stage, job)


@pytest.mark.parametrize(
    "why",
    ["a prize waits for it", "a prize waits since it runs", "it has waited for long", "another hardware is meant"],
)
def test_a_confirmation_that_counts_or_is_old_yields_to_nobody(stage: Stage, why: str) -> None:
    overtake(stage)
    if why == "a prize waits for it":
        Confirmation.objects.update(cause=AWARD)
    job = claim(stage)
    if why == "a prize waits since it runs":
        pair = {"candidate": only().candidate, "incumbent": only().incumbent}
        assert ask_confirmation(**pair, cause=AWARD, actor=stage.olga, now=stage.now) == only()
    stage.submit(stage.cleo, board=make_board("vectoradd", hardware="H200") if "hardware" in why else None)
    stage.later(5)
    if why == "it has waited for long":
        Confirmation.objects.update(created_at=stage.now - pipeline.LONG_PATIENCE)
    assert not renewed(stage, job)
    assert only().state == "running"
