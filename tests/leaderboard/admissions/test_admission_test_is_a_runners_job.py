"""Admission tests: request, claim under a lease, single report, and whether the board takes submissions meanwhile."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from leaderboard import pipeline
from leaderboard.admissions.ask import ask_for_imported, ask_for_untested, ask_test, override
from leaderboard.admissions.door import refusal
from leaderboard.admissions.models import FAILED, PASSED, AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.errors import StaleLease, UserError
from leaderboard.judging.lease import renew
from leaderboard.judging.models import AT_WORK, DONE, ERROR, QUEUED
from leaderboard.judging.runners import create_runner, greet
from leaderboard.judging.sweep import expire_leases
from problems.spec import Problem
from runner.admission import examine, outputs
from runner.wire import ADMISSION_CHECKS, STARTERS_S, Job, Report, dump
from tests.leaderboard.stage import Stage, make_board, make_runner

GOOD = {"name": "admission/zeros", "expected": "wrong", "got": "wrong in 3 of 3 cases", "good": True, "explained": ""}
BAD = GOOD | {"got": "passed 3 cases", "good": False, "explained": "A problem that accepts this is refused."}


def ask(stage: Stage, *, gate: bool = False) -> AdmissionTest:
    return ask_test(version=stage.board.version, hardware="cpu", actor=stage.olga, now=stage.later(1), gate=gate)


def claim(stage: Stage) -> Job:
    job = pipeline.claim_work(runner=stage.rex, now=stage.now)
    assert job is not None
    return job


def work_off(stage: Stage) -> str:
    """Let Rex claim and report the next piece of work, and return the task's name."""
    job = claim(stage)
    if job.task == "admission":
        assert pipeline.take_report(runner=stage.rex, report=report(job), now=stage.now)
    else:
        assert stage.report(job)
    return job.task


def report(job: Job, *, passed: bool = True, **told: Any) -> Report:
    found = {"passed": passed, "marks": [], "cases": 3, "margin": 12.5, "lines": [GOOD if passed else BAD]}
    outcome = told.pop("outcome", "passed" if passed else "wrong")
    return Report(attempt_id=job.attempt_id, token=job.token, outcome=outcome, **{"admission": found} | told)


def done(stage: Stage, *, gate: bool = False, **told: Any) -> AdmissionTest:
    test = ask(stage, gate=gate)
    job = claim(stage)
    assert pipeline.take_report(runner=stage.rex, report=report(job, **told), now=stage.later(1))
    test.refresh_from_db()
    return test


def why_closed(stage: Stage) -> str:
    return refusal(version_id=stage.board.version_id, hardware="cpu")


def test_the_job_says_what_to_do_and_names_no_attempt(stage: Stage) -> None:
    test = ask(stage)
    job = claim(stage)
    assert (job.task, job.mode, job.source) == ("admission", "test", "")
    assert (job.attempt_id, job.problem_digest) == (f"admission-{test.pk}", stage.board.version.digest)
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
    assert pipeline.claim_work(runner=make_runner("tess"), now=stage.now) is None, "nobody else gets it"


def test_asking_twice_is_one_test(stage: Stage) -> None:
    assert ask(stage) == ask(stage)
    assert Row.objects.filter(act="ask_admission_test").count() == 1


def test_an_organiser_waits_for_the_operators_test_after_asking_for_it(stage: Stage) -> None:
    ask_for_untested(actor=None, now=stage.now)
    unawaited = AdmissionTest.objects.get()
    stage.judge(stage.submit())
    assert pipeline.claim_work(runner=stage.rex, now=stage.now) is None
    assert ask(stage) == ask(stage) == unawaited
    assert [row.actor for row in Row.objects.filter(act="ask_admission_test").order_by("pk")] == [None, stage.olga]
    assert claim(stage).attempt_id == unawaited.attempt_id


def test_only_an_organiser_asks(stage: Stage) -> None:
    with pytest.raises(UserError):
        ask_test(version=stage.board.version, hardware="cpu", actor=stage.ada, now=stage.now)


@pytest.mark.parametrize("awaited", ["by the board", "by olga", "by nobody"])
def test_attempts_come_first_but_a_test_does_not_starve(stage: Stage, awaited: str) -> None:
    for user in (stage.ada, stage.ben, stage.cleo):
        stage.submit(user)
    test = ask(stage, gate=awaited == "by the board")
    if awaited != "by olga":
        AdmissionTest.objects.update(asked_by=None)
    patience = pipeline.LONG_PATIENCE if awaited == "by nobody" else pipeline.PATIENCE
    assert work_off(stage) == "judge"
    stage.later((test.created_at + patience - stage.now).total_seconds() - 1)
    assert work_off(stage) == "judge"
    stage.later(1)
    assert [work_off(stage) for _ in range(2)] == ["admission", "judge"]


def test_a_test_that_nobody_awaits_waits_until_nobody_is_at_work(stage: Stage) -> None:
    """A competitor who reads a verdict sends the next version soon, and would wait for the test."""
    ask_for_untested(actor=None, now=stage.now)
    stage.judge(stage.submit())
    assert pipeline.claim_work(runner=stage.rex, now=stage.now) is None
    stage.later(pipeline.CALM.total_seconds())
    assert claim(stage).task == "admission"


def test_an_awaited_test_waits_for_no_calm(stage: Stage) -> None:
    ask_for_untested(actor=None, now=stage.now)
    stage.judge(stage.submit())
    closed = make_board("closed").version
    test = ask_test(version=closed, hardware="cpu", actor=None, now=stage.now, gate=True)
    assert claim(stage).attempt_id == test.attempt_id


def test_what_is_sent_before_the_first_runner_says_hello_is_judged_before_tests(stage: Stage) -> None:
    """With `make up`, the samples are queued while the runner prepares itself."""
    ask(stage)
    submission = stage.submit()
    greet(runner=stage.rex, fingerprint={}, epoch="driver-1", now=stage.now)
    stage.rex.refresh_from_db()
    assert claim(stage).submission_id == str(submission.pk)


def test_tests_that_have_waited_take_turns_with_attempts(stage: Stage) -> None:
    """After an import of forty problems, a submission does not wait for all admission tests."""
    boards = [stage.board, *(make_board(f"other-{number}") for number in range(2))]
    for board in boards:
        ask_test(version=board.version, hardware="cpu", actor=stage.olga, now=stage.now)
    stage.later(pipeline.PATIENCE.total_seconds())
    for user in (stage.ada, stage.ben):
        stage.submit(user)
    assert [work_off(stage) for _ in range(5)] == ["admission", "judge", "admission", "judge", "admission"]


def test_each_runner_takes_turns_for_itself(stage: Stage) -> None:
    for board in (stage.board, make_board("another")):
        ask_test(version=board.version, hardware="cpu", actor=stage.olga, now=stage.now)
    stage.later(pipeline.PATIENCE.total_seconds())
    stage.submit()
    tess = make_runner("tess", "cpu")
    assert work_off(stage) == "admission"
    taken = pipeline.claim_work(runner=tess, now=stage.now)
    assert taken is not None
    assert taken.task == "admission", "it took none yet"
    assert claim(stage).task == "judge"


def test_a_report_is_kept_once(stage: Stage) -> None:
    test = ask(stage)
    job = claim(stage)
    assert pipeline.take_report(runner=stage.rex, report=report(job), now=stage.now)
    assert not pipeline.take_report(runner=stage.rex, report=report(job, passed=False), now=stage.now)
    test.refresh_from_db()
    assert (test.state, test.outcome, test.told["margin"]) == (DONE, PASSED, 12.5)


def test_a_lost_test_goes_back_and_a_late_report_is_refused(stage: Stage) -> None:
    test = ask(stage)
    job = claim(stage)
    renew(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=stage.later(30))
    renew(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=stage.later(61))  # no sweep ran yet
    assert expire_leases(now=stage.later(61)) == 1
    with pytest.raises(StaleLease):
        renew(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=stage.now)
    test.refresh_from_db()
    assert (test.state, test.losses) == (QUEUED, 1)
    again = claim(stage)
    assert again.token > job.token
    with pytest.raises(StaleLease):
        pipeline.take_report(runner=stage.rex, report=report(job), now=stage.now)


def test_a_renewal_never_passes_the_hard_deadline(stage: Stage) -> None:
    test = ask(stage)
    job = claim(stage)
    test.refresh_from_db()
    assert test.hard_deadline_at is not None
    while (now := stage.later(30)) < test.hard_deadline_at:
        renew(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=now)
    with pytest.raises(StaleLease):
        renew(attempt_id=test.attempt_id, runner=stage.rex, token=job.token, now=test.hard_deadline_at)


def lost_three_times(stage: Stage, *, gate: bool = False) -> AdmissionTest:
    test = ask(stage, gate=gate)
    for _ in range(3):
        job = claim(stage)
        assert pipeline.take_report(
            runner=stage.rex, report=report(job, outcome="infra_error", reason="sandbox"), now=stage.now
        )
    test.refresh_from_db()
    return test


def test_three_losses_are_nobodys_verdict(stage: Stage) -> None:
    assert (lost_three_times(stage).outcome, why_closed(stage)) == (ERROR, "")


def test_an_older_runner_that_says_nothing_is_no_verdict(stage: Stage) -> None:
    test = ask(stage)
    job = claim(stage)
    assert pipeline.take_report(
        runner=stage.rex, report=report(job, outcome="build_error", admission={}), now=stage.now
    )
    test.refresh_from_db()
    assert test.state == QUEUED


def test_problem_code_that_fails_fails_the_test(stage: Stage) -> None:
    test = done(stage, outcome="infra_error", reason="problem", evidence={"operator": "no module named x"})
    assert (test.outcome, "no module named x" in test.message) == (FAILED, True)


def test_a_test_that_outlasts_the_problems_timeouts_fails(stage: Stage) -> None:
    """Not at the first try: a machine may hang."""
    late = {"outcome": "infra_error", "reason": "out_of_time", "admission": {}}
    test = done(stage, **late)
    for losses in (1, 2):
        assert (test.state, test.losses, why_closed(stage)) == ("queued", losses, "")
        assert pipeline.take_report(runner=stage.rex, report=report(claim(stage), **late), now=stage.later(1))
        test.refresh_from_db()
    assert (test.outcome, "choose smaller sizes" in test.message) == (FAILED, True)


def test_the_site_waits_longer_than_the_judges_own_limits(stage: Stage) -> None:
    ask(stage)
    problem = Problem.from_bundle(stage.board.version.bundle)
    assert len(examine.variants(problem)) + 1 + outputs.MOST <= ADMISSION_CHECKS
    starters_s = STARTERS_S + problem.test_timeout_s
    assert claim(stage).deadline_s >= ADMISSION_CHECKS * problem.test_timeout_s + starters_s + 300


def test_a_version_that_fails_takes_no_submissions_until_overridden(stage: Stage) -> None:
    test = done(stage, passed=False)
    with pytest.raises(UserError, match="admission test") as refused:
        stage.submit()
    assert refused.value.status == 409
    for actor, reason in ((stage.ada, "let me"), (stage.olga, " ")):
        with pytest.raises(UserError):
            override(test=test, actor=actor, reason=reason, now=stage.now)
    override(test=test, actor=stage.olga, reason="zeros are right here", now=stage.now)
    assert stage.submit().pk
    row = Row.objects.get(act="override_admission_test")
    assert (row.actor_id, row.reason) == (stage.olga.pk, "zeros are right here")
    with pytest.raises(UserError):
        override(test=test, actor=stage.olga, reason="again", now=stage.now)


def test_an_override_of_the_newest_finished_test_opens_the_version(stage: Stage) -> None:
    """Also if another test closed it: the test of the import, or an earlier test that failed."""
    told = {"actor": stage.olga, "reason": "checked by hand"}
    imported = lost_three_times(stage, gate=True)
    repeated = lost_three_times(stage)
    assert "could not be tested" in why_closed(stage)
    with pytest.raises(UserError, match="only the newest finished test"):
        override(test=imported, now=stage.now, **told)
    override(test=repeated, now=stage.now, **told)
    assert why_closed(stage) == ""
    failed = done(stage, passed=False)
    assert "failed its admission test" in why_closed(stage), "a later verdict counts"
    newest = lost_three_times(stage)
    with pytest.raises(UserError, match="only the newest finished test"):
        override(test=failed, now=stage.now, **told)
    override(test=newest, now=stage.now, **told)
    assert why_closed(stage) == ""
    lost_three_times(stage)
    assert why_closed(stage) == "", "no later verdict"


def test_a_board_of_another_competition_keeps_no_owner_from_an_override(stage: Stage) -> None:
    test = done(stage, passed=False)
    other = Competition.objects.create(slug="other", name="Other")
    for competition, user in ((stage.board.competition, stage.ada), (other, stage.ben)):
        Role.objects.create(competition=competition, user=user, role=Role.OWNER)
    pipeline.add_board(
        competition=other, actor=stage.ben, version=stage.board.version, hardware="cpu", now=stage.later(1)
    )
    with pytest.raises(UserError, match="the problem's first competition"):
        override(test=test, actor=stage.ben, reason="mine is right", now=stage.now)
    override(test=test, actor=stage.ada, reason="zeros are right here", now=stage.now)


def test_what_was_imported_waits_for_its_test(stage: Stage) -> None:
    assert why_closed(stage) == "", "never asked for"
    ask(stage, gate=True)
    assert "first" in why_closed(stage)
    done(stage)
    assert why_closed(stage) == ""


def test_asking_again_closes_nothing(stage: Stage) -> None:
    done(stage)
    ask(stage)
    assert why_closed(stage) == ""


def test_a_runner_does_it_over_http(stage: Stage) -> None:
    test = ask(stage)
    _, token = create_runner(name="rex-2", hardware="cpu", now=stage.now)
    client = Client(headers={"authorization": f"Bearer {token}"})

    def post(path: str, sent: object) -> Any:
        body = sent if isinstance(sent, str) else json.dumps(sent)
        return client.post(f"/api/runner/v1/{path}", data=body, content_type="application/json")

    AdmissionTest.objects.update(created_at=stage.now - timedelta(days=9))
    job = Job.from_json(post("claim", {"hardware": "cpu"}).json())
    at = f"attempts/{job.attempt_id}"
    assert post(f"{at}/renew", {"token": job.token}).json()["cancel"] is False
    assert post(f"{at}/renew", {"token": job.token + 1}).status_code == 409
    assert post(f"{at}/events", {"token": job.token, "events": []}).status_code == 200
    assert post(f"{at}/report", dump(report(job)).replace("admission-", "admission-9")).status_code == 400
    assert post(f"{at}/report", dump(report(job))).json() == {"recorded": True}
    assert post(f"{at}/report", dump(report(job))).json() == {"recorded": False}
    test.refresh_from_db()
    assert test.outcome == PASSED


def test_a_shape_that_pages_cannot_read_is_refused_by_name(stage: Stage) -> None:
    test = ask(stage)
    job = claim(stage)
    for lines in (None, ["x"], [GOOD | {"good": "yes"}]):
        wrong = report(job, admission={"passed": True, "lines": lines})
        with pytest.raises(UserError, match=r"report\.admission\.lines"):
            pipeline.take_report(runner=stage.rex, report=wrong, now=stage.now)
    test.refresh_from_db()
    assert test.state == AT_WORK


def test_another_hardware_does_not_get_it(stage: Stage) -> None:
    ask(stage)
    assert pipeline.claim_work(runner=make_runner("tess", "H200"), now=stage.now) is None


def test_what_an_import_brings_is_closed_and_nothing_else(stage: Stage) -> None:
    old = make_board("vectoradd")
    now = stage.later(1)
    Board.objects.filter(pk=stage.board.pk).update(created_at=now)
    assert ask_for_imported(actor=stage.olga, now=now) == 1
    assert ask_for_imported(actor=stage.olga, now=now) == 0, "once a version"
    assert "first" in why_closed(stage)
    assert refusal(version_id=old.version_id, hardware="cpu") == ""


def test_boards_that_were_never_tested_are_tested_and_stay_open(stage: Stage) -> None:
    make_board("vectoradd")
    assert ask_for_untested(actor=None, now=stage.now) == 2
    assert ask_for_untested(actor=None, now=stage.now) == 0
    assert why_closed(stage) == ""
