"""The history of first places equals, at every moment, the ranking of the runs until then."""

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.competitions.models import Board, Competition
from leaderboard.standings.publish import withdraw
from leaderboard.standings.ranking.ranking import Run, holder, rank, records
from leaderboard.standings.read.boards import board_records
from tests.leaderboard.stage import Stage
from tests.leaderboard.standings.test_ties_are_anchored_by_the_leader import boards

pairs = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=2)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(boards, pairs)
def test_at_every_moment_it_is_what_the_ranking_says(board: list[Run], level: list[tuple[int, int]]) -> None:
    found = records(board, level)
    sent = sorted(board, key=lambda run: (run.submitted_at, run.submission_id))
    firsts = [holder(rank(sent[:until], level)).value for until in range(1, len(sent) + 1)]
    changes = [
        (value, run.submitted_at)
        for at, (value, run) in enumerate(zip(firsts, sent, strict=True))
        if not at or firsts[at - 1].submissions[0] != value.submissions[0]
    ]
    assert [(record.value, record.since) for record in found] == changes
    for before, after in pairwise(found):
        assert before.until == after.since
    assert not found or found[-1].until is None


def told(stage: Stage) -> list[str]:
    board = Board.objects.with_parts().get()
    lines = board_records(board, stage=CalendarStage.CONTEST, now=stage.now)
    return [line.entry.entrant.name for line in lines]


def test_what_is_withdrawn_never_led_and_what_is_frozen_does_not_yet(stage: Stage) -> None:
    sent = []
    for owner, ratio in ((stage.ada, 0.9), (stage.ben, 0.8), (stage.cleo, 0.7)):
        sent.append(stage.submit(owner))
        stage.judge(sent[-1], ratio=ratio)
    assert told(stage) == ["ada", "ben", "cleo"]
    withdraw(submission=sent[1])
    assert told(stage) == ["ada", "cleo"]
    Competition.objects.update(freeze_at=sent[2].created_at)
    assert told(stage) == ["ada"]
