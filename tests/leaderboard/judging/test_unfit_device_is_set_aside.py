"""A runner with an unfit device gets no work until its next hello; operators see the reason."""

from leaderboard import broker
from leaderboard.audit.models import Row
from leaderboard.judging.runners import greet
from leaderboard.judging.sweep import ring_idle
from leaderboard.pipeline import claim_work
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import Stage

REASON = "hw_thermal_slowdown in two polls running"


def test_it_claims_nothing_and_is_not_rung_for_until_hello(live_stage: Stage) -> None:
    stage = live_stage
    submission = stage.submit()
    stage.judge(submission, set_aside=REASON)
    assert status_of(submission, now=stage.now).published, "what was measured before counts"
    stage.rex.refresh_from_db()
    assert (stage.rex.set_aside_at is not None, stage.rex.set_aside_reason) == (True, REASON)
    assert Row.objects.get(act="set_aside_runner").reason == REASON

    waiting = stage.submit()
    broker.get_broker().flush(broker.gpu_queue("cpu"))
    assert claim_work(runner=stage.rex, now=stage.now) is None
    assert ring_idle() == 0

    greet(runner=stage.rex, fingerprint={}, epoch="", now=stage.now)
    stage.rex.refresh_from_db()
    assert (stage.rex.set_aside_at, stage.rex.set_aside_reason) == (None, "")
    assert stage.claim().submission_id == str(waiting.pk)


def test_what_it_could_not_measure_waits_for_a_fit_one(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission, outcome="unmeasurable", reason="device_unfit", set_aside=REASON)
    assert claim_work(runner=stage.rex, now=stage.now) is None
    greet(runner=stage.rex, fingerprint={}, epoch="", now=stage.now)
    assert stage.claim().submission_id == str(submission.pk)
