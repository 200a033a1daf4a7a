"""Lock order of acts on many rows: two acts never deadlock, and a dry run waits for no lock."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from leaderboard import pipeline, publication
from leaderboard.accounts.logins import link
from leaderboard.accounts.models import User
from leaderboard.awards.life import announce_award, approve_award, confirm_award, propose_award
from leaderboard.competitions.edit import close_board, put_prize
from leaderboard.judging import batches
from leaderboard.judging import report as reports
from leaderboard.judging.models import Attempt, Epoch, RejudgeSet, Result
from leaderboard.rejudging import apply
from leaderboard.review.models import Case
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import retract
from leaderboard.submissions.models import Submission
from tests.leaderboard.awarding import over, sent, track
from tests.leaderboard.judging.test_batch_repeats_verdicts import KERNEL, send
from tests.leaderboard.rejudging_stage import everything, judge_shadow, set_of
from tests.leaderboard.stage import Stage, make_board

HELD_ROWS = ("accounts_user", "entrants_entrant", "judging_attempt", "judging_rejudgeset", "standings_revision")


@contextmanager
def held_rows() -> Iterator[None]:
    """Hold locks on every row of HELD_ROWS in another transaction."""
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for table in HELD_ROWS:
                    cursor.execute(f"SELECT 1 FROM {table} FOR UPDATE")
                holds.set()
                done.wait(20)
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(20)
    try:
        yield
    finally:
        done.set()
        thread.join(20)


def judged_again(stage: Stage) -> RejudgeSet:
    """Return a set of submissions: published, held, without a line, retracted, without a verdict and unfinished."""
    verdicts: list[dict[str, Any]] = [
        {"ratio": 0.85},
        {"ratio": 0.1},
        {"outcome": "wrong"},
        {"ratio": 0.8},
        {"outcome": "infra_error"},
    ]
    sent: list[Submission] = []
    for number in range(len(verdicts) + 1):
        stage.judge(submission := stage.submit(), ratio=0.9 - number / 100)
        sent.append(submission)
    retract(submission=sent[3], actor=stage.ada, reason="slow", now=stage.later(1))
    chosen = set_of(stage, *sent)
    for submission, told in zip(sent, verdicts, strict=False):
        judge_shadow(stage, submission, **told)
    return chosen


def test_try_rejudging_says_what_apply_rejudging_does(stage: Stage) -> None:
    chosen = judged_again(stage)
    tried = apply.try_rejudging(chosen=chosen, actor=stage.olga, now=stage.now)
    assert tried == {"applied": 4, "no_verdict": 2, "published": 1, "held": 1, "failed": 2}
    assert tried == apply.apply_rejudging(
        chosen=chosen, actor=stage.olga, reason="a bug", now=stage.now, leave_out=True, anyway=True
    )


def test_try_rejudging_waits_for_no_row_and_writes_nothing(live_stage: Stage) -> None:
    chosen = judged_again(live_stage)
    rows = everything()
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 300")
    try:
        with held_rows():
            tried = apply.try_rejudging(chosen=chosen, actor=live_stage.olga, now=live_stage.now)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert tried["published"] == 1
    assert everything() == rows
    assert Attempt.objects.filter(state="queued").count() == 1


def test_stand_each_of_two_accounts_on_two_boards_does_not_deadlock(
    live_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = make_board("vectoradd")
    for owner, boards in ((live_stage.ada, (live_stage.board, second)), (live_stage.ben, (second, live_stage.board))):
        for board in boards:
            live_stage.judge(live_stage.submit(owner, board=board))
    both, withdraw = threading.Barrier(2), publication.withdraw
    failed: list[Exception] = []

    def slow_withdraw(*, submission: Submission, attempt: Attempt) -> bool:
        done = withdraw(submission=submission, attempt=attempt)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(2)  # both have taken a line off a board, and neither waits yet
        return done

    def suspend(user: User) -> None:
        try:
            pipeline.suspend_account(
                user=user, competition=None, actor=live_stage.olga, reason="two accounts", now=live_stage.now
            )
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(publication, "withdraw", slow_withdraw)
    threads = [threading.Thread(target=suspend, args=(user,)) for user in (live_stage.ada, live_stage.ben)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failed
    assert not Entry.objects.exists()


def test_unlink_login_beside_a_report_on_that_login_does_not_deadlock(
    live_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report locks the account and references the login at commit; unlinking locks the login, then the account."""
    stage = live_stage
    second = User.objects.create_user("ada2")
    stage.judge(stage.submit(stage.ada))
    stage.submit(second)
    link(one=stage.ada, other=second, keep="ada", now=stage.later(1))
    second.refresh_from_db()
    told: dict[str, Any] = {"competition": None, "actor": stage.olga, "reason": "a mistake"}
    pipeline.suspend_account(user=stage.ada, now=stage.later(1), **told)
    pipeline.reinstate_account(user=stage.ada, now=stage.later(1), **told)
    job, both = stage.claim(), threading.Barrier(2)
    failed: list[Exception] = []

    def meet(act: Callable[..., Any]) -> Callable[..., Any]:
        """Delay the end of the first call of `act` until both threads arrive."""
        calls: list[Any] = []

        def slow(**given: Any) -> Any:
            done = act(**given)
            calls.append(given)
            if len(calls) == 1:
                both.wait(10)
            return done

        return slow

    def run(act: Callable[[], Any]) -> None:
        try:
            act()
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(publication, "publish", meet(publication.publish))
    monkeypatch.setattr(pipeline, "unlink", meet(pipeline.unlink))
    acts: list[Callable[[], Any]] = [
        lambda: stage.report(job),
        lambda: pipeline.unlink_login(login=second, actor=stage.olga, reason="two people", now=stage.now),
    ]
    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failed
    assert Entry.objects.count() == 2


def together(*acts: Callable[[], Any]) -> list[Exception]:
    """Do the acts in threads of their own; return their errors."""
    failed: list[Exception] = []

    def run(act: Callable[[], Any]) -> None:
        try:
            act()
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return failed


def meeting(both: threading.Barrier, act: Callable[..., Any]) -> Callable[..., Any]:
    """Return the act with a wait at its end, until both threads arrive or one of them waits for the other's lock."""

    def slow(*args: Any, **given: Any) -> Any:
        done = act(*args, **given)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(2)
        return done

    return slow


def test_put_prize_waits_for_an_award_that_is_being_announced(live_stage: Stage) -> None:
    stage = live_stage
    sent(stage, stage.ada, 0.6)
    over(stage)
    made = track(stage, 1000)
    act: dict[str, Any] = {"actor": stage.olga, "now": stage.now}
    prize = {"place": 1, "amount": None, "currency": "", "sponsor": "", "text": "a card"}
    award = propose_award(track=made, **act)
    confirm_award(award=award, **act)
    approve_award(award=award, reason="as ranked", **act)
    failed: list[Exception] = []
    change = threading.Thread(target=lambda: failed.extend(together(lambda: put_prize(track=made, **act, **prize))))
    with transaction.atomic():
        announce_award(award=award, **act)
        change.start()
        change.join(0.3)
    change.join(20)
    assert [str(error) for error in failed if "its winners are announced" in str(error)]
    assert made.prizes.get().text == ""


def test_reject_result_beside_a_report_on_the_same_kernel_sees_it_or_is_seen(
    live_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = live_stage
    held = stage.judge(stage.submit(stage.ada, kernel=7), ratio=0.2)
    stage.submit(stage.ada, kernel=7)
    job, both = stage.claim(), threading.Barrier(2)
    monkeypatch.setattr(publication, "look", meeting(both, publication.look))
    monkeypatch.setattr(publication, "others_of", meeting(both, publication.others_of))
    told: dict[str, Any] = {"result": held, "actor": stage.olga, "reason": "made for the tests", "now": stage.now}
    assert not together(lambda: stage.report(job), lambda: pipeline.reject_result(**told))
    assert not Entry.objects.exists()
    assert Case.objects.get(result__attempt=int(job.attempt_id)).state == "waiting"


def test_apply_rejudging_beside_a_report_in_the_same_new_epoch_does_not_deadlock(
    live_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report opens its epoch, then locks its board. Applying a set once locked the boards first."""
    stage = live_stage
    stage.judge(stage.submit(stage.ada))
    chosen = set_of(stage, Submission.objects.get())
    judge_shadow(stage, Submission.objects.get(), epoch="driver-2")
    stage.submit(stage.ben)
    job, both = stage.claim(), threading.Barrier(2)
    monkeypatch.setattr(reports, "propose_epoch", meeting(both, reports.propose_epoch))
    monkeypatch.setattr(publication, "lock_all", meeting(both, publication.lock_all))
    told: dict[str, Any] = {"chosen": chosen, "actor": stage.olga, "reason": "a bug", "now": stage.now}
    assert not together(lambda: stage.report(job, epoch="driver-2"), lambda: apply.apply_rejudging(**told, anyway=True))
    assert Epoch.objects.filter(name="driver-2").exists()
    assert set(Entry.objects.values_list("epoch", flat=True)) == {"driver-2"}


def test_close_board_beside_a_report_on_that_board_does_not_deadlock(
    live_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report holds the board's revision, which closing renews, and refers to the board's key at its commit."""
    stage = live_stage
    stage.judge(stage.submit(stage.ben))
    stage.submit(stage.ada)
    job, both = stage.claim(), threading.Barrier(2)
    monkeypatch.setattr(publication, "publish", meeting(both, publication.publish))

    def close() -> None:
        with transaction.atomic():
            meeting(both, close_board)(board=stage.board, actor=stage.olga, reason="a fault", now=stage.later(9))

    assert not together(lambda: stage.report(job), close)
    assert Entry.objects.count() == 2


def test_sending_a_batch_beside_the_settling_of_another_does_not_deadlock(
    live_stage: Stage, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both read a stored verdict of the same account, and change its quota."""
    settings.REPORT_STORE = f"file://{tmp_path}"
    send(live_stage, KERNEL, f"# again\n{KERNEL}")
    job, both = live_stage.claim(), threading.Barrier(2)
    monkeypatch.setattr(batches, "stored_verdicts", meeting(both, batches.stored_verdicts))
    monkeypatch.setattr(pipeline, "_lock_account", meeting(both, pipeline._lock_account))
    assert not together(lambda: live_stage.report(job), lambda: send(live_stage, KERNEL))
    assert Result.objects.filter(attempt__runner=None).exists(), "the equal kernel got the stored verdict"
