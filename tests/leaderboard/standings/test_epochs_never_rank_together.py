"""A changed driver, power limit or judge opens a timing epoch; rankings never mix epochs; old epochs stay visible."""

import itertools

import pytest
from django.core.management import CommandError, call_command

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.judging.models import Epoch
from leaderboard.standings.epochs import choose_epoch
from leaderboard.standings.models import Entry
from leaderboard.standings.read.boards import standing_of
from leaderboard.standings.read.records import incumbent_ratio
from leaderboard.standings.read.status import status_of
from leaderboard.submissions.models import Submission
from tests.leaderboard.board_lines import board_entries, board_epochs
from tests.leaderboard.stage import Stage
from tests.leaderboard.standings.test_board_order import entries_of

CONTEST = CalendarStage.CONTEST
OLD, NEW = "driver-1", "driver-2"


def judged(stage: Stage, epoch: str, ratio: float, **told: object) -> Submission:
    submission = stage.submit(told.pop("owner", None), kernel=told.pop("kernel", None))  # type: ignore[arg-type]
    stage.judge(submission, epoch=epoch, ratio=ratio, score_us=1000 * ratio, **told)
    return submission


def names(stage: Stage) -> list[str]:
    return [epoch.name for epoch in board_epochs(stage.board, stage=CONTEST, now=stage.now)]


def owners(stage: Stage, epoch: str) -> list[str]:
    return [line.entry.owner.username for line in board_entries(stage.board, epoch, stage=CONTEST, now=stage.now)]


def test_no_ranking_holds_lines_of_two_epochs(stage: Stage, settings) -> None:
    settings.SUBMISSIONS_PER_HOUR = 100
    cast = (stage.ada, stage.ben, stage.cleo)
    for number, (epoch, owner) in enumerate(itertools.product(("", OLD, NEW), cast)):
        judged(stage, epoch, 0.99 - number / 20, owner=owner, kernel=1)
    for epoch in (OLD, NEW, ""):
        lines = board_entries(stage.board, epoch, stage=CONTEST, now=stage.now)
        assert {line.entry.epoch for line in lines} == {epoch}
        runs = Entry.objects.filter(submission__in=[pk for line in lines for pk in line.value.submissions])
        assert {run.epoch for run in runs} == {epoch}
        assert [line.rank for line in lines] == [1, 2, 3]
        best = min(line.value.ratio for line in lines)
        assert incumbent_ratio(epoch=epoch, without=stage.submit()) == best


def test_the_board_ranks_the_epoch_that_a_person_made_current(stage: Stage) -> None:
    old = judged(stage, OLD, 0.6)
    assert (names(stage), standing_of(old, now=stage.now).rank) == ([OLD], 1)  # type: ignore[union-attr]
    held = judged(stage, NEW, 0.4)
    pipeline.clear_result(result=held.attempts.get().result, actor=stage.olga, reason="it is sound", now=stage.now)
    assert names(stage) == [OLD, NEW], "a result of a proposed epoch is kept, and displaces nothing"
    kept = standing_of(held, now=stage.now)
    assert kept is not None
    assert (kept.rank, kept.is_current, kept.is_proposed) == (None, False, True)
    stage.choose(NEW)
    assert names(stage) == [NEW, OLD]
    new = judged(stage, NEW, 0.9, owner=stage.ben)
    assert [line.entry.owner.username for line in entries_of(stage.board)] == ["ada", "ben"]
    assert owners(stage, OLD) == ["ada"]
    standing = standing_of(old, now=stage.now)
    assert standing is not None
    assert (standing.rank, standing.is_current, status_of(old, now=stage.now).published) == (None, False, True)
    assert status_of(new, now=stage.now).rank == 2


def test_a_runner_that_was_not_updated_yet_does_not_bring_the_old_one_back(stage: Stage) -> None:
    judged(stage, OLD, 0.9)
    judged(stage, NEW, 0.9)
    stage.choose(NEW)
    judged(stage, OLD, 0.7, owner=stage.ben)
    assert names(stage) == [NEW, OLD]


def test_the_same_kernel_has_a_value_in_each(stage: Stage) -> None:
    old, new = judged(stage, OLD, 0.6, kernel=1), judged(stage, NEW, 0.9, kernel=1)
    assert [standing_of(it, now=stage.now).value.ratio for it in (old, new)] == [0.6, 0.9]  # type: ignore[union-attr]


def test_a_result_is_held_by_what_is_published_in_its_own_epoch(stage: Stage) -> None:
    judged(stage, OLD, 0.55)
    judged(stage, OLD, 0.3)
    assert status_of(judged(stage, NEW, 0.45, owner=stage.ben), now=stage.now).review == "under_review", (
        "of the baseline, not of 0.55"
    )


def test_an_organiser_brings_an_epoch_back(stage: Stage) -> None:
    judged(stage, OLD, 0.9)
    judged(stage, NEW, 0.8)
    stage.choose(NEW)
    choose_epoch(hardware="cpu", name=OLD, actor=stage.olga, reason="the driver was rolled back", now=stage.now)
    assert names(stage) == [OLD, NEW]
    assert Row.objects.filter(act="choose_epoch").latest("pk").reason == "the driver was rolled back"
    with pytest.raises(CommandError, match="there are driver-1, driver-2"):
        call_command("choose_epoch", "cpu", "driver-3", reason="a slip")
    assert Epoch.objects.count() == 2


def test_an_epoch_belongs_to_its_hardware(stage: Stage) -> None:
    judged(stage, OLD, 0.9)
    with pytest.raises(CommandError, match="no such epoch of H200; there are none"):
        call_command("choose_epoch", "H200", OLD, reason="a slip")
