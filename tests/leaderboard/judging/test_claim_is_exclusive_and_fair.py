"""Order and exclusivity of claims: a fair queue, and a single runner per attempt."""

import threading
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction

from leaderboard.accounts.models import User
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.device_time import FAIR_WINDOW, by_account
from leaderboard.judging.models import Runner
from leaderboard.judging.sweep import expire_leases
from leaderboard.pipeline import claim_work
from leaderboard.rejudging.apply import apply_rejudging
from runner.wire import Job
from tests.leaderboard.rejudging_stage import judge_shadow, set_of
from tests.leaderboard.stage import Stage, current, make_board, make_runner


def claimed_owners(stage: Stage, count: int) -> list[str]:
    """Claim and finish `count` attempts in a row, as a single runner does, and return their owners."""
    owners = []
    for _ in range(count):
        job = stage.claim()
        owners.append(stage.board.submissions.get(pk=int(job.submission_id)).owner.username)
        stage.report(job)
    return owners


def test_a_job_carries_what_the_judge_needs(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    assert Job.from_json(job.to_json()) == job
    assert job.attempt_id == str(current(submission).pk)
    assert job.source == submission.source
    assert job.problem == stage.board.version.bundle
    assert job.problem_digest == stage.board.version.digest


def test_a_claim_sets_owner_lease_token_and_hard_deadline(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    attempt = current(submission)
    assert (attempt.state, attempt.runner, attempt.token) == ("claimed", stage.rex, job.token)
    assert attempt.lease_expires_at == stage.now + timedelta(seconds=settings.LEASE_S)
    stages = 180 + 180  # the problem's own timeouts: test, then ranked
    assert attempt.hard_deadline_at == stage.now + timedelta(seconds=stages + settings.ATTEMPT_OVERHEAD_S)
    assert [event.state for event in attempt.events.all()] == ["queued", "claimed"]


def test_tokens_grow(stage: Stage) -> None:
    stage.submit()
    stage.submit()
    assert stage.claim().token < stage.claim().token


def test_nothing_to_do_is_none(stage: Stage) -> None:
    assert claim_work(runner=stage.rex, now=stage.now) is None


def test_a_runner_gets_its_own_hardware_only(stage: Stage) -> None:
    stage.submit(board=make_board("vectoradd", hardware="H200"))
    assert claim_work(runner=stage.rex, now=stage.now) is None
    assert claim_work(runner=make_runner("tex", "H200"), now=stage.now) is not None


def test_submissions_that_are_being_built_come_after_others_of_their_account_alone(stage: Stage) -> None:
    built, second, too = stage.submit(), stage.submit(), stage.submit()
    building = [str(built.pk), str(too.pk)]
    job = claim_work(runner=stage.rex, now=stage.now, building=building)
    assert job is not None
    assert job.submission_id == str(second.pk)
    stage.report(job)
    stage.submit(owner=stage.ben)
    names = []
    for _ in range(2):
        job = claim_work(runner=stage.rex, now=stage.now, building=building)
        assert job is not None
        names.append(stage.board.submissions.get(pk=int(job.submission_id)).owner.username)
        stage.report(job)
    assert sorted(names) == ["ada", "ben"], "alone, it is claimed"


def test_a_suspended_runner_gets_nothing(stage: Stage) -> None:
    stage.submit()
    Runner.objects.filter(pk=stage.rex.pk).update(suspended_at=stage.now)
    assert claim_work(runner=stage.rex, now=stage.now) is None


def test_threads_that_claim_at_once_get_different_attempts(live_stage: Stage) -> None:
    for _ in range(3):
        live_stage.submit()
    runners = [make_runner(f"rex-{number}") for number in range(6)]
    start, got = threading.Barrier(len(runners)), []

    def claim(runner: Runner) -> None:
        start.wait(20)
        try:
            got.append(claim_work(runner=runner, now=live_stage.now))
        finally:
            connection.close()

    threads = [threading.Thread(target=claim, args=(runner,)) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    jobs = [job for job in got if job is not None]
    assert len(got) == 6
    assert len(jobs) == len({job.attempt_id for job in jobs}) == 3


def test_two_threads_and_one_attempt(live_stage: Stage) -> None:
    for _ in range(5):
        live_stage.submit()
        runners = [make_runner(f"{name}-{live_stage.sent}") for name in ("max", "tex")]
        start, got = threading.Barrier(2), []

        def claim(runner: Runner, start: threading.Barrier = start, got: list[Job | None] = got) -> None:
            start.wait(20)
            try:
                got.append(claim_work(runner=runner, now=live_stage.now))
            finally:
                connection.close()

        threads = [threading.Thread(target=claim, args=(runner,)) for runner in runners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(job is None for job in got) == [False, True]


def test_a_claim_does_not_wait_for_another(live_stage: Stage) -> None:
    first, second = live_stage.submit(), live_stage.submit()
    got: list[Job | None] = []

    def claim() -> None:
        try:
            got.append(claim_work(runner=other, now=live_stage.now))
        finally:
            connection.close()

    other, thread = make_runner("tex"), threading.Thread(target=claim)
    with transaction.atomic():
        assert live_stage.claim().submission_id == str(first.pk)
        thread.start()
        thread.join(20)
        assert [job and job.submission_id for job in got] == [str(second.pk)]


def test_owners_take_turns_even_with_a_single_runner(stage: Stage) -> None:
    for _ in range(3):
        stage.submit(stage.ada)
    stage.submit(stage.ben)
    stage.submit(stage.cleo)
    assert claimed_owners(stage, 5) == ["ada", "ben", "cleo", "ada", "ada"]


def test_owners_take_turns_by_device_seconds_not_by_attempts(stage: Stage) -> None:
    for _ in range(2):
        stage.submit(stage.ada)
    for _ in range(4):
        stage.submit(stage.ben)
    job = stage.claim()  # ada's attempt takes five minutes
    stage.later(300)
    stage.report(job)
    assert claimed_owners(stage, 5) == ["ben", "ben", "ben", "ben", "ada"]


def test_owners_are_charged_for_what_runs_and_only_within_the_window(stage: Stage) -> None:
    ada, ben = stage.submit(stage.ada), stage.submit(stage.ben)
    job = stage.claim()
    stage.later(30)
    assert by_account(hardware="cpu", now=stage.now) == {stage.ada.pk: 30}
    stage.later(FAIR_WINDOW.total_seconds())
    stage.report(job)
    stage.judge(ben)
    assert by_account(hardware="cpu", now=stage.now) == {
        stage.ada.pk: FAIR_WINDOW.total_seconds() - 1,  # it ended a second ago
        stage.ben.pk: 1,
    }
    assert by_account(hardware="H200", now=stage.now) == {}
    assert current(ada).owner_id == stage.ada.pk


def test_owner_with_two_claims_at_one_moment_is_behind_one_with_none(stage: Stage) -> None:
    stage.submit(stage.ada)
    stage.submit(stage.ada)
    ben = stage.submit(stage.ben)
    stage.claim()
    assert stage.claim().submission_id == str(ben.pk)


def test_linked_logins_take_turns_as_one_owner(stage: Stage) -> None:
    stage.submit(stage.ada)
    for _ in range(2):
        stage.submit(stage.ben)
    stage.submit(stage.cleo)
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.ada)
    assert claimed_owners(stage, 4) == ["ada", "cleo", "ben", "ben"]


def test_owner_pays_no_device_time_for_a_set_even_after_it_was_applied(stage: Stage) -> None:
    stage.judge(judged := stage.submit(stage.ada))
    stage.later(3600)
    chosen = set_of(stage, judged)
    judge_shadow(stage, judged)
    apply_rejudging(chosen=chosen, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    assert current(judged).rejudge_set == chosen
    assert by_account(hardware="cpu", now=stage.now) == {}


def test_of_one_owner_ranked_comes_before_practice_then_the_older(stage: Stage) -> None:
    practice, first, second = stage.submit(mode="test"), stage.submit(), stage.submit()
    order = [stage.claim().submission_id for _ in range(3)]
    assert order == [str(one.pk) for one in (first, second, practice)]


def test_what_is_judged_again_comes_last(stage: Stage) -> None:
    old = stage.submit(stage.ben)
    stage.judge(old)
    stage.later(3600)
    rejudge(submission=old, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    for _ in range(2):
        stage.submit(stage.ada)
    assert claimed_owners(stage, 3) == ["ada", "ada", "ben"]


def test_a_replaced_attempt_keeps_its_place(stage: Stage) -> None:
    first = stage.submit(stage.ada)
    stage.submit(stage.ben)
    stage.claim()
    assert expire_leases(now=stage.later(61)) == 1
    assert stage.claim().submission_id == str(first.pk)
