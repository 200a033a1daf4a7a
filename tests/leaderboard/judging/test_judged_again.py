"""Re-judging adds an attempt and edits none; the line of a submission follows its newest verdict."""

import pytest

from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.judging.attempts import cancel, rejudge
from leaderboard.judging.models import Result
from leaderboard.standings.models import Entry
from leaderboard.standings.read.status import status_of
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage


@pytest.fixture
def ranked(stage: Stage) -> Submission:
    submission = stage.submit()
    stage.judge(submission, score_us=900.0, ratio=0.55)
    rejudge(submission=submission, actor=stage.olga, reason="a bug in the judge", now=stage.later(3600))
    return submission


def test_the_old_line_stands_until_there_is_a_new_verdict(stage: Stage, ranked: Submission) -> None:
    assert status_of(ranked, now=stage.now).status == "queued"
    assert Entry.objects.get().score_us == 900.0
    stage.judge(ranked, score_us=950.0)
    entry = Entry.objects.get()
    assert (entry.score_us, entry.attempt.number, entry.submitted_at) == (950.0, 2, ranked.created_at)
    assert [result.score_us for result in Result.objects.all()] == [900.0, 950.0]


@pytest.mark.parametrize("told", [{"outcome": "wrong"}, {"ratio": 0.4}])
def test_a_line_falls_with_a_failure_or_a_hold(stage: Stage, ranked: Submission, told: dict[str, object]) -> None:
    """The hold compares with the baseline: the submission's own old line is no incumbent that would hide its speed."""
    stage.judge(ranked, **told)
    assert not Entry.objects.exists()


def test_our_own_failure_takes_nothing_away(stage: Stage, ranked: Submission) -> None:
    stage.judge(ranked, outcome="infra_error")
    assert Entry.objects.get().score_us == 900.0


def test_it_is_on_the_record_and_for_organisers_only(stage: Stage, ranked: Submission) -> None:
    assert Row.objects.get(act="rejudge").actor == stage.olga
    stage.judge(ranked)
    with pytest.raises(UserError) as caught:
        rejudge(submission=ranked, actor=stage.ada, reason="once more", now=stage.now)
    assert caught.value.status == 403


def test_what_is_still_judged_is_not_judged_again(stage: Stage, ranked: Submission) -> None:
    with pytest.raises(UserError, match="still queued"):
        rejudge(submission=ranked, actor=stage.olga, reason="impatience", now=stage.now)


def test_its_owner_does_not_call_it_off(stage: Stage, ranked: Submission) -> None:
    told = {"submission": ranked, "reason": "I like the old one", "now": stage.now}
    with pytest.raises(UserError, match="what is judged again") as caught:
        cancel(actor=stage.ada, **told)
    assert caught.value.status == 403
    assert cancel(actor=stage.olga, **told).state == "cancelled"
