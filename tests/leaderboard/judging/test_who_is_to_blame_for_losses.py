"""Losses implicate a host or a submission; the culprit is set aside, with an audit row, and can come back."""

import pytest
from django.core.management import CommandError, call_command

from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, Runner
from leaderboard.judging.runners import resume, suspend
from leaderboard.judging.sweep import expire_leases
from leaderboard.pipeline import claim_work
from tests.leaderboard.stage import Stage, current, make_runner


def lose(stage: Stage, runner: Runner | None = None) -> Attempt:
    """Let the runner claim the next attempt and die."""
    job = stage.claim(runner)
    assert expire_leases(now=stage.later(61)) == 1
    return Attempt.objects.get(pk=int(job.attempt_id))


def is_suspended(stage: Stage) -> bool:
    stage.rex.refresh_from_db()
    return stage.rex.suspended_at is not None


def test_a_submission_that_takes_down_two_runners_is_set_aside(stage: Stage) -> None:
    submission = stage.submit()
    lose(stage, make_runner("tex"))
    assert current(submission).state == "queued"
    lose(stage, make_runner("lex"))
    last = current(submission)
    assert (last.state, last.outcome, last.reason, last.number) == ("done", "infra_error", "set_aside", 2)
    assert "2 different runners" in Row.objects.get(act="give_up_attempt").reason
    assert not Runner.objects.filter(suspended_at__isnull=False).exists()


def test_a_runner_that_loses_two_submissions_is_suspended(stage: Stage) -> None:
    stage.submit(stage.ada)
    stage.submit(stage.ben)
    lose(stage)
    assert not is_suspended(stage)
    Attempt.objects.filter(state="queued", submission__owner=stage.ada).update(hardware="elsewhere")
    lose(stage)
    assert is_suspended(stage)
    assert claim_work(runner=stage.rex, now=stage.now) is None
    row = Row.objects.get(act="suspend_runner")
    assert (row.actor, row.object_id) == (None, str(stage.rex.pk))
    assert "lost 2 different submissions" in row.reason


def test_one_submission_does_not_suspend_its_runner(stage: Stage) -> None:
    stage.submit()
    for _ in range(3):
        lose(stage)
    assert not is_suspended(stage)


@pytest.mark.parametrize("between", ["finished", "an hour", "resumed"])
def test_what_lies_behind_is_not_counted(stage: Stage, between: str) -> None:
    first = stage.submit()
    lose(stage)
    if between == "finished":
        stage.judge(first)
    else:
        Attempt.objects.filter(state="queued").update(hardware="elsewhere")
    if between == "an hour":
        stage.later(3600)
    if between == "resumed":
        suspend(runner=stage.rex, actor=stage.olga, reason="to look at it", now=stage.now)
        resume(runner=stage.rex, actor=stage.olga, reason="a loose cable", now=stage.later(1))
    stage.submit(stage.ben)
    lose(stage)
    assert not is_suspended(stage)


def test_a_suspended_runner_may_finish_what_it_holds(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    suspend(runner=stage.rex, actor=stage.olga, reason="maintenance", now=stage.now)
    assert stage.report(job)
    assert current(submission).outcome == "passed"


def test_commands_suspend_and_resume_on_the_record(stage: Stage) -> None:
    call_command("suspend_runner", "rex", reason="maintenance")
    assert is_suspended(stage)
    with pytest.raises(CommandError, match="suspended already"):
        call_command("suspend_runner", "rex", reason="again")
    call_command("resume_runner", "rex", reason="done")
    assert not is_suspended(stage)
    with pytest.raises(UserError, match="is not suspended"):
        resume(runner=stage.rex, actor=stage.olga, reason="again", now=stage.now)
    assert set(Row.objects.values_list("act", flat=True)) == {"suspend_runner", "resume_runner"}
    with pytest.raises(CommandError, match="there are rex"):
        call_command("resume_runner", "max", reason="x")
