"""An undecided confirmation waits for a reviewer, who requests new runs or closes it with a reason."""

import pytest

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Role
from leaderboard.confirmations.models import CONFIRMED, FAILED, HELD, RECORD, REFUSED, Confirmation
from leaderboard.errors import UserError
from leaderboard.judging.models import ERROR
from leaderboard.review.case.acts import ask_again, close_confirmation, unsettled
from leaderboard.standings.read.records import CLOSED_MARK, CONFIRMED_MARK
from tests.leaderboard import records
from tests.leaderboard.confirmations.test_record_is_confirmed import mark, overtake
from tests.leaderboard.records import confirm
from tests.leaderboard.stage import Stage

WHY = "the host was noisy"


@pytest.fixture
def held(stage: Stage) -> Confirmation:
    overtake(stage)
    return confirm(stage, told={"held": True})


def reviewer(stage: Stage, user: User, role: str = Role.REVIEWER) -> User:
    Role.objects.create(competition=stage.board.competition, user=user, role=role)
    return user


def waiting(stage: Stage) -> list[Confirmation]:
    return list(unsettled(stage.board.competition))


def test_it_is_asked_again_and_the_new_runs_decide(stage: Stage, held: Confirmation) -> None:
    assert waiting(stage) == [held]
    again = ask_again(asked=held, actor=reviewer(stage, stage.cleo), reason=WHY, now=stage.now)
    assert (again.pk != held.pk, again.candidate, again.incumbent) == (True, held.candidate, held.incumbent)
    row = Row.objects.get(act="ask_confirmation", actor=stage.cleo)
    assert (row.reason, row.object_id) == (WHY, str(again.pk))
    assert waiting(stage) == []
    stage.later(700)
    assert confirm(stage).outcome == CONFIRMED
    assert mark(stage) == CONFIRMED_MARK


def test_it_is_closed_and_nobody_waits_any_more(stage: Stage, held: Confirmation) -> None:
    close_confirmation(asked=held, actor=stage.olga, reason=WHY, now=stage.now)
    assert waiting(stage) == []
    assert mark(stage) == CLOSED_MARK
    row = Row.objects.get(act="close_confirmation")
    assert (row.actor, row.reason, row.after) == (stage.olga, WHY, {"outcome": HELD, "closed": True})
    assert Confirmation.objects.get().outcome == HELD, "what the runs said stays"


def test_it_is_settled_once(stage: Stage, held: Confirmation) -> None:
    ask_again(asked=held, actor=stage.olga, reason=WHY, now=stage.now)
    for act in (ask_again, close_confirmation):
        with pytest.raises(UserError, match="waits for nobody") as refused:
            act(asked=held, actor=stage.olga, reason=WHY, now=stage.now)
        assert refused.value.status == 409


@pytest.mark.parametrize(("told", "outcome", "waits"), [(records.REFUSED, REFUSED, 0), (records.FAILED, FAILED, 1)])
def test_what_the_runs_decided_waits_for_nobody(
    stage: Stage, told: dict[str, object], outcome: str, waits: int
) -> None:
    overtake(stage)
    report = {"outcome": "wrong", "reason": "values"} if waits else {}
    assert confirm(stage, told=told, **report).outcome == outcome
    assert len(waiting(stage)) == waits


def test_a_reviewer_settles_it_and_never_their_own(stage: Stage, held: Confirmation) -> None:
    people = {
        reviewer(stage, stage.cleo, Role.VIEWER): "only a reviewer",
        reviewer(stage, stage.ada): "their own",
        reviewer(stage, stage.ben): "their own",  # the incumbent is ben's
    }
    for actor, said in people.items():
        for act in (ask_again, close_confirmation):
            with pytest.raises(UserError, match=said) as refused:
                act(asked=held, actor=actor, reason=WHY, now=stage.now)
            assert refused.value.status == 403
    with pytest.raises(UserError, match="say why"):
        close_confirmation(asked=held, actor=stage.olga, reason=" ", now=stage.now)


def test_what_a_reviewer_asked_for_is_not_dropped_by_a_new_leader(stage: Stage, held: Confirmation) -> None:
    again = ask_again(asked=held, actor=stage.olga, reason=WHY, now=stage.now)
    stage.judge(stage.submit(stage.cleo), ratio=0.7)
    again.refresh_from_db()
    assert (again.state, Confirmation.objects.filter(state="queued").count()) == ("queued", 2)


def test_asking_again_drops_nobody_who_waits(stage: Stage, held: Confirmation) -> None:
    """A manual request does not count as overtaking, and keeps a new leader's waiting confirmation in the queue."""
    Confirmation.objects.filter(pk=held.pk).update(outcome=ERROR)
    stage.judge(stage.submit(stage.cleo), ratio=0.7)
    ask_again(asked=held, actor=stage.olga, reason=WHY, now=stage.now)
    assert Confirmation.objects.filter(state="queued", cause=RECORD).count() == 2
