"""Entrants barred from winning, and open questions that must be settled before an award is approved."""

import pytest

from leaderboard.accounts.models import User
from leaderboard.awards.life import approve_award, confirm_award, propose_award
from leaderboard.awards.standing import GONE, SUSPENDED
from leaderboard.desk.acts import set_active
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.teams import leave
from leaderboard.errors import UserError
from leaderboard.review.suspension import suspend
from tests.leaderboard.awards.test_awards_from_standing_to_announcement import WHY, names, over, race, sent, track
from tests.leaderboard.stage import Stage


def test_whose_account_is_closed_wins_nothing(stage: Stage) -> None:
    race(stage)
    stage.ada.is_active = False
    stage.ada.save()
    made = track(stage, 1000)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ben", "1000.00")]
    assert award.content["skipped"][0]["reason"] == SUSPENDED


@pytest.mark.parametrize("whose", ["linked login", "agent"])
def test_login_or_agent_of_a_deactivated_account_wins_nothing(stage: Stage, whose: str) -> None:
    """Regression: only the login that competed was looked at, and the desk deactivates accounts."""
    account, sender = User.objects.create_user("main"), stage.ada
    if whose == "agent":
        sender = create_agent(owner=stage.ada, name="robo", now=stage.now)
    sent(stage, sender, 0.6)
    sent(stage, stage.ben, 0.8)
    over(stage)
    User.objects.filter(pk=stage.ada.pk).update(linked_to=account)
    set_active(person=account, on=False, actor=stage.olga, reason=WHY, now=stage.now)
    award = propose_award(track=track(stage, divisions=["human", "agent"]), actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ben", "")]
    assert [one["reason"] for one in award.content["skipped"]] == [SUSPENDED]


def test_a_held_result_is_decided_before_anything_is_approved(stage: Stage) -> None:
    sent(stage, stage.ben, 0.8)
    sent(stage, stage.cleo, 0.9)
    held = stage.submit(stage.ben)
    stage.judge(held, ratio=0.2)
    over(stage)
    made = track(stage, 1000)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "cleo", "1000.00")]
    assert "under review" in award.content["skipped"][0]["reason"]
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
    with pytest.raises(UserError, match="under review"):
        approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)


def test_who_is_suspended_by_another_login_wins_nothing(stage: Stage) -> None:
    race(stage)
    other = User.objects.create_user("ada2")
    suspend(user=other, competition=None, actor=stage.olga, reason="two accounts", now=stage.now)
    User.objects.filter(pk=other.pk).update(linked_to=stage.ada)
    award = propose_award(track=track(stage, 1000), actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ben", "1000.00")]
    assert award.content["skipped"][0]["reason"] == SUSPENDED


def test_what_nobody_competes_as_any_more_wins_nothing(stage: Stage) -> None:
    """A person who leaves to compete by another login, or in a team, would win twice."""
    sent(stage, stage.ada, 0.6)
    sent(stage, stage.ben, 0.8)
    leave(user=stage.ada, competition=stage.board.competition, now=stage.later(1))
    over(stage)
    award = propose_award(track=track(stage, 1000), actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ben", "1000.00")]
    assert award.content["skipped"][0]["reason"] == GONE


def test_what_was_sent_in_time_is_judged_before_anything_is_approved(stage: Stage) -> None:
    sent(stage, stage.ben, 0.8)
    late = stage.submit(stage.cleo)
    stage.submit(stage.cleo, mode="benchmark")
    over(stage)
    award = propose_award(track=track(stage, 1000), actor=stage.olga, now=stage.now)
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
    with pytest.raises(UserError, match="1 submissions to its boards are not judged yet"):
        approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
    stage.judge(late, outcome="wrong")
    approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
