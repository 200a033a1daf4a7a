"""In a competition with rules, submitting requires acceptance of the current rules."""

from datetime import timedelta

import pytest

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.access import issue_codes
from leaderboard.competitions.models import CLOSED, Competition
from leaderboard.entrants.enter import has_accepted, rules_digest
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.errors import UserError
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import NOON, Stage


@pytest.fixture
def cup(stage: Stage) -> Competition:
    stage.board.competition.rules = "One account a person."
    stage.board.competition.save()
    return stage.board.competition


def enter(user: User, cup: Competition, *, code: str = "", digest: str | None = None) -> Entrant:
    accepted = rules_digest(cup) if digest is None else digest
    return pipeline.enter(user=user, competition=cup, code=code, rules_digest=accepted, now=NOON)


def test_submitting_without_having_accepted_says_where_to(stage: Stage, cup: Competition) -> None:
    with pytest.raises(UserError) as caught:
        stage.submit(stage.ada)
    assert (caught.value.field, caught.value.status) == ("competition", 409)
    assert "/competitions/kernels-101" in caught.value.message
    assert not Submission.objects.exists()
    assert not Entrant.objects.exists()


def test_a_source_is_not_read_before_the_rules_are_accepted(stage: Stage, cup: Competition, monkeypatch) -> None:
    """Reading takes up to a second of a processor, and this refusal costs no quota."""
    monkeypatch.setattr(pipeline, "read", lambda source: pytest.fail("it was read"))
    with pytest.raises(UserError, match="accepting its rules"):
        stage.submit(stage.ada)


def test_who_accepted_may_submit(stage: Stage, cup: Competition) -> None:
    entrant = enter(stage.ada, cup)
    assert Membership.objects.get().rules_digest == rules_digest(cup)
    assert stage.submit(stage.ada).entrant == entrant


@pytest.mark.parametrize("digest", ["", "sha256:" + "0" * 64])
def test_what_is_accepted_are_the_rules_of_now(stage: Stage, cup: Competition, digest: str) -> None:
    with pytest.raises(UserError) as caught:
        enter(stage.ada, cup, digest=digest)
    assert (caught.value.field, caught.value.status) == ("rules_digest", 409)
    assert not Entrant.objects.exists()


def test_who_accepted_older_rules_is_asked_again(stage: Stage, cup: Competition) -> None:
    entrant = enter(stage.ada, cup)
    cup.rules = "One account a person, and no more than 10 a day."
    cup.save()
    stage.board.refresh_from_db()
    assert not has_accepted(stage.ada, cup)
    with pytest.raises(UserError, match="its rules have changed"):
        stage.submit(stage.ada)
    assert enter(stage.ada, cup) == entrant, "accepting anew makes no second entrant"
    stage.submit(stage.ada)


def test_rules_may_be_accepted_anew_after_the_deadline_but_nobody_enters(stage: Stage, cup: Competition) -> None:
    enter(stage.ada, cup)
    cup.rules, cup.deadline = "Other rules.", NOON - timedelta(hours=1)
    cup.save()
    enter(stage.ada, cup)
    with pytest.raises(UserError, match="nobody enters it now"):
        enter(stage.ben, cup)


def test_without_rules_the_first_submission_enters(stage: Stage) -> None:
    assert stage.submit(stage.ada).entrant == Entrant.objects.get()
    assert has_accepted(stage.ada, stage.board.competition)


def test_a_closed_one_is_entered_with_its_code_and_its_rules(stage: Stage, cup: Competition) -> None:
    cup.visibility = CLOSED
    cup.save()
    code = issue_codes(competition=cup, count=1, actor=stage.olga, now=NOON)[0].text
    with pytest.raises(UserError) as caught:
        enter(stage.ada, cup)
    assert caught.value.status == 404
    enter(stage.ada, cup, code=code)
    stage.submit(stage.ada)


def test_a_code_is_kept_while_the_rules_are_read(stage: Stage, cup: Competition) -> None:
    cup.visibility = CLOSED
    cup.save()
    code = issue_codes(competition=cup, count=1, actor=stage.olga, now=NOON)[0].text
    with pytest.raises(UserError, match="have to be accepted"):
        enter(stage.ada, cup, code=code, digest="")
    enter(stage.ada, cup, code=code)
