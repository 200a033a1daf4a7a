"""A board ranks practice, contest and afterwards apart, by time of submission; a freeze lasts until the reveal."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.models import Attempt
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import withdraw
from leaderboard.standings.read.boards import standing_of
from leaderboard.standings.read.records import incumbent_ratio
from leaderboard.standings.read.status import status_of
from leaderboard.submissions.models import Submission
from tests.leaderboard.board_lines import board_entries, board_epochs
from tests.leaderboard.stage import NOON, Stage
from tests.leaderboard.standings.test_board_order import entries_of

PRACTICE, CONTEST, AFTERWARDS = CalendarStage


def schedule(**times: datetime | None) -> None:
    Competition.objects.update(**times)


def names(stage: Stage, which: CalendarStage = CONTEST, now: datetime | None = None) -> list[str]:
    return [line.entry.owner.username for line in entries_of(stage.board, which, now or stage.now)]


def ranked(stage: Stage, owner: object, ratio: float, **told: object) -> Submission:
    submission = stage.submit(owner)  # type: ignore[arg-type]
    stage.judge(submission, ratio=ratio, score_us=1000 * ratio, **told)
    return submission


def test_each_stage_has_a_ranking_of_its_own(stage: Stage) -> None:
    schedule(practice_at=NOON)
    ranked(stage, stage.ada, 0.6)
    schedule(contest_at=stage.later(60))
    ranked(stage, stage.ben, 0.8)
    schedule(deadline=stage.later(60), final_at=stage.now)
    late = ranked(stage, stage.cleo, 0.5)
    assert [names(stage, which) for which in CalendarStage] == [["ada"], ["ben"], ["cleo"]]
    standing = standing_of(late, now=stage.now)
    assert standing
    assert (standing.rank, standing.stage) == (1, AFTERWARDS)


def test_runs_of_one_kernel_are_pooled_within_a_stage_only(stage: Stage) -> None:
    schedule(practice_at=NOON, contest_at=NOON + timedelta(minutes=5))
    for ratio in (0.6, 0.8):
        stage.judge(stage.submit(kernel=1), ratio=ratio, score_us=1000 * ratio)
        stage.later(600)
    [practice], [contest] = (entries_of(stage.board, which, stage.now) for which in (PRACTICE, CONTEST))
    assert (practice.value.ratio, contest.value.ratio) == (0.6, 0.8)


def test_what_is_sent_while_frozen_is_seen_from_the_reveal_on(stage: Stage) -> None:
    early = ranked(stage, stage.ada, 0.9)
    schedule(freeze_at=stage.later(60))
    hidden = ranked(stage, stage.ben, 0.6)
    assert names(stage) == ["ada"]
    assert board_shown(stage, in_full=True) == ["ben", "ada"]
    standing = standing_of(hidden, now=stage.now)
    assert standing
    assert (standing.rank, standing.is_shown) == (None, False)
    assert status_of(hidden, now=stage.now).published, "its owner is told that it counts"
    early.board.competition.refresh_from_db()
    assert status_of(early, now=stage.now).rank == 1, "not 2: that would tell of the other"
    schedule(revealed_at=stage.later(1))
    assert names(stage) == ["ben", "ada"]
    hidden.board.competition.refresh_from_db()
    assert status_of(hidden, now=stage.now).rank == 1


def board_shown(stage: Stage, *, in_full: bool) -> list[str]:
    board = Board.objects.with_parts().get(pk=stage.board.pk)
    lines = board_entries(board, "", stage=CONTEST, now=stage.now, in_full=in_full)
    return [line.entry.owner.username for line in lines]


def test_judging_late_changes_nothing_about_when_it_was_sent(stage: Stage) -> None:
    submission = stage.submit(stage.ada)
    schedule(freeze_at=stage.later(60), deadline=stage.later(60))
    stage.later(3600)
    stage.judge(submission)
    assert names(stage) == ["ada"]


def test_a_frozen_epoch_is_not_told_either(stage: Stage) -> None:
    ranked(stage, stage.ada, 0.9, epoch="driver-1")
    schedule(freeze_at=stage.later(60))
    ranked(stage, stage.ben, 0.6, epoch="driver-2")
    board = Board.objects.with_parts().get(pk=stage.board.pk)
    assert [epoch.name for epoch in board_epochs(board, stage=CONTEST, now=stage.now)] == ["driver-1"]
    assert names(stage) == ["ada"]


def test_a_run_that_is_frozen_has_its_own_time_and_changes_no_others(stage: Stage) -> None:
    early = ranked(stage, stage.ada, 0.9)
    schedule(freeze_at=stage.later(60))
    hidden = stage.submit(stage.ben)
    stage.judge(hidden, ratio=0.8, score_us=8000.0)
    assert status_of(early, now=stage.now).score_us == 900.0, "the frozen run has another baseline"
    seen = status_of(hidden, now=stage.now)
    assert (seen.score_us, seen.standing and seen.standing.score_us) == (8000.0, 8000.0)


def test_screening_still_knows_what_is_frozen(stage: Stage) -> None:
    schedule(freeze_at=NOON)
    ranked(stage, stage.ada, 0.6)
    assert incumbent_ratio(epoch="", without=stage.submit(stage.ben)) == 0.6


def test_the_next_kernel_ranks_when_the_better_one_is_withdrawn(stage: Stage) -> None:
    ranked(stage, stage.ada, 0.9)
    better = ranked(stage, stage.ada, 0.6)
    ranked(stage, stage.ben, 0.8)
    assert names(stage) == ["ada", "ben"]
    withdraw(submission=better)
    assert names(stage) == ["ben", "ada"]


class Sent(NamedTuple):
    owner: int
    kernel: int
    ratio: float
    minute: int


ratios = st.sampled_from([0.97, 0.974, 0.98, 1.0, 1.1])
moves = st.lists(st.builds(Sent, st.integers(0, 2), st.integers(0, 2), ratios, st.integers(0, 9)), max_size=8)
with_stage = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def put(stage: Stage, sent: list[Sent]) -> None:
    """Write lines directly, without judging, because the ranking reads only the table."""
    Entry.objects.all().delete()
    for number, one in enumerate(sent):
        submission = stage.submit((stage.ada, stage.ben, stage.cleo)[one.owner], kernel=one.kernel + 1)
        at = NOON + timedelta(minutes=one.minute, microseconds=number)
        Entry.objects.create(
            board=stage.board,
            owner=submission.owner,
            entrant=submission.entrant,
            submission=submission,
            attempt=Attempt.objects.get(submission=submission),
            score_us=1000 * one.ratio,
            ratio=one.ratio,
            half_width=0.001,
            code_digest=submission.kernel,
            submitted_at=at,
            published_at=at,
        )


def order(stage: Stage) -> list[tuple[int, bool, str, float, datetime]]:
    return [
        (line.rank, line.is_tied, line.entry.owner.username, line.score_us, line.value.submitted_at)
        for line in entries_of(stage.board, CONTEST, NOON + timedelta(hours=1))
    ]


@pytest.fixture
def _no_quota(settings: Any) -> None:
    settings.SUBMISSIONS_PER_HOUR = settings.UNFINISHED_AT_ONCE = 10_000


@pytest.mark.usefixtures("_no_quota")
@with_stage
@given(sent=moves, minute=st.integers(0, 10))
def test_a_frozen_board_equals_the_board_at_the_freeze(stage: Stage, sent: list[Sent], minute: int) -> None:
    schedule(freeze_at=NOON + timedelta(minutes=minute))
    put(stage, sent)
    frozen = order(stage)
    schedule(freeze_at=None)
    Entry.objects.filter(submitted_at__gte=NOON + timedelta(minutes=minute)).delete()
    assert order(stage) == frozen


@pytest.mark.usefixtures("_no_quota")
@with_stage
@given(sent=moves, gone=st.sets(st.integers(0, 7)))
def test_what_is_withdrawn_equals_what_was_never_published(stage: Stage, sent: list[Sent], gone: set[int]) -> None:
    put(stage, sent)
    for at, entry in enumerate(Entry.objects.order_by("submission_id").select_related("submission")):
        if at in gone:
            withdraw(submission=entry.submission)
    left = [line[:4] for line in order(stage)]
    put(stage, [one for at, one in enumerate(sent) if at not in gone])
    assert [line[:4] for line in order(stage)] == left
