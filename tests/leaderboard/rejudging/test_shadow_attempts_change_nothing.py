"""Shadow attempts are judged like any other attempt, last in the queue, and invisible on every page."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from leaderboard.accounts.models import User
from leaderboard.errors import StaleLease
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import Attempt, AttemptEvent, Epoch, RejudgeItem, Result
from leaderboard.judging.report import announce
from leaderboard.judging.sweep import expire_leases
from leaderboard.judging.usage import usage_of
from leaderboard.judging.verdicts import MOST
from leaderboard.pipeline import claim_work
from leaderboard.rejudging.sets import discard_set, stop_set
from leaderboard.standings.read.status import status_of
from leaderboard.submissions.models import Submission
from leaderboard.web.api import serializers
from leaderboard.web.submissions import view
from runner.wire import Event
from tests.leaderboard.rejudging_stage import everything, heard, judge_shadow, set_of
from tests.leaderboard.stage import Stage, current


@pytest.fixture
def judged(stage: Stage) -> Submission:
    submission = stage.submit()
    stage.judge(submission)
    return submission


def submission_json(pk: int, user: User) -> dict[str, Any]:
    return dict(serializers.Submission(view.Opened(view.visible_to(user).get(pk=pk), user)).data)


def test_its_owner_sees_nothing_of_it(stage: Stage, judged: Submission) -> None:
    status, told = status_of(judged, now=stage.now), (heard(judged), submission_json(judged.pk, stage.ada))
    usage, rows = usage_of(stage.ada, now=stage.now), everything()
    set_of(stage, judged)
    job = stage.claim()
    announced = [Event(seq=1, kind="state", state="building", message="")]
    announce(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, announced=announced * 2, now=stage.now)
    stage.report(job, outcome="wrong", reason="mismatch", epoch="another")
    assert Result.objects.get(attempt_id=job.attempt_id).outcome == "wrong"
    assert status_of(judged, now=stage.now) == status
    assert (heard(judged), submission_json(judged.pk, stage.ada)) == told
    assert (usage_of(stage.ada, now=stage.now), everything()) == (usage, rows)
    assert AttemptEvent.every.filter(in_shadow=True).count() == 4, "queued, claimed, building, done: kept all the same"


def test_the_stream_is_not_even_woken(stage: Stage, judged: Submission) -> None:
    with connection.execute_wrapper(_no_notify):
        set_of(stage, judged)
        judge_shadow(stage, judged)


def test_it_comes_last_and_costs_its_owner_no_turn(stage: Stage, judged: Submission) -> None:
    stage.judge(again := stage.submit())
    stage.judge(ben := stage.submit(stage.ben))
    stage.later(3600)
    set_of(stage, judged, again)
    rejudge(submission=ben, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    stage.judge(stage.submit(stage.cleo, mode="test"))
    stage.judge(ben)
    judge_shadow(stage, judged)
    first, second = stage.submit(stage.ben), stage.submit(stage.ada)
    cleo = stage.submit(stage.cleo)
    order = [second, first, cleo]  # ada was served no open attempt this hour
    assert [stage.claim().submission_id for _ in order] == [str(one.pk) for one in order]
    assert stage.claim().submission_id == str(again.pk)


def test_a_lost_one_is_replaced_within_the_set_and_still_comes_last(stage: Stage, judged: Submission) -> None:
    chosen = set_of(stage, judged)
    lost = stage.claim()
    assert expire_leases(now=stage.later(61)) == 1
    item = RejudgeItem.objects.get()
    assert item.after.pk != int(lost.attempt_id)
    assert (item.after.rejudge_set, item.after.is_shadow, item.after.losses, item.after.number) == (chosen, True, 1, 2)
    stage.judge(stage.submit(stage.ben))
    judge_shadow(stage, judged)
    with pytest.raises(StaleLease):
        stage.report(lost)
    assert current(judged).number == 1


def test_losses_in_the_shadow_and_in_the_open_are_counted_apart(stage: Stage, judged: Submission) -> None:
    set_of(stage, judged)
    stage.claim()
    expire_leases(now=stage.later(61))
    rejudge(submission=judged, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    stage.claim()
    expire_leases(now=stage.later(61))
    stage.judge(judged)
    assert (status_of(judged, now=stage.now).status, status_of(judged, now=stage.now).attempt) == ("done", 3)
    judge_shadow(stage, judged)


def test_a_spoiled_one_is_measured_again_within_the_set(stage: Stage, judged: Submission) -> None:
    set_of(stage, judged)
    for _ in range(MOST + 1):
        judge_shadow(stage, judged, outcome="unmeasurable", reason="voids")
    assert claim_work(runner=stage.rex, now=stage.now) is None
    assert RejudgeItem.objects.get().after.number == MOST + 1
    rejudge(submission=judged, actor=stage.olga, reason="once more", now=stage.now)
    stage.judge(judged, outcome="unmeasurable", reason="voids")
    assert status_of(judged, now=stage.now).status == "queued", "what happened in the shadow takes no tries away"


def test_one_unfinished_shadow_attempt_a_submission_and_set(stage: Stage, judged: Submission) -> None:
    set_of(stage, judged)
    one = Attempt.objects.get(is_shadow=True)
    one.pk, one.number = None, 2
    with pytest.raises(IntegrityError, match="one_shadow_attempt"), transaction.atomic():
        one.save()
    set_of(stage, judged, name="another one")
    assert Attempt.objects.filter(is_shadow=True).count() == 2


def test_stopping_calls_off_what_waits_and_lets_finish_what_runs(stage: Stage, judged: Submission) -> None:
    chosen = set_of(stage, judged, other := _another(stage))
    job = stage.claim()
    for called_off in (1, 0):
        told = {"chosen": chosen, "actor": stage.olga, "reason": "a mistake", "now": stage.now}
        assert stop_set(**told) == called_off
    stage.report(job)
    assert RejudgeItem.objects.get(submission=other).after.state == "cancelled"
    assert RejudgeItem.objects.get(submission=judged).after.outcome == "passed"


def test_a_stopped_set_replaces_nothing(stage: Stage, judged: Submission) -> None:
    chosen = set_of(stage, judged)
    stage.claim()
    stop_set(chosen=chosen, actor=stage.olga, reason="a mistake", now=stage.now)
    expire_leases(now=stage.later(61))
    assert RejudgeItem.objects.get().after.state == "lost"
    assert claim_work(runner=stage.rex, now=stage.now) is None


def test_what_is_discarded_stays_in_the_shadow(stage: Stage, judged: Submission) -> None:
    chosen, rows = set_of(stage, judged, other := _another(stage)), everything()
    judge_shadow(stage, judged, ratio=0.6, epoch="driver-2")
    late = stage.claim()
    for changes in (True, False):
        told = {"chosen": chosen, "actor": stage.olga, "reason": "the driver was wrong", "now": stage.later(1)}
        assert discard_set(**told) is changes
    with pytest.raises(StaleLease):
        stage.report(late)
    assert everything() == rows
    assert not Epoch.objects.exists()
    assert [status_of(one, now=stage.now).published for one in (judged, other)] == [True, True]


def _no_notify(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
    assert "pg_notify" not in sql
    return execute(sql, *rest)


def _another(stage: Stage) -> Submission:
    submission = stage.submit(stage.ben)
    stage.judge(submission)
    return submission
