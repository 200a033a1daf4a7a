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
    apply_rejudging a set out of the shadow: attempts become current → screen → publish | hold | withdraw, as one
    claim_work      what a runner gets next: an attempt, or a confirmation or an admission test where nothing else waits

The rooms below do not know each other upwards; only this page does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
from leaderboard.competitions.calendar import Stage, stage_of
from leaderboard.competitions.invites import redeem_code
from leaderboard.competitions.models import Board, Competition, SetUpload
from leaderboard.competitions.uploads import apply_upload
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.claim import claim_confirmation
from leaderboard.confirmations.models import FAILED, RECORD
from leaderboard.confirmations.report import record_confirmation
from leaderboard.entrants import enter as entering
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.judging.claim import claim_next
from leaderboard.judging.enqueue import enqueue
from leaderboard.judging.epochs import open_epoch
from leaderboard.judging.models import Attempt, RejudgeItem, RejudgeSet, Result, Runner
from leaderboard.judging.rejudge_select import Selection, select
from leaderboard.judging.rejudge_sets import begin_applying, end_applying, lock_currents
from leaderboard.judging.remeasure import is_spoiled
from leaderboard.judging.report import record_report
from leaderboard.judging.shadow import bring_to_light
from leaderboard.judging.usage import give_back_if_ours, usage_of
from leaderboard.review import fingerprints
from leaderboard.review.decide import decide
from leaderboard.review.failed_record import hold_failed_record
from leaderboard.review.models import Decision
from leaderboard.review.screen import screen
from leaderboard.standings.admission import refusal
from leaderboard.standings.boards import incumbent_ratio
from leaderboard.standings.publish import publish, withdraw
from leaderboard.standings.ranking import Value
from leaderboard.standings.records import contest_leader
from leaderboard.standings.rejudged import board_changes, fates_of, published_in, ranks_of
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
    if result.attempt.is_shadow:
        return True  # nothing follows until its set is applied
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


def select_for_rejudging(*, selection: Selection, competition: Competition, board: Board | None) -> list[Attempt]:
    return select(selection, competition=competition, board=board, published=published_in(competition, board))


@transaction.atomic
def apply_rejudging(
    *,
    chosen: RejudgeSet,
    actor: User,
    reason: str,
    now: datetime,
    leave_out: bool = False,
    anyway: bool = False,
) -> Counter[str] | None:
    """What was judged in the shadow becomes true, all of it at once; how many were published, held, … None: it was.

    Refuses while some are unfinished unless these are left out, and where a board would leave lines behind in an epoch
    that it then does not rank, unless that is wanted anyway.
    """
    items = begin_applying(chosen=chosen, actor=actor, reason=reason, leave_out=leave_out, now=now)
    if items is None:
        return None
    fates = fates_of(items, lock_currents(items))
    changes = board_changes(items, fates)
    if (behind := sum(change.left_behind for change in changes)) and not anyway:
        text = f"{behind} lines would stay behind in a timing epoch that their board then does not rank; judge them too"
        raise UserError("anyway", behind, f"{text}, or apply it anyway", status=409)
    told = Counter(fates.values())
    told.update(_bring_to_light([item.after for item in items if fates[item.pk] == RejudgeItem.APPLIED], now))
    ranks = [ranks_of(items, changes), ranks_of(items, board_changes(items, dict.fromkeys(fates, "")))]
    for item in items:
        item.became, (item.rank_before, item.rank_after) = fates[item.pk], [found[item.pk] for found in ranks]
    end_applying(chosen=chosen, items=items, actor=actor, reason=reason, told=dict(told), now=now)
    return told


def try_rejudging(
    *, chosen: RejudgeSet, actor: User, now: datetime, leave_out: bool = True, anyway: bool = True
) -> Counter[str]:
    """What applying it now would come to, held ones included: it is done, and taken back."""
    with transaction.atomic():
        told = apply_rejudging(chosen=chosen, actor=actor, reason="tried", now=now, leave_out=leave_out, anyway=anyway)
        transaction.set_rollback(True)
    return told or Counter()


def _bring_to_light(attempts: list[Attempt], now: datetime) -> Counter[str]:
    """All are screened against what stood before, so that the order in which they come plays no part."""
    results = [attempt.result for attempt in attempts]
    ranked = [result for result in results if result.attempt.submission.mode == "ranked"]
    sound = {result.pk: _may_rank(result, result.attempt.submission, now) for result in ranked}
    bring_to_light(attempts, now=now)
    for hardware, epoch in sorted({(result.attempt.hardware, result.epoch) for result in results}):
        open_epoch(hardware=hardware, name=epoch, now=now)
    told: Counter[str] = Counter()
    leaders = _leaders(result for result in ranked if sound[result.pk])
    for result in ranked:
        if sound[result.pk]:
            publish(result=result, now=now)
        else:
            withdraw(submission=result.attempt.submission)
        could_rank = result.outcome == "passed" and not refusal(telemetry=result.telemetry)
        told["published" if sound[result.pk] else "held" if could_rank else "failed"] += 1
    for result, first in leaders:
        _confirm_if_first(result, first, now)
    timed = {(r.attempt.version_id, r.attempt.hardware, r.epoch): r for r in results if r.ratio is not None}
    for result in timed.values():
        _learn_later(result)
    return told


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
    first = _leader(result)
    publish(result=result, now=now)
    _confirm_if_first(result, first, now)


def _leader(result: Result) -> Value | None:
    submission = result.attempt.submission
    return contest_leader(board=submission.board, epoch=result.epoch, submitted_at=submission.created_at)


def _leaders(results: Iterable[Result]) -> list[tuple[Result, Value]]:
    """Who leads each contest that these, not published yet, are of; beside the fastest of them, which may lead next."""
    fastest: dict[tuple[int, str, Stage], Result] = {}
    for result in sorted(results, key=lambda result: (result.ratio or 0.0, result.pk), reverse=True):
        submission = result.attempt.submission
        stage = stage_of(submission.board.competition.schedule, submission.created_at)
        fastest[submission.board_id, result.epoch, stage] = result
    return [(result, first) for result in fastest.values() if (first := _leader(result)) is not None]


def _confirm_if_first(result: Result, first: Value | None, now: datetime) -> None:
    """`first`: who led before this result was published."""
    submission = result.attempt.submission
    if first is None or first.entrant_id == submission.entrant_id:
        return
    now_first = _leader(result)
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
