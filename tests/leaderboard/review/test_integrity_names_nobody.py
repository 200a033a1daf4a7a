"""The integrity page shows counts, reasons and decided places, never names, and no figure before it is safe."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.models import Result
from leaderboard.review.case import acts
from leaderboard.review.integrity import Integrity, Outcomes, integrity
from tests.leaderboard.stage import Stage

TOMORROW = datetime(2026, 11, 21, 9, tzinfo=UTC)
SOON = datetime(2026, 11, 20, 13, tzinfo=UTC)


def held(stage: Stage, name: str, ratio: float = 0.4) -> Result:
    user, _ = User.objects.get_or_create(username=name)
    return stage.judge(stage.submit(user), ratio=ratio, score_us=1000 * ratio)


def numbers(stage: Stage, now: datetime = TOMORROW) -> Integrity:
    return integrity(Competition.objects.get(), Board.objects.all(), now)


def reject(stage: Stage, result: Result, text: str = "") -> None:
    told = {"result": result, "actor": stage.olga, "reason": "hidden from the public", "now": stage.now}
    pipeline.reject_result(**told, code="reused_results", public_reason=text)


def final() -> None:
    Competition.objects.update(deadline=SOON, final_at=SOON + timedelta(hours=1))


def page(address: str = "/competitions/kernels-101/integrity", now: datetime = TOMORROW) -> str:
    with time_machine.travel(now, tick=False):
        return Client().get(address).content.decode()


def test_each_rule_says_what_became_of_what_it_held(stage: Stage) -> None:
    first, second, *_ = [held(stage, f"user{number}", ratio=0.4 / 3**number) for number in range(6)]
    pipeline.clear_result(result=first, actor=stage.olga, reason="sound", now=stage.now)
    reject(stage, second)
    final()
    found = numbers(stage)
    assert found.total == Outcomes("", held=6, cleared=1, rejected=1, waiting=4, again=0)
    assert Outcomes("faster_than_best", held=6, cleared=1, rejected=1, waiting=4, again=0) in found.rules


def test_small_numbers_are_told_when_the_standing_is_final(stage: Stage) -> None:
    for number in range(4):
        held(stage, f"user{number}", ratio=0.4 / 3**number)
    assert [one.rule for one in numbers(stage).rules] == [""]
    assert [one.rule for one in numbers(stage, SOON).rules] == [""], "nothing held looks the same"
    seen = page()
    assert "Faster than best" not in seen
    assert "&lt; 5" in seen
    assert ">4<" not in seen
    final()
    assert "Faster than best" in page()
    assert ">4<" in page()


def test_nothing_of_the_day_is_told(stage: Stage) -> None:
    for number in range(5):
        held(stage, f"user{number}", ratio=0.4 / 3**number)
    assert numbers(stage, SOON).total.held == 0
    assert numbers(stage).total.held == 5


def test_nobody_is_named(stage: Stage) -> None:
    for number in range(6):
        result = held(stage, f"secretive{number}", ratio=0.4 / 3**number)
    reject(stage, result, "It kept its outputs between calls.")
    final()
    seen = page()
    assert "It kept its outputs between calls." in seen
    for secret in ("secretive", "hidden from the public", "olga", "KERNEL", f"/review/{result.pk}"):
        assert secret not in seen


def test_a_rejected_place_is_told_when_no_appeal_can_change_it(stage: Stage) -> None:
    result = held(stage, "ada")
    reject(stage, result, "It kept its outputs.")
    assert numbers(stage).podium == []
    assert [(one.place, one.is_cleared) for one in numbers(stage, TOMORROW + timedelta(days=14)).podium] == [(1, False)]
    told = {"result": result, "now": stage.now}
    acts.appeal(actor=User.objects.get(username="ada"), text="no", **told)
    assert numbers(stage, TOMORROW + timedelta(days=14)).podium == []
    pipeline.answer_appeal(actor=User.objects.create_superuser("ned"), granted=False, reason="yes", **told)
    assert [one.reason for one in numbers(stage).podium] == ["It kept its outputs."]
    assert (numbers(stage).appeals, numbers(stage).upheld) == (1, 1)


def test_what_was_undone_is_told_no_more(stage: Stage) -> None:
    result = held(stage, "ada")
    told = {"result": result, "actor": stage.olga, "now": stage.now}
    pipeline.clear_result(**told, reason="sound", public_reason="A clever trick.")
    assert [one.reason for one in numbers(stage).podium] == ["A clever trick."]
    pipeline.undo_decision(**told, reason="no")
    assert numbers(stage).podium == []
    pipeline.clear_result(**told, reason="sound")
    assert numbers(stage).podium == [], "the newest has no text for the public"


def test_a_frozen_standing_is_not_told_here_either(stage: Stage) -> None:
    Competition.objects.update(freeze_at=stage.now, deadline=SOON)
    result = held(stage, "ada")
    told = {"result": result, "actor": stage.olga, "now": stage.now}
    pipeline.clear_result(**told, reason="sound", public_reason="A clever trick.")
    assert numbers(stage).podium == []
    Competition.objects.update(revealed_at=TOMORROW)
    assert len(numbers(stage).podium) == 1


def test_a_closed_competition_has_no_page_for_strangers(stage: Stage) -> None:
    Competition.objects.update(visibility="closed")
    assert "Integrity" not in page()
    assert Client().get("/competitions/kernels-101/integrity").status_code == 404
    assert Client().get("/competitions/none/integrity").status_code == 404


@pytest.mark.parametrize("overturned", [False, True])
def test_what_rejects_by_itself_is_counted_apart(stage: Stage, overturned: bool) -> None:
    for _ in range(5):
        result = stage.judge(stage.submit(), outcome="policy", reason="impossible")
    told = {"result": result, "actor": stage.olga, "reason": "no", "now": stage.now}
    if overturned:
        pipeline.overturn_verdict(**told)
        pipeline.clear_result(**told)
    found = numbers(stage)
    assert (found.by_itself.held, found.by_itself.cleared, found.total.held) == (5, int(overturned), 0)


def test_a_place_that_was_found_in_the_freeze_is_not_told_before_the_reveal(stage: Stage) -> None:
    """The podium count would reveal hidden results: a second place where the public board knows no first."""
    result = held(stage, "ada")
    stage.judge(stage.submit(stage.ben), ratio=0.9)
    Competition.objects.update(freeze_at=stage.later(1), deadline=SOON)
    told = {"result": result, "actor": stage.olga, "reason": "sound", "public_reason": "A clever trick."}
    pipeline.clear_result(**told, now=stage.later(1))
    assert numbers(stage).podium == []
    Competition.objects.update(freeze_at=stage.later(1))
    assert len(numbers(stage).podium) == 1, "decided before the freeze, it is told"


def test_a_decision_of_the_day_moves_no_number_before_midnight(stage: Stage) -> None:
    result, *_ = [held(stage, f"user{number}", ratio=0.4 / 3**number) for number in range(5)]
    before, later = numbers(stage), TOMORROW + timedelta(hours=1)
    assert (before.total.waiting, before.total.cleared) == (5, 0)
    pipeline.clear_result(result=result, actor=stage.olga, reason="sound", now=TOMORROW)
    assert (numbers(stage, later).total, numbers(stage, later).rules) == (before.total, before.rules)
    after = numbers(stage, TOMORROW + timedelta(days=1))
    assert (after.total.waiting, after.total.cleared) == (4, 1)
    pipeline.undo_decision(result=result, actor=stage.olga, reason="no", now=TOMORROW + timedelta(days=1))
    same = numbers(stage, TOMORROW + timedelta(days=1, hours=1))
    assert (same.total, same.rules) == (after.total, after.rules)
    assert numbers(stage, TOMORROW + timedelta(days=2)).total == before.total
