"""Freeze, unfreeze, reveal, finalise and reopen: for owners only, with a reason, audited and idempotent."""

from collections.abc import Callable
from datetime import datetime

import pytest

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.calendar import Phase, is_frozen_at, phase_at, stage_of
from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.competitions.models import Competition, Role
from leaderboard.errors import UserError
from leaderboard.standings.freeze import finalise, freeze, reopen, reveal, unfreeze
from tests.leaderboard.stage import Stage

WHY = "as the rules say"


def competition() -> Competition:
    return Competition.objects.get()


def act(what: Callable[..., bool], stage: Stage, actor: User | None = None, **told: bool) -> bool:
    return what(competition=competition(), actor=actor or stage.olga, reason=WHY, now=stage.now, **told)


def acts() -> list[str]:
    return list(Row.objects.order_by("id").values_list("act", flat=True))


def over(stage: Stage) -> datetime:
    Competition.objects.update(deadline=stage.later(60))
    return stage.now


def test_freeze_and_unfreeze(stage: Stage) -> None:
    assert act(freeze, stage)
    assert is_frozen_at(competition().schedule, stage.now)
    assert not act(freeze, stage), "it is frozen already"
    assert act(unfreeze, stage)
    assert not act(unfreeze, stage)
    assert (competition().freeze_at, acts()) == (None, ["freeze_standing", "unfreeze_standing"])


def test_a_planned_freeze_can_be_brought_forward(stage: Stage) -> None:
    Competition.objects.update(freeze_at=stage.later(3600))
    stage.later(-1800)
    assert act(freeze, stage)
    assert competition().freeze_at == stage.now


def test_after_the_deadline_it_is_revealed(stage: Stage) -> None:
    act(freeze, stage)
    over(stage)
    with pytest.raises(UserError, match="reveal its standing instead"):
        act(unfreeze, stage)
    assert act(reveal, stage)
    assert not act(reveal, stage)
    assert not is_frozen_at(competition().schedule, stage.now)
    row = Row.objects.get(act="reveal_standing")
    assert (row.actor, row.reason, row.before, row.after) == (
        stage.olga,
        WHY,
        {"revealed_at": None},
        {"revealed_at": stage.now.isoformat()},
    )


def test_a_contest_that_goes_on_is_not_revealed(stage: Stage) -> None:
    Competition.objects.update(deadline=stage.later(3600), freeze_at=stage.later(-1800))
    with pytest.raises(UserError, match="still takes submissions"):
        act(reveal, stage)


def test_there_is_nothing_to_freeze_outside_of_a_contest(stage: Stage) -> None:
    over(stage)
    with pytest.raises(UserError, match="not in its contest"):
        act(freeze, stage)


def test_final_shows_what_was_frozen_and_reopening_hides_nothing(stage: Stage) -> None:
    act(freeze, stage)
    over(stage)
    assert act(finalise, stage)
    assert not act(finalise, stage)
    assert phase_at(competition().schedule, stage.now) is Phase.OPEN
    assert act(reopen, stage)
    assert not act(reopen, stage)
    assert phase_at(competition().schedule, stage.now) is Phase.REVIEW
    assert not is_frozen_at(competition().schedule, stage.now)


def test_a_standing_is_not_final_before_its_deadline(stage: Stage) -> None:
    Competition.objects.update(deadline=stage.later(3600))
    stage.later(-1800)
    with pytest.raises(UserError, match="not past its deadline"):
        act(finalise, stage)


def test_a_contest_without_a_deadline_ends_by_being_final(stage: Stage) -> None:
    assert act(finalise, stage)
    assert phase_at(competition().schedule, stage.now) is Phase.OPEN


def test_reopening_a_contest_without_a_deadline_keeps_later_submissions_out(stage: Stage) -> None:
    Competition.objects.update(freeze_at=stage.later(3600))
    stage.later(-1800)
    assert act(finalise, stage)
    ended = stage.now
    stage.later(60)
    assert act(reopen, stage)
    found = competition()
    assert phase_at(found.schedule, stage.now) is Phase.REVIEW
    assert stage_of(found.schedule, stage.now) is CalendarStage.AFTERWARDS
    assert (found.deadline, found.freeze_at, found.edited) == (ended, None, ["deadline"])


def test_it_is_not_final_while_something_waits(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ada), ratio=0.2)
    stage.submit(stage.ben)
    stage.submit(stage.cleo, mode="test")
    over(stage)
    with pytest.raises(UserError, match="1 held for review, 1 not judged yet"):
        act(finalise, stage)
    assert acts() == []
    assert act(finalise, stage, anyway=True)
    assert Row.objects.get().after["anyway"] is True


def test_what_is_sent_afterwards_does_not_reopen_the_contest(stage: Stage) -> None:
    over(stage)
    act(finalise, stage)
    stage.later(1)
    stage.judge(stage.submit(stage.ada), ratio=0.2)
    act(reopen, stage)
    assert act(finalise, stage)


@pytest.mark.parametrize("what", [freeze, unfreeze, reveal, finalise, reopen])
def test_only_an_owner_may_and_says_why(stage: Stage, what: Callable[..., bool]) -> None:
    Role.objects.create(competition=competition(), user=stage.ben, role=Role.REVIEWER)
    Role.objects.create(competition=competition(), user=stage.ada, role=Role.OWNER)
    for person in (stage.cleo, stage.ben):
        with pytest.raises(UserError, match="only a owner") as refused:
            act(what, stage, person)
        assert refused.value.status == 403
    with pytest.raises(UserError, match="say why"):
        what(competition=competition(), actor=stage.ada, reason=" ", now=stage.now)
    assert acts() == []
