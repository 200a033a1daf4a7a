"""Phase times decide, to the microsecond, whether a submission is taken and which stage it counts for."""

from datetime import datetime, timedelta

import pytest

from leaderboard.competitions.calendar import Stage, stage_of
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import NOON
from tests.leaderboard.stage import Stage as Scene

MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)
TIMES = {
    "practice_at": NOON + DAY,
    "contest_at": NOON + 2 * DAY,
    "freeze_at": NOON + 4 * DAY,
    "deadline": NOON + 5 * DAY,
    "final_at": NOON + 8 * DAY,
}


@pytest.fixture
def cup(stage: Scene) -> Competition:
    cup = stage.board.competition
    Competition.objects.filter(pk=cup.pk).update(**TIMES)
    cup.refresh_from_db()
    return cup


def send_at(stage: Scene, moment: datetime) -> Submission:
    stage.now = moment - timedelta(seconds=1)  # the stage sends a second later
    return stage.submit()


def refused_at(stage: Scene, moment: datetime) -> UserError:
    with pytest.raises(UserError) as caught:
        send_at(stage, moment)
    return caught.value


@pytest.mark.parametrize(
    ("moment", "counts_for"),
    [
        (TIMES["practice_at"], Stage.PRACTICE),
        (TIMES["contest_at"] - MICROSECOND, Stage.PRACTICE),
        (TIMES["contest_at"], Stage.CONTEST),
        (TIMES["freeze_at"], Stage.CONTEST),
        (TIMES["deadline"] - MICROSECOND, Stage.CONTEST),
        (TIMES["final_at"], Stage.AFTERWARDS),
    ],
)
def test_what_is_taken_and_what_it_counts_for(
    stage: Scene, cup: Competition, moment: datetime, counts_for: Stage
) -> None:
    submission = send_at(stage, moment)
    assert submission.created_at == moment
    assert stage_of(cup.schedule, submission.created_at) is counts_for


def test_before_it_begins_the_answer_says_when(stage: Scene, cup: Competition) -> None:
    error = refused_at(stage, TIMES["practice_at"] - MICROSECOND)
    assert (error.field, error.status) == ("board", 409)
    assert "not open yet: it opens at 2026-11-21 12:00 UTC" in error.message


@pytest.mark.parametrize("moment", [TIMES["deadline"], TIMES["final_at"] - MICROSECOND])
def test_nothing_is_taken_from_the_deadline_until_it_is_final(stage: Scene, cup: Competition, moment: datetime) -> None:
    assert "closed: its deadline was 2026-11-25 12:00 UTC" in refused_at(stage, moment).message


def test_one_that_does_not_stay_open_is_closed_for_good(stage: Scene, cup: Competition) -> None:
    Competition.objects.filter(pk=cup.pk).update(stays_open=False)
    assert refused_at(stage, TIMES["final_at"] + DAY).status == 409


def test_a_board_may_close_early_and_opens_again_with_its_competition(stage: Scene, cup: Competition) -> None:
    closes = NOON + 3 * DAY
    Board.objects.filter(pk=stage.board.pk).update(deadline=closes)
    assert "its deadline was 2026-11-23 12:00 UTC" in refused_at(stage, closes).message
    late = send_at(stage, TIMES["final_at"])
    assert stage_of(cup.schedule, late.created_at, board_deadline=closes) is Stage.AFTERWARDS
