"""Lease renewal, expiry and replacement: a dead runner costs only time."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from leaderboard.audit.models import Row
from leaderboard.errors import StaleLease, UserError
from leaderboard.judging import sweep
from leaderboard.judging.attempts import cancel
from leaderboard.judging.lease import Renewal, renew
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.report import announce
from leaderboard.judging.sweep import expire_leases, has_expired
from leaderboard.operations.models import Notice
from leaderboard.standings.read.status import status_of
from runner.wire import Event, Job
from tests.leaderboard.stage import Stage, current, make_runner


def renewed(stage: Stage, job: Job, token: int | None = None) -> Renewal:
    token = job.token if token is None else token
    return renew(attempt_id=job.attempt_id, runner=stage.rex, token=token, now=stage.now)


def test_a_renewed_lease_lives_on(stage: Stage) -> None:
    stage.submit()
    job = stage.claim()
    for _ in range(5):
        stage.later(45)
        assert renewed(stage, job) == Renewal(expires_in_s=settings.LEASE_S, cancel=False)
        assert expire_leases(now=stage.now) == 0


def test_renew_of_an_expired_lease_succeeds_until_a_sweep_takes_it(stage: Stage) -> None:
    stage.submit()
    job = stage.claim()
    stage.later(settings.LEASE_S + 1)
    assert announce(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, announced=[], now=stage.now) == 0
    assert renewed(stage, job) == Renewal(expires_in_s=settings.LEASE_S, cancel=False)
    assert expire_leases(now=stage.now) == 0


def test_no_renewal_passes_the_hard_deadline(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    end = current(submission).hard_deadline_at
    assert end is not None
    while stage.now + timedelta(seconds=50) < end:
        stage.later(50)
        left = renewed(stage, job).expires_in_s
        assert stage.now + timedelta(seconds=left) <= end
    assert left < settings.LEASE_S
    assert expire_leases(now=end) == 1
    with pytest.raises(StaleLease):
        renewed(stage, job)


@pytest.mark.parametrize("wrong", ["token", "runner", "swept", "deadline"])
def test_a_stale_word_is_refused(stage: Stage, wrong: str) -> None:
    stage.submit()
    job = stage.claim()
    runner = make_runner("tex") if wrong == "runner" else stage.rex
    token = job.token + 1 if wrong == "token" else job.token
    if wrong == "swept":
        assert expire_leases(now=stage.later(settings.LEASE_S)) == 1
    if wrong == "deadline":
        stage.now = Attempt.objects.get().hard_deadline_at
    with pytest.raises(StaleLease):
        renew(attempt_id=job.attempt_id, runner=runner, token=token, now=stage.now)
    with pytest.raises(StaleLease):
        announce(attempt_id=job.attempt_id, runner=runner, token=token, announced=[], now=stage.now)


def test_a_lost_attempt_is_replaced_once(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    assert expire_leases(now=stage.later(settings.LEASE_S)) == 1
    assert expire_leases(now=stage.now) == 0
    lost, fresh = submission.attempts.order_by("number")
    assert (lost.state, lost.is_current, lost.outcome) == ("lost", False, "")
    assert (fresh.state, fresh.is_current, fresh.losses, fresh.number) == ("queued", True, 1, 2)
    assert [event.state for event in submission.events.all()] == ["queued", "claimed", "lost", "queued"]
    assert status_of(submission, now=stage.now).status == "queued"
    with pytest.raises(StaleLease):
        stage.report(job)


def test_sweepers_at_once_replace_a_lost_attempt_once(live_stage: Stage) -> None:
    submission = live_stage.submit()
    live_stage.claim()
    now, counts = live_stage.later(settings.LEASE_S), []

    def sweep() -> None:
        try:
            counts.append(expire_leases(now=now))
        finally:
            connection.close()

    threads = [threading.Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(counts) == [0, 0, 0, 1]
    assert submission.attempts.count() == 2


def test_an_expiry_that_fails_holds_up_no_other_and_is_noticed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, lost = stage.submit(), stage.submit()
    stage.claim(), stage.claim()
    usual = sweep.end

    def end(attempt: Attempt, **told: Any) -> None:
        if attempt.submission == stuck:
            raise RuntimeError("a fault of ours")
        usual(attempt, **told)

    monkeypatch.setattr(sweep, "end", end)
    assert expire_leases(now=stage.later(61)) == 1
    assert (current(stuck).state, current(lost).losses) == ("claimed", 1)
    assert f"attempt {current(stuck).pk}" in Notice.objects.get(event="lease_not_expired").text
    assert has_expired(now=stage.now), "so the alert SweeperStopped comes"
    monkeypatch.setattr(sweep, "end", usual)
    assert expire_leases(now=stage.now) == 1
    assert not has_expired(now=stage.now)


def test_the_replacement_is_judged_and_one_result_ranks(stage: Stage) -> None:
    submission = stage.submit()
    stage.claim()
    expire_leases(now=stage.later(61))
    stage.judge(submission)
    assert Result.objects.count() == 1
    assert status_of(submission, now=stage.now).rank == 1


def test_the_third_loss_is_our_failure_and_never_wrong(stage: Stage) -> None:
    submission = stage.submit()
    for _ in range(3):
        stage.claim()
        assert expire_leases(now=stage.later(61)) == 1
    last = current(submission)
    assert (last.number, last.state, last.outcome, last.reason) == (3, "done", "infra_error", "runner_lost")
    assert Attempt.objects.unfinished().count() == 0
    row = Row.objects.get(act="give_up_attempt")
    assert (row.actor, row.object_id) == (None, str(last.pk))
    seen = status_of(submission, now=stage.now)
    assert (seen.status, seen.outcome) == ("done", "infra_error")
    assert "our failure" in seen.message


def test_a_report_before_the_sweep_counts_though_the_lease_ran_out(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    stage.later(settings.LEASE_S + 1)
    assert stage.report(job)
    assert expire_leases(now=stage.now) == 0
    assert current(submission).outcome == "passed"


def test_a_cancelled_attempt_tells_its_runner_to_stop(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    cancel(submission=submission, actor=stage.ada, reason="wrong file", now=stage.now)
    assert renewed(stage, job).cancel
    with pytest.raises(StaleLease):
        stage.report(job)
    assert status_of(submission, now=stage.now).status == "cancelled"
    with pytest.raises(UserError, match="already cancelled"):
        cancel(submission=submission, actor=stage.ada, reason="again", now=stage.now)


def test_a_stranger_cancels_nothing(stage: Stage) -> None:
    submission = stage.submit()
    with pytest.raises(UserError) as caught:
        cancel(submission=submission, actor=stage.cleo, reason="envy", now=stage.now)
    assert caught.value.status == 403
    assert current(submission).state == "queued"


def test_events_arrive_once_and_in_order(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    sent = [Event(1, "state", "building"), Event(2, "progress", message="compiling"), Event(3, "state", "checking")]

    def send(events: list[Event]) -> int:
        return announce(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, announced=events, now=stage.now)

    assert send(sent[:2]) == 2
    assert send(sent) == 1
    told = list(submission.events.filter(seq__isnull=False).values_list("seq", "kind", "state"))
    assert told == [(1, "state", "building"), (2, "progress", "building"), (3, "state", "checking")]
    assert current(submission).state == "checking"


def test_a_step_back_is_refused_and_leaves_nothing(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    back = [Event(1, "state", "timing"), Event(2, "state", "building")]
    with pytest.raises(UserError) as caught:
        announce(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, announced=back, now=stage.now)
    assert caught.value.field == "events.state"
    assert current(submission).state == "claimed"
    assert submission.events.filter(seq__isnull=False).count() == 0
