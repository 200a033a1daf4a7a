"""A runner proposes a new timing epoch and a person decides it: a runner's hello never empties a board."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from leaderboard.audit.models import Row
from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.competitions.models import Competition, Prize, Track
from leaderboard.errors import UserError
from leaderboard.judging.epochs import MOST_PROPOSED, propose_epoch
from leaderboard.judging.models import Epoch, EpochPin, Runner
from leaderboard.judging.runners import greet
from leaderboard.pipeline import claim_work
from leaderboard.standings.epochs import choose_epoch, dismiss_epoch, move_pin
from leaderboard.standings.models import Revision
from leaderboard.standings.read.boards import look
from tests.leaderboard.board_lines import board_entries
from tests.leaderboard.stage import NOON, PLENTY, Stage, make_board, make_runner

CONTEST = CalendarStage.CONTEST
OLD, NEW = "driver-535", "driver-550"
MANY = 29


def hello(stage: Stage, name: str, epoch: str) -> Runner:
    runner = Runner.objects.filter(name=name).first() or make_runner(name)
    greet(runner=runner, fingerprint={"driver": epoch}, epoch=epoch, now=stage.now)
    runner.refresh_from_db()
    return runner


def ranked_lines(stage: Stage, calendar_stage: CalendarStage = CONTEST) -> int:
    return len(look(stage.board, stage=calendar_stage, now=stage.now).current.places)


def fill(stage: Stage, lines: int, runner: Runner) -> None:
    """Create `lines` ranked lines, each of a different competitor."""
    from leaderboard.accounts.models import User

    for number in range(lines):
        owner = User.objects.create_user(f"competitor-{number}")
        stage.submit(owner)
        job = claim_work(runner=runner, now=stage.now)
        assert job is not None
        stage.report(job, runner=runner, ratio=0.9 - number / 200)


def state(name: str) -> str:
    return Epoch.objects.get(name=name).state


def test_ranked_lines_stay_ranked_when_a_runner_of_another_epoch_says_hello_and_reports(stage: Stage) -> None:
    """Regression: a single report of a second host reduced 29 ranked lines to 1."""
    old = hello(stage, "old", OLD)
    fill(stage, MANY, old)
    assert ranked_lines(stage) == MANY
    new = hello(stage, "new", NEW)
    assert ranked_lines(stage) == MANY
    stage.submit(stage.cleo)
    job = claim_work(runner=old, now=stage.now)
    assert job is not None
    assert stage.report(job, runner=old, ratio=0.8, epoch=NEW)  # its driver changed during the measurement
    assert ranked_lines(stage) == MANY
    assert [line.entry.owner.username for line in board_entries(stage.board, NEW, stage=CONTEST, now=stage.now)] == [
        "cleo"
    ], "kept, in its own epoch"
    assert (state(OLD), state(NEW), new.epoch) == ("current", "proposed", NEW)


def test_epoch_of_the_first_runner_of_a_hardware_is_current_at_once(stage: Stage) -> None:
    assert propose_epoch(hardware="cpu", name=OLD, fingerprint={}, now=stage.now) == "current"
    assert propose_epoch(hardware="cpu", name=NEW, fingerprint={}, now=stage.now) == "proposed"
    assert propose_epoch(hardware="cpu", name=OLD, fingerprint={}, now=stage.now) == "current"
    assert propose_epoch(hardware="H200", name=NEW, fingerprint={}, now=stage.now) == "current"


def test_first_epoch_displaces_no_line_that_ranks_without_one(stage: Stage) -> None:
    stage.judge(stage.submit())
    assert propose_epoch(hardware="cpu", name=OLD, fingerprint={}, now=stage.now) == "proposed"
    assert ranked_lines(stage) == 1


def test_database_refuses_two_current_epochs_of_one_hardware(stage: Stage) -> None:
    hello(stage, "old", OLD)
    hello(stage, "new", NEW)
    with pytest.raises(IntegrityError, match="one_current_epoch_a_hardware"), transaction.atomic():
        Epoch.objects.filter(name=NEW).update(state=Epoch.CURRENT, current_since=NOON)


def test_runner_claims_timed_work_of_its_own_epoch_only_and_tests_in_any(stage: Stage) -> None:
    old, new = hello(stage, "old", OLD), hello(stage, "new", NEW)
    timed = [stage.submit(mode="ranked"), stage.submit(mode="benchmark")]
    assert claim_work(runner=new, now=stage.now) is None
    test = stage.submit(mode="test")
    job = claim_work(runner=new, now=stage.now)
    assert job is not None
    assert job.submission_id == str(test.pk)
    others = [hello(stage, name, NEW) for name in ("new-2", "new-3")]
    assert claim_work(runner=others[0], now=stage.now) is None
    stage.choose(NEW)
    assert claim_work(runner=old, now=stage.now) is None
    jobs = [claim_work(runner=runner, now=stage.now) for runner in others]
    assert {job.submission_id for job in jobs if job} == {str(submission.pk) for submission in timed}


@pytest.mark.parametrize("by", ["deadline", "prize", "neither"])
def test_contest_with_a_deadline_or_a_prize_pins_the_epoch_of_its_first_line(stage: Stage, by: str) -> None:
    competition = stage.board.competition
    if by == "deadline":
        competition.deadline = stage.now + timedelta(days=9)
        competition.save()
    elif by == "prize":
        track = Track.objects.create(competition=competition, slug="t", name="T", kind=Track.OVERALL)
        Prize.objects.create(track=track, place=1, amount=1, currency="EUR")
    old, new = hello(stage, "old", OLD), hello(stage, "new", NEW)
    fill(stage, 2, old)
    stage.choose(NEW)
    stage.submit(stage.cleo)
    if by == "neither":
        assert (EpochPin.objects.count(), ranked_lines(stage)) == (0, 0)
        assert claim_work(runner=old, now=stage.now) is None
        assert claim_work(runner=new, now=stage.now) is not None
    else:
        assert (EpochPin.objects.get().epoch, ranked_lines(stage)) == (OLD, 2)
        assert claim_work(runner=new, now=stage.now) is None
        assert claim_work(runner=old, now=stage.now) is not None


def test_pin_binds_the_contest_and_not_what_is_sent_afterwards(stage: Stage) -> None:
    competition = stage.board.competition
    competition.deadline = stage.now + timedelta(hours=1)
    competition.save()
    old, new = hello(stage, "old", OLD), hello(stage, "new", NEW)
    fill(stage, 2, old)
    stage.choose(NEW)
    stage.later(7200)
    competition.final_at = stage.now
    competition.save()
    stage.submit(stage.cleo)
    assert claim_work(runner=old, now=stage.now) is None
    job = claim_work(runner=new, now=stage.now)
    assert job is not None
    stage.report(job, runner=new)
    assert (ranked_lines(stage), ranked_lines(stage, CalendarStage.AFTERWARDS)) == (2, 1)


def test_move_pin_is_an_act_with_a_reason_and_an_audit_row(stage: Stage) -> None:
    competition = stage.board.competition
    competition.deadline = stage.now + timedelta(days=9)
    competition.save()
    old = hello(stage, "old", OLD)
    hello(stage, "new", NEW)
    fill(stage, 2, old)
    told = {"competition": competition, "hardware": "cpu", "actor": stage.olga, "now": stage.now}
    with pytest.raises(UserError, match="reason"):
        move_pin(name=NEW, reason=" ", **told)
    with pytest.raises(UserError, match="no such epoch of cpu"):
        move_pin(name="none", reason="a slip", **told)
    move_pin(name=NEW, reason="the old host burned", **told)
    row = Row.objects.get(act="move_epoch_pin")
    assert (row.reason, row.before) == ("the old host burned", {"hardware": "cpu", "epoch": OLD})
    assert (EpochPin.objects.get().epoch, ranked_lines(stage)) == (NEW, 0)
    with pytest.raises(UserError, match="already"):
        move_pin(name=NEW, reason="twice", **told)


def test_choose_epoch_and_move_pin_renew_the_revisions_of_the_boards_concerned(stage: Stage) -> None:
    """Regression: what waits for a new revision, such as notices of overtakings, missed both acts."""
    other = Competition.objects.create(slug="other", name="Other", quotas=PLENTY)
    boards = [make_board("vectoradd"), make_board("gemm", competition=other), make_board("softmax", "H200")]
    old = hello(stage, "old", OLD)
    hello(stage, "new", NEW)
    for board, runner in zip(boards, (old, old, make_runner("h200", "H200")), strict=True):
        stage.submit(board=board)
        job = claim_work(runner=runner, now=stage.now)
        assert job is not None
        stage.report(job, runner=runner)

    def renewed(before: dict[int, Any]) -> list[bool]:
        return [before[board.pk] != Revision.objects.get(board=board).token for board in boards]

    before = dict(Revision.objects.values_list("board", "token"))
    stage.choose(NEW)
    assert renewed(before) == [True, True, False]
    before = dict(Revision.objects.values_list("board", "token"))
    told: dict[str, Any] = {"hardware": "cpu", "actor": stage.olga, "reason": "as announced", "now": stage.now}
    move_pin(competition=stage.board.competition, name=OLD, **told)
    assert renewed(before) == [True, False, False]


def test_dismiss_epoch_leaves_it_unranked_until_a_person_makes_it_current(stage: Stage) -> None:
    hello(stage, "old", OLD)
    new = hello(stage, "new", NEW)
    dismiss_epoch(hardware="cpu", name=NEW, actor=stage.olga, reason="a wrong driver", now=stage.now)
    hello(stage, "new", NEW)
    stage.submit()
    assert (state(NEW), claim_work(runner=new, now=stage.now)) == ("dismissed", None)
    assert Row.objects.get(act="dismiss_epoch").reason == "a wrong driver"
    with pytest.raises(UserError, match="only a proposed epoch"):
        dismiss_epoch(hardware="cpu", name=OLD, actor=stage.olga, reason="a slip", now=stage.now)
    stage.choose(NEW)
    with pytest.raises(UserError, match="already"):
        choose_epoch(hardware="cpu", name=NEW, actor=stage.olga, reason="twice", now=stage.now)
    assert (state(OLD), state(NEW)) == ("retired", "current")


def test_hello_with_an_unreadable_fingerprint_opens_no_epoch(stage: Stage) -> None:
    with pytest.raises(UserError, match=r"fingerprint\.gpu: the runner could not read it.*nvidia-smi"):
        greet(runner=stage.rex, fingerprint={"gpu": "unknown", "nvml": "NVMLError"}, epoch=NEW, now=stage.now)
    assert not Epoch.objects.exists()


def test_a_report_with_an_unreadable_fingerprint_is_kept_and_opens_no_epoch(stage: Stage) -> None:
    fill(stage, 1, hello(stage, "old", OLD))
    stage.submit(stage.cleo)
    stage.report(stage.claim(), epoch=NEW, evidence={"fingerprint": {"gpu": "unknown"}})
    assert [epoch.name for epoch in Epoch.objects.all()] == [OLD]
    assert ranked_lines(stage) == 1


def test_proposed_epochs_of_a_hardware_are_limited(stage: Stage) -> None:
    for number in range(MOST_PROPOSED + 1):
        propose_epoch(hardware="cpu", name=f"e{number}", fingerprint={}, now=stage.now)
    with pytest.raises(UserError, match="dismiss some"):
        propose_epoch(hardware="cpu", name="one-more", fingerprint={}, now=stage.now)
    assert propose_epoch(hardware="cpu", name="e1", fingerprint={}, now=stage.now) == "proposed"


def test_a_first_place_in_an_unranked_epoch_asks_for_no_confirmation(stage: Stage) -> None:
    from leaderboard.confirmations.models import Confirmation

    fill(stage, 2, hello(stage, "old", OLD))
    for owner, ratio in ((stage.ben, 0.85), (stage.cleo, 0.82)):
        stage.judge(stage.submit(owner), epoch=NEW, ratio=ratio)
    assert len(board_entries(stage.board, NEW, stage=CONTEST, now=stage.now)) == 2
    assert not Confirmation.objects.exists()


def test_commands_choose_dismiss_and_pin_say_what_is_wrong(stage: Stage) -> None:
    hello(stage, "old", OLD)
    hello(stage, "new", NEW)
    call_command("choose_epoch", "cpu", NEW, reason="updated")
    assert (state(NEW), state(OLD)) == ("current", "retired")
    with pytest.raises(CommandError, match="already"):
        call_command("choose_epoch", "cpu", NEW, reason="updated")
    call_command("pin_epoch", stage.board.competition.slug, "cpu", OLD, reason="the contest began with it")
    assert EpochPin.objects.get().epoch == OLD
    with pytest.raises(CommandError, match="no such competition"):
        call_command("pin_epoch", "none", "cpu", OLD, reason="a slip")
