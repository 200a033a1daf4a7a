"""Two simultaneous decisions: the lock orders them, and the second reviewer learns of the first decision."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.review.case import log
from leaderboard.review.models import Case, Decision
from leaderboard.standings.models import Entry
from tests.leaderboard.stage import Stage


def at_once(*acts: Callable[[], Any]) -> list[str]:
    """Run the acts concurrently and return the refusal message of each, empty on success."""
    start, said = threading.Barrier(len(acts)), [""] * len(acts)

    def run(place: int) -> None:
        try:
            start.wait(10)
            acts[place]()
        except UserError as error:
            said[place] = error.message
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return said


def test_one_of_two_reviewers_decides(live_stage: Stage) -> None:
    stage = live_stage
    ned = User.objects.create_superuser("ned")
    result = stage.judge(stage.submit(), ratio=0.4, score_us=400.0)
    told = {"result": result, "reason": "I saw it", "now": stage.now}
    said = at_once(
        lambda: pipeline.clear_result(**told, actor=stage.olga),
        lambda: pipeline.reject_result(**told, actor=ned),
    )
    assert sorted(bool(text) for text in said) == [False, True]
    row = Case.objects.get()
    assert log.standing_of(row, log.lines_of(result)).state == row.state
    assert Entry.objects.exists() == (row.state == "cleared")

    last = Decision.objects.get().pk
    said = at_once(*[lambda who=who: pipeline.undo_decision(**told, actor=who, seen=last) for who in (stage.olga, ned)])
    assert sorted(bool(text) for text in said) == [False, True]
    assert (Case.objects.get().state, Decision.objects.count(), Entry.objects.exists()) == ("waiting", 2, False)


def test_nothing_is_published_for_who_is_being_suspended(live_stage: Stage) -> None:
    stage = live_stage
    result = stage.judge(stage.submit(), ratio=0.4, score_us=400.0)
    told = {"actor": stage.olga, "reason": "rules", "now": stage.now}
    said = at_once(
        lambda: pipeline.suspend_account(user=stage.ada, competition=None, **told),
        lambda: pipeline.clear_result(result=result, **told),
    )
    assert said == ["", ""]
    assert Case.objects.get().state == "cleared"
    assert not Entry.objects.exists()
