"""A confirmation counts no loss when its runner restarts or an answer is lost."""

import pytest

from leaderboard import pipeline
from leaderboard.errors import StaleLease
from leaderboard.judging.lease import release, renew
from leaderboard.judging.runners import greet
from tests.leaderboard.confirmations.test_record_is_confirmed import claim, only, overtake
from tests.leaderboard.stage import Stage, make_runner


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
