"""An entrant's own earlier results justify no faster result unless a person cleared them; rivals' results do."""

from typing import Any

import pytest

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.judging.models import Result
from leaderboard.review.rules import screen
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import NOON, Stage
from tests.runner.judge.suspects import case, evidence


def told(ratio: float) -> dict[str, Any]:
    run = evidence(case(candidate=ratio * 1e6), case(candidate=ratio * 1.02e6, name="n=9"))
    return {"ratio": ratio, "score_us": 1000 * ratio, "evidence": run}


def is_held(result: Result) -> bool:
    return status_of(result.attempt.submission, now=NOON).review == "under_review"


def test_small_steps_of_ones_own_lead_nowhere(stage: Stage) -> None:
    assert not is_held(stage.judge(stage.submit(), **told(0.9)))
    assert not is_held(stage.judge(stage.submit(), **told(0.55)))
    assert is_held(stage.judge(stage.submit(), **told(0.3))), "1.8 times its own, 3.3 times the baseline"


def test_what_others_reached_is_cover_in_every_case(stage: Stage) -> None:
    assert not is_held(stage.judge(stage.submit(stage.ben), **told(0.55)))
    assert not is_held(stage.judge(stage.submit(), **told(0.3)))
    assert is_held(stage.judge(stage.submit(), **told(0.25)))


def test_what_a_person_cleared_is_cover_for_its_owner_and_for_all(stage: Stage) -> None:
    first = stage.judge(stage.submit(), **told(0.3))
    assert is_held(first)
    pipeline.clear_result(result=first, actor=stage.olga, reason="read it, it is sound", now=stage.later(1))
    assert not is_held(stage.judge(stage.submit(), **told(0.28)))
    assert not is_held(stage.judge(stage.submit(stage.ben), **told(0.2)))
    assert is_held(stage.judge(stage.submit(stage.cleo), **told(0.09)))


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_a_suspended_account_reached_is_cover_for_nobody(stage: Stage, everywhere: bool) -> None:
    """The suspension covers all logins of the account, and reinstatement restores the cover."""
    cat = User.objects.create_user("cat", linked_to=stage.cleo)
    assert not is_held(stage.judge(stage.submit(stage.ben), **told(0.6)))
    assert not is_held(stage.judge(stage.submit(stage.cleo), **told(0.4)))
    where = {"competition": None if everywhere else stage.board.competition, "actor": stage.olga, "reason": "copied"}
    pipeline.suspend_account(user=cat, now=stage.later(1), **where)
    uneven = evidence(case(candidate=0.25e6), case(candidate=0.49e6, name="n=9"))
    jump = {"ratio": 0.35, "score_us": 350.0, "evidence": uneven}
    assert is_held(stage.judge(stage.submit(), **jump)), "2.4 times as fast in one case as any that stands"
    pipeline.reinstate_account(user=cat, now=stage.later(1), **where)
    assert not is_held(stage.judge(stage.submit(), **jump))


def test_what_is_held_is_cover_for_nobody(stage: Stage) -> None:
    assert is_held(stage.judge(stage.submit(), **told(0.3)))
    assert is_held(stage.judge(stage.submit(stage.ben), **told(0.3)))


@pytest.mark.parametrize("most", [screen.COMPARED, 2])
def test_many_are_compared_with_what_each_of_them_is(stage: Stage, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(screen, "COMPARED", most)
    sent = [(stage.ada, 0.9), (stage.ben, 0.7), (stage.ada, 0.3), (stage.cleo, 0.6), (stage.ada, 0.5), (stage.ben, 0.2)]
    results = [stage.judge(stage.submit(owner), **told(ratio)) for owner, ratio in sent]
    assert [is_held(result) for result in results] == [False, False, True, False, False, True]
    pipeline.clear_result(result=results[2], actor=stage.olga, reason="read it, it is sound", now=stage.later(1))
    for suspended in (None, stage.ben):
        if suspended is not None:
            where = {"competition": None, "actor": stage.olga, "reason": "copied"}
            pipeline.suspend_account(user=suspended, now=stage.later(1), **where)
        many = screen.Compared(results)
        for result in results:
            for best in (None, 0.25, 0.65):
                assert many.known(result, best) == screen.known(result, best)
