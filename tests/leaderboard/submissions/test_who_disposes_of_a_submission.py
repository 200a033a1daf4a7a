"""The sender disposes of a line and its code while a member of the team; reviewers never decide on their own work."""

import pytest

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.entrants.teams import leave
from leaderboard.errors import UserError
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import BY_OWNER, retract
from leaderboard.submissions.models import CodeRelease, Submission
from leaderboard.submissions.permissions import release_code
from tests.leaderboard.stage import Stage

WHY = "it reads the clock"


@pytest.fixture
def by_ben(stage: Stage) -> Submission:
    """Return ben's submission for ada's team, with a line."""
    competition = stage.board.competition
    Competition.objects.update(max_team_size=2)
    team = Entrant.objects.create(competition=competition, name="Fast", is_team=True, created_at=stage.now)
    for user, role in ((stage.ada, Membership.CAPTAIN), (stage.ben, Membership.MEMBER)):
        Membership.objects.create(entrant=team, competition=competition, user=user, role=role, joined_at=stage.now)
    return line(stage, stage.ben)


def line(stage: Stage, owner: User) -> Submission:
    submission = stage.submit(owner)
    stage.judge(submission)
    return Submission.objects.get(pk=submission.pk)


def test_who_left_a_team_takes_nothing_of_it_away(stage: Stage, by_ben: Submission) -> None:
    leave(user=stage.ben, competition=stage.board.competition, now=stage.later(1))
    with pytest.raises(UserError, match="may retract it"):
        retract(submission=by_ben, actor=stage.ben, reason=BY_OWNER, now=stage.now)
    with pytest.raises(UserError, match="only its owner"):
        release_code(submission=by_ben, actor=stage.ben, now=stage.now)
    assert Entry.objects.count() == 1
    assert not CodeRelease.objects.exists()
    alone = line(stage, stage.ben)
    assert retract(submission=alone, actor=stage.ben, reason=BY_OWNER, now=stage.now) == 1


def test_a_member_disposes_of_what_they_sent(stage: Stage, by_ben: Submission) -> None:
    assert release_code(submission=by_ben, actor=stage.ben, now=stage.now)
    assert retract(submission=by_ben, actor=stage.ben, reason=BY_OWNER, now=stage.now) == 1


def test_an_account_disposes_of_what_its_other_login_sent(stage: Stage) -> None:
    submission = line(stage, stage.ben)
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.cleo)
    submission = Submission.objects.get(pk=submission.pk)
    assert release_code(submission=submission, actor=stage.cleo, now=stage.now)
    assert retract(submission=submission, actor=stage.cleo, reason=BY_OWNER, now=stage.now) == 1


def test_a_reviewer_does_not_put_their_own_back(stage: Stage, by_ben: Submission) -> None:
    for user in (stage.ada, stage.ben):
        Role.objects.create(competition=stage.board.competition, user=user, role=Role.REVIEWER)
    retract(submission=by_ben, actor=stage.olga, reason=WHY, now=stage.now)
    for user in (stage.ada, stage.ben):
        with pytest.raises(UserError, match="their own or their team's"):
            pipeline.restore_entry(submission=by_ben, actor=user, reason="it does not", now=stage.now)
    assert pipeline.restore_entry(submission=by_ben, actor=stage.olga, reason="it does not", now=stage.now) == 1


def test_nor_do_they_take_their_own_back_from_a_final_standing(stage: Stage) -> None:
    submission = line(stage, stage.ben)
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    Competition.objects.update(deadline=stage.later(1), final_at=stage.now)
    fresh = Submission.objects.get(pk=submission.pk)
    with pytest.raises(UserError, match="until the standing is final"):
        retract(submission=fresh, actor=stage.ben, reason=BY_OWNER, now=stage.later(1))
