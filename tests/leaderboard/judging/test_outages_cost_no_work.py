"""A runner's work survives outages, restarts and lost answers, and no host is blamed for a fault of the site."""

import threading
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions.ask import ask_test
from leaderboard.admissions.models import AdmissionTest
from leaderboard.errors import StaleLease
from leaderboard.judging.claim import claim_next
from leaderboard.judging.lease import release, renew
from leaderboard.judging.management.commands import sweep as command
from leaderboard.judging.models import Attempt, AttemptEvent, Runner, Watch
from leaderboard.judging.report import announce
from leaderboard.judging.runners import greet
from leaderboard.judging.sweep import beat, may_expire
from leaderboard.standings.read.status import status_of
from runner.wire import Event, Job
from tests.leaderboard.stage import Stage, current, make_runner

BUILDING = Event(1, "state", "building")


@pytest.fixture
def sweep(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a single round of the sweep command at the stage's time: (lost, rung)."""
    monkeypatch.setattr(command, "clock", lambda: stage.now)
    return command.sweep_once


def told(stage: Stage, job: Job, runner: Runner) -> int:
    return announce(attempt_id=job.attempt_id, runner=runner, token=job.token, announced=[BUILDING], now=stage.now)


def let_go(stage: Stage, job: Job, runner: Runner) -> None:
    release(attempt_id=job.attempt_id, runner=runner, token=job.token, now=stage.now)


def hello(stage: Stage, runner: Runner) -> None:
    greet(runner=runner, fingerprint={}, epoch="", now=stage.later(1))


# A pause of the site or of the sweeper ----------------------------------------------------------------------------


def test_sweep_after_a_pause_of_the_sweeper_takes_nothing_from_two_runners(stage: Stage, sweep: Any) -> None:
    tex = make_runner("tex")
    stage.submit(stage.ada)
    stage.submit(stage.ben)
    jobs = {stage.rex: stage.claim(stage.rex), tex: stage.claim(tex)}
    sweep()
    deadlines = {attempt.pk: attempt.hard_deadline_at for attempt in Attempt.objects.all()}
    stage.later(300)
    assert sweep()[0] == 0
    for runner, job in jobs.items():
        assert renew(attempt_id=job.attempt_id, runner=runner, token=job.token, now=stage.now).expires_in_s == 60
        held = Attempt.objects.get(pk=int(job.attempt_id))
        assert held.hard_deadline_at == deadlines[held.pk] + timedelta(seconds=300)
    assert not Runner.objects.filter(suspended_at__isnull=False).exists()


def test_sweep_after_a_pause_still_loses_a_runner_that_does_not_come_back(stage: Stage, sweep: Any) -> None:
    submission = stage.submit()
    stage.claim()
    sweep()
    stage.later(300)
    assert sweep()[0] == 0
    lost = []
    for _ in range(5):
        stage.later(15)
        lost.append(sweep()[0])
    assert lost == [0, 0, 0, 1, 0]
    assert current(submission).losses == 1


def test_sweep_waits_while_no_web_process_sends_a_heartbeat(stage: Stage, sweep: Any) -> None:
    stage.submit()
    job = stage.claim()
    beat(now=stage.now)
    sweep()
    for _ in range(20):
        stage.later(15)
        assert sweep() == (0, 0), "the site is away, and its sweeper is not"
    beat(now=stage.now)
    assert sweep()[0] == 0
    assert renew(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, now=stage.now).expires_in_s == 60


def test_sweep_prolongs_admission_tests_as_well(stage: Stage, sweep: Any) -> None:
    ask_test(version=stage.board.version, hardware="cpu", actor=None, now=stage.now)
    assert pipeline.claim_work(runner=stage.rex, now=stage.now) is not None
    sweep()
    stage.later(300)
    assert sweep()[0] == 0
    assert AdmissionTest.objects.get().lease_expires_at == stage.now + timedelta(seconds=60)


def test_suspension_forgives_losses_right_after_a_pause(stage: Stage, sweep: Any) -> None:
    """Both leases expire despite the extension, because the runner reconnects late."""
    stage.submit(stage.ada)
    stage.submit(stage.ben)
    stage.claim(stage.rex)
    sweep()
    stage.later(300)
    sweep()
    for _ in range(4):
        stage.later(15)
        sweep()
    Attempt.objects.filter(state="queued", losses=1).update(hardware="elsewhere")
    stage.claim(stage.rex)
    for _ in range(5):
        stage.later(15)
        sweep()
    assert Attempt.objects.filter(state="lost", runner=stage.rex).count() == 2
    stage.rex.refresh_from_db()
    assert stage.rex.suspended_at is None


def test_sweepers_share_one_watch(live_stage: Stage) -> None:
    now = timezone.now()

    def look() -> None:
        try:
            may_expire(now=now)
        finally:
            connection.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert Watch.objects.get().swept_at == now
    call_command("sweep")


# A runner that is restarted ---------------------------------------------------------------------------------------


def test_release_queues_the_attempt_in_its_old_place_and_counts_no_loss(stage: Stage) -> None:
    first = stage.submit(stage.ada)
    stage.submit(stage.ada)
    job = stage.claim()
    assert job.submission_id == str(first.pk)
    told(stage, job, stage.rex)
    let_go(stage, job, stage.rex)
    held = current(first)
    assert (held.state, held.number, held.losses, held.runner, held.token) == ("queued", 1, 0, None, 0)
    assert "queued again, in its old place" in first.events.last().message
    assert status_of(first, now=stage.now).status == "queued"
    again = stage.claim(make_runner("tex"))
    assert again.submission_id == str(first.pk)
    assert again.token > job.token
    with pytest.raises(StaleLease):
        let_go(stage, job, stage.rex)
    with pytest.raises(StaleLease):
        stage.report(job, runner=stage.rex)


def test_release_lets_the_next_runner_tell_its_own_progress(stage: Stage) -> None:
    submission, tex = stage.submit(), make_runner("tex")
    job = stage.claim()
    assert told(stage, job, stage.rex) == 1
    let_go(stage, job, stage.rex)
    again = stage.claim(tex)
    assert told(stage, again, tex) == 1, "its events are numbered from 1 as well"
    assert told(stage, again, tex) == 0
    states = [event.state for event in AttemptEvent.objects.filter(submission=submission)]
    assert states == ["queued", "claimed", "building", "queued", "claimed", "building"]


def test_release_by_two_hosts_in_turn_does_not_set_the_submission_aside(stage: Stage) -> None:
    submission = stage.submit()
    for name in ("tex", "lex", "max"):
        host = make_runner(name)
        let_go(stage, stage.claim(host), host)
        hello(stage, host)
    assert current(submission).state == "queued"
    stage.judge(submission)
    assert not Runner.objects.filter(suspended_at__isnull=False).exists()


def test_release_of_an_admission_test_counts_no_loss(stage: Stage) -> None:
    ask_test(version=stage.board.version, hardware="cpu", actor=None, now=stage.now)
    job = pipeline.claim_work(runner=stage.rex, now=stage.now)
    assert job is not None
    test = AdmissionTest.objects.get()
    release(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=stage.now)
    test.refresh_from_db()
    assert (test.state, test.losses, test.runner) == ("queued", 0, None)
    with pytest.raises(StaleLease):
        release(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=stage.now)


# One runner, one piece of work ------------------------------------------------------------------------------------


def work(stage: Stage, now: datetime | None = None) -> Job:
    job = pipeline.claim_work(runner=stage.rex, now=now or stage.now)
    assert job is not None
    return job


def test_claim_whose_answer_was_lost_gets_the_same_attempt_under_a_new_token(stage: Stage) -> None:
    for owner in (stage.ada, stage.ben, stage.cleo):
        stage.submit(owner)
    hello(stage, stage.rex)
    stage.later(1)
    first, second = work(stage), work(stage)
    assert first.attempt_id == second.attempt_id
    assert second.token > first.token
    with pytest.raises(StaleLease):
        stage.report(first)
    assert Attempt.objects.filter(runner=stage.rex).count() == 1
    assert Attempt.objects.get(pk=int(second.attempt_id)).losses == 0
    assert stage.report(second)


def test_claim_of_a_restarted_runner_loses_what_its_dead_process_held(stage: Stage) -> None:
    """The work is lost at once, not after a lease. The loss counts, to stop a submission that kills its runner."""
    submission = stage.submit()
    old = work(stage)
    told(stage, old, stage.rex)
    hello(stage, stage.rex)
    stage.later(1)
    fresh = work(stage)
    assert fresh.submission_id == old.submission_id
    assert (current(submission).losses, current(submission).number) == (1, 2)
    with pytest.raises(StaleLease):
        stage.report(old)
    for _ in range(2):
        hello(stage, stage.rex)
        stage.later(1)
        pipeline.claim_work(runner=stage.rex, now=stage.now)
    last = current(submission)
    assert (last.state, last.outcome, last.reason) == ("done", "infra_error", "runner_lost")


def test_claim_of_a_runner_that_holds_an_admission_test_gets_that_again(stage: Stage) -> None:
    ask_test(version=stage.board.version, hardware="cpu", actor=None, now=stage.now)
    first = work(stage)
    stage.submit()
    second = work(stage)
    assert first.attempt_id == second.attempt_id == AdmissionTest.objects.get().attempt_id
    assert second.token > first.token
    hello(stage, stage.rex)
    stage.later(1)
    assert work(stage).attempt_id == str(Attempt.objects.get().pk)
    assert AdmissionTest.objects.get().losses == 1


def test_claim_by_one_runner_at_once_gets_one_attempt(live_stage: Stage) -> None:
    for owner in (live_stage.ada, live_stage.ben, live_stage.cleo):
        live_stage.submit(owner)
    live_stage.now = timezone.now()
    jobs: list[Job | None] = []

    def take() -> None:
        try:
            jobs.append(pipeline.claim_work(runner=live_stage.rex, now=live_stage.now))
        finally:
            connection.close()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len({job.attempt_id for job in jobs if job}) == 1
    assert len({job.token for job in jobs if job}) == 4


def test_claim_constraint_keeps_a_second_attempt_from_a_runner(stage: Stage) -> None:
    stage.submit(stage.ada)
    stage.submit(stage.ben)
    stage.claim(stage.rex)
    with pytest.raises(IntegrityError, match="one_running_attempt_a_runner"), transaction.atomic():
        claim_next(runner=stage.rex, now=stage.now)


# The heartbeat of a web process -----------------------------------------------------------------------------------


def test_heartbeat_of_a_web_process_lasts_from_startup_to_shutdown(live_stage: Stage) -> None:
    import asyncio

    from leaderboard.web.service import WithHeartbeat

    async def never(*_: Any) -> None:
        raise AssertionError("the lifespan is none of the application's business")

    async def serve() -> list[str]:
        sent: list[str] = []
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def send(event: Any) -> None:
            sent.append(event["type"])

        await inbox.put({"type": "lifespan.startup"})
        running = asyncio.create_task(WithHeartbeat(never, every_s=0.05)({"type": "lifespan"}, inbox.get, send))
        await asyncio.sleep(1.0)
        await inbox.put({"type": "lifespan.shutdown"})
        await running
        return sent

    before = timezone.now()
    assert asyncio.run(serve()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    time.sleep(0.3)
    last = Watch.objects.get().site_at
    assert last is not None
    assert last > before + timedelta(seconds=0.3)
    time.sleep(0.3)
    assert Watch.objects.get().site_at == last
