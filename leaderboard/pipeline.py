"""The life of a submission on one page: which act follows which. Each function is one transaction.

    enter           redeem a code → rules accepted → entrant
    submit          intake.check → admitted? → quota → entrant → store, its cost, fingerprints → enqueue (event, bell)
    (a runner)      claim.claim_next → announce.announce … → report below, or sweep.expire_leases when it dies
    take_report     report.record_report → screen → publish | hold | withdraw → reference times (site worker)
                    … and where that takes first place of a contest: a confirmation is asked for
                    what it cost is given back where we failed
    take_confirmation  keep its verdict; a candidate that failed on fresh seeds is held
    publish_result  decide → publish
    reject_result   decide → withdraw
    import_set      uploads.apply_upload → a gate for each new version: an admission test
    add_board       edit_boards.add_board → the same for its version
    claim_work      what a runner gets next: an attempt, or a confirmation or an admission test where nothing else waits

The rooms below do not know each other upwards; only this page does.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.admissions.claim import claim_test
from leaderboard.admissions.door import check_admitted
from leaderboard.admissions.imported import ask_for_added, ask_for_imported
from leaderboard.competitions import edit_boards
from leaderboard.competitions.invites import redeem_code
from leaderboard.competitions.models import Board, Competition, SetUpload
from leaderboard.competitions.uploads import apply_upload
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.claim import claim_confirmation
from leaderboard.confirmations.models import FAILED, RECORD
from leaderboard.confirmations.report import record_confirmation
from leaderboard.entrants import enter as entering
from leaderboard.entrants.models import Entrant
from leaderboard.judging.claim import claim_next
from leaderboard.judging.enqueue import enqueue
from leaderboard.judging.models import Result, Runner
from leaderboard.judging.remeasure import is_spoiled
from leaderboard.judging.report import record_report
from leaderboard.judging.usage import give_back_if_ours, usage_of
from leaderboard.review import fingerprints
from leaderboard.review.decide import decide
from leaderboard.review.failed_record import hold_failed_record
from leaderboard.review.models import Decision
from leaderboard.review.screen import screen
from leaderboard.standings.admission import refusal
from leaderboard.standings.boards import incumbent_ratio
from leaderboard.standings.publish import publish, withdraw
from leaderboard.standings.records import contest_leader
from leaderboard.submissions import intake
from leaderboard.submissions.ledger import check_left, spend
from leaderboard.submissions.models import Submission
from leaderboard.submissions.quota import check_quota
from runner.wire import Job, Report

PATIENCE: Final = timedelta(minutes=5)  # an admission test that waits longer comes before attempts
LEARN_REFERENCE_TIMES: Final = "learn_reference_times"  # an actor of leaderboard/actors.py


def submit(
    *, owner: User, board_slug: str, hardware: str, mode: str, filename: str, data: bytes, now: datetime
) -> Submission:
    """Take a submission in and queue it. Raises UserError that names the field; never fails for want of the broker."""
    checked = intake.check(
        owner=owner, board_slug=board_slug, hardware=hardware, mode=mode, filename=filename, data=data, now=now
    )
    check_admitted(checked.board)
    taken = fingerprints.take(checked.source, checked.board.version)
    with transaction.atomic():
        # One at a time, or two could share the last place; and by whichever login, it is the account's.
        owner = User.objects.select_for_update(no_key=True).get(pk=owner.account_id)
        check_quota(
            usage_of(owner, now=now),
            per_hour=settings.SUBMISSIONS_PER_HOUR,
            unfinished_at_once=settings.UNFINISHED_AT_ONCE,
            now=now,
        )
        check_left(owner=owner, board=checked.board, mode=checked.mode, now=now)
        entrant = entering.enter_by_submitting(user=owner, competition=checked.board.competition, now=now)
        submission = intake.store(checked, owner=owner, entrant=entrant)
        spend(submission=submission, now=now)
        fingerprints.keep(taken, submission=submission)
        enqueue(submission=submission, now=now)
    return submission


def enter(*, user: User, competition: Competition, code: str, rules_digest: str, now: datetime) -> Entrant:
    """Enter a competition, or accept its rules anew.

    A code that is good stays used where the rules have yet to be accepted: one has to see them first.
    """
    if code:
        redeem_code(text=code, user=user, now=now)
    return entering.enter(user=user, competition=competition, accepted=rules_digest, now=now)


@transaction.atomic
def import_set(*, upload: SetUpload, actor: User, now: datetime) -> bool:
    """What an organiser was shown becomes true; nothing of it takes submissions before it passed its admission test."""
    applied = apply_upload(upload=upload, actor=actor, now=now)
    if applied:
        ask_for_imported(actor=actor, now=now)
    return applied


@transaction.atomic
def add_board(*, competition: Competition, actor: User, now: datetime, **settings: Any) -> Board:
    """`settings` of edit_boards.add_board. It takes no submissions before its version passed its admission test."""
    board = edit_boards.add_board(competition=competition, actor=actor, now=now, **settings)
    ask_for_added(board=board, actor=actor, now=now)
    return board


def claim_work(*, runner: Runner, now: datetime) -> Job | None:
    """An attempt if there is one; other work where there is none, or where it has waited for longer than PATIENCE."""
    waited = now - PATIENCE
    return (
        claim_test(runner=runner, now=now, asked_before=waited)
        or claim_confirmation(runner=runner, now=now, asked_before=waited)
        or claim_next(runner=runner, now=now)
        or claim_confirmation(runner=runner, now=now)
        or claim_test(runner=runner, now=now)
    )


@transaction.atomic
def take_report(*, runner: Runner, report: Report, now: datetime) -> bool:
    """Keep a runner's report and settle what follows from it. False: this attempt's report is kept already."""
    result = record_report(runner=runner, report=report, now=now)
    if result is None:
        return False
    give_back_if_ours(result.attempt, now=now)
    submission = result.attempt.submission
    if submission.mode == "ranked":
        _settle(result, submission, now)
    if result.ratio is not None:
        _learn_later(result)
    return True


@transaction.atomic
def take_confirmation(*, pk: int, runner: Runner, report: Report, now: datetime) -> bool:
    """Keep what a runner found about a record. False: this confirmation's report is kept already."""
    asked = record_confirmation(pk=pk, runner=runner, report=report, now=now)
    if asked is None:
        return False
    if asked.outcome == FAILED and hold_failed_record(asked, now=now):
        withdraw(submission=asked.candidate)
    return True


@transaction.atomic
def publish_result(*, result: Result, actor: User, reason: str, now: datetime) -> Decision:
    """An organiser finds a held result sound: it ranks from now on, by its time of submission."""
    decision = decide(result=result, act=Decision.PUBLISH, actor=actor, reason=reason, now=now)
    _publish(result, now)
    return decision


@transaction.atomic
def reject_result(*, result: Result, actor: User, reason: str, now: datetime) -> Decision:
    decision = decide(result=result, act=Decision.REJECT, actor=actor, reason=reason, now=now)
    withdraw(submission=result.attempt.submission)
    return decision


def _settle(result: Result, submission: Submission, now: datetime) -> None:
    """A line stands only while the newest verdict on its submission is a pass that nothing holds."""
    if result.outcome == "infra_error" or is_spoiled(result.outcome, result.reason):
        return  # our failure says nothing about the kernel: what an earlier attempt earned stays
    if _may_rank(result, submission, now):
        _publish(result, now)
    else:
        withdraw(submission=submission)


def _publish(result: Result, now: datetime) -> None:
    """Its line is on the board; where it takes first place from somebody in a contest, five more runs must show it."""
    submission = result.attempt.submission
    first = contest_leader(board=submission.board, epoch=result.epoch, submitted_at=submission.created_at)
    publish(result=result, now=now)
    if first is None or first.entrant_id == submission.entrant_id:
        return
    now_first = contest_leader(board=submission.board, epoch=result.epoch, submitted_at=submission.created_at)
    if now_first is not None and now_first.entrant_id == submission.entrant_id:
        incumbent = Submission.objects.get(pk=first.submissions[0])
        ask_confirmation(candidate=submission, incumbent=incumbent, cause=RECORD, actor=None, now=now)


def _may_rank(result: Result, submission: Submission, now: datetime) -> bool:
    if result.outcome != "passed" or refusal(telemetry=result.telemetry):
        return False
    best = incumbent_ratio(board=submission.board, epoch=result.epoch, without=submission)
    return not screen(result=result, incumbent_ratio=best, now=now)


def _learn_later(result: Result) -> None:
    told = {
        "problem_digest": result.attempt.version.digest,
        "hardware": result.attempt.hardware,
        "epoch": result.epoch,
    }
    transaction.on_commit(lambda: broker.send_chore(LEARN_REFERENCE_TIMES, **told))
