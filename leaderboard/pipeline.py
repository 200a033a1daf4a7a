"""The life of a submission on one page: which act follows which. Each function is one transaction.

    submit          intake.check → origin_for, check_parents → admitted? → quota → tokens.read → quota, locked → entrant
                    → save with its lineage, its cost, fingerprints → enqueue (event, bell)
    submit_batch    the same for many at once, as a transaction; repeats.answer where the kernel was judged before
    claim_work      the runner's next job → report.announce … → take_report, or sweep.expire_leases when it dies
    take_report     report.keep_content, then as a transaction: receive → record_result → screen → publish | hold |
                    withdraw … and a confirmation, if the result takes first place of a contest; the cost is given
                    back if the site failed to judge; then batches.settle for a candidate of a batch
    clear_result …  acts.clear … (a person, once or by two) → publish | withdraw, by the new state of the case
    apply_rejudging (rejudging/apply.py) a set out of the shadow: its attempts become current → screen → publish | …

The packages below do not import each other upwards; only this module connects them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max

from leaderboard import broker, publication
from leaderboard.accounts.logins import logins_and_agents, unlink
from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.permissions import check_confirmed_email
from leaderboard.admissions.ask import ask_for_added, ask_for_imported, claim_test, record_test
from leaderboard.admissions.compiled import claim_compiled, record_compiled
from leaderboard.admissions.door import check_admitted
from leaderboard.admissions.models import AdmissionTest, CompiledTiming
from leaderboard.awards.life import rename_winners
from leaderboard.competitions import authoring, edit
from leaderboard.competitions.access import redeem_code
from leaderboard.competitions.checks import check_hardware
from leaderboard.competitions.importing import apply_upload
from leaderboard.competitions.models import Board, Competition, SetUpload
from leaderboard.confirmations.ask import claim_confirmation, record_confirmation
from leaderboard.confirmations.models import FAILED, RECORD, Confirmation
from leaderboard.entrants import closing
from leaderboard.entrants import enter as entering
from leaderboard.entrants.models import Entrant
from leaderboard.errors import RateLimited, UserError
from leaderboard.inbox import tell as inbox
from leaderboard.inbox.collect import forget_names
from leaderboard.inbox.events import tell_review, tell_verdict
from leaderboard.judging import batches, repeats
from leaderboard.judging.archive import Content
from leaderboard.judging.attempts import enqueue
from leaderboard.judging.claim import claim_again, claim_next, is_wanted
from leaderboard.judging.lease import Renewal, find, hand_back, lock_held, renew
from leaderboard.judging.models import AT_WORK, QUEUED, RUNNING, Attempt, Requested, Result, Runner
from leaderboard.judging.report import keep_content, receive, record_result
from leaderboard.judging.runners import lock_able
from leaderboard.judging.usage import check_token, usage_of
from leaderboard.judging.verdicts import give_back_if_ours, kernel_runs
from leaderboard.review import suspension as suspending
from leaderboard.review.case import acts, holds
from leaderboard.review.models import Decision, Suspension
from leaderboard.review.rules import fingerprints
from leaderboard.review.standing import may_stand
from leaderboard.standings.publish import kernel_lines, restore
from leaderboard.standings.read.code import check_parents, origin_for, readable_among
from leaderboard.standings.read.records import PODIUM, would_rank
from leaderboard.submissions import intake
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.ledger import check_left, spend
from leaderboard.submissions.models import Batch, Candidate, Lineage, Parent, Submission
from leaderboard.submissions.quota import check_batch_quota, check_quota
from leaderboard.submissions.tokens import read, verbatim_digest
from leaderboard.submissions.workspace import move_to_account
from runner.wire import BENCHMARK, TEST, Job, Report

P = ParamSpec("P")
Made = TypeVar("Made")

PATIENCE: Final = timedelta(minutes=5)  # after this wait, a confirmation, a test or a compiled timing takes its turns
LONG_PATIENCE: Final = timedelta(hours=1)  # the same for work that no person waits for
MOST_BATCH_BYTES: Final = 4_000_000  # of source; reading 1 MB takes up to a second
STORED_AT_ONCE: Final = 50  # submissions of a statement, each with its source
CALM: Final = timedelta(minutes=2)  # without a verdict, after which an idle runner does that work
OTHER_WORK: Final = (AdmissionTest, CompiledTiming, Confirmation)
# Every claim runs this query, so it is raw SQL: the ORM takes longer to build it than the database to answer it.
_LOOK: Final = """
SELECT EXISTS (SELECT FROM judging_attempt WHERE runner_id = %(runner)s AND state = ANY(%(judging)s))
       OR EXISTS (SELECT FROM admissions_admissiontest WHERE runner_id = %(runner)s AND state = %(running)s)
       OR EXISTS (SELECT FROM admissions_compiledtiming WHERE runner_id = %(runner)s AND state = %(running)s)
       OR EXISTS (SELECT FROM confirmations_confirmation WHERE runner_id = %(runner)s AND state = %(running)s),
       EXISTS (SELECT FROM admissions_admissiontest
                WHERE hardware = %(hardware)s AND state = %(queued)s
                  AND ((gate OR asked_by_id IS NOT NULL) AND created_at <= %(asked_before)s
                       OR created_at <= %(asked_long_before)s))
       OR EXISTS (SELECT FROM admissions_compiledtiming
                   WHERE hardware = %(hardware)s AND state = %(queued)s AND epoch = %(epoch)s
                     AND (asked_by_id IS NOT NULL AND created_at <= %(asked_before)s
                          OR created_at <= %(asked_long_before)s))
       OR EXISTS (SELECT FROM confirmations_confirmation
                   WHERE hardware = %(hardware)s AND state = %(queued)s
                     AND ((asked_by_id IS NOT NULL OR cause <> %(record)s) AND created_at <= %(asked_before)s
                          OR created_at <= %(asked_long_before)s))
"""
ASK_HINT: Final = "ask_hint"  # actor of leaderboard/actors.py


@dataclass(frozen=True)
class _Checked:
    """A submission that passed all checks, and what its source was read for."""

    submission: Submission
    upload: Upload
    code_digest: str
    taken: fingerprints.Taken


def submit(upload: Upload, *, owner: User, now: datetime, token: ApiToken | None = None) -> Submission:
    """Take a submission in and queue it. `token`: that sent it; None: a session of a browser did.

    Raises UserError that names the field. A broker that is down never fails a submission.
    """
    submission = intake.check(upload, owner=owner, now=now)
    _check(submission, upload, owner, now, readable_among(upload.parents, owner, now))
    _check_board(submission.board, owner)
    # Without a lock: a refusal that costs no quota costs no reading of the source, which takes up to a second.
    _check_usage(owner.account, now, token)
    check_left(owner=owner.account, board=submission.board, mode=submission.mode, now=now)
    checked = _read(submission, upload)
    with transaction.atomic():
        account = _lock_account(owner)
        _check_usage(account, now, token)
        _store([checked], account, now, token, [None])
    return submission


def submit_batch(
    uploads: Sequence[Upload],
    *,
    mode: str,
    budget_s: float,
    owner: User,
    now: datetime,
    bar: float | None = None,
    fresh: bool = False,
    token: ApiToken | None = None,
) -> Batch:
    """Take in a batch of candidates as submissions of the same mode, all or none, and queue them.

    `bar`: a ratio of candidate to baseline; the timing of benchmarks that cannot beat it ends after a first look.

    Each candidate passes the checks of a single submission and spends a token of the same quota, unless a stored
    verdict answers it (judging/repeats.py). `fresh`: none does. An error names the candidate by its place from 0 on, as
    in `candidates.3.code`.
    """
    if bar is not None and mode != BENCHMARK:
        raise UserError("bar", bar, f"only mode 'benchmark' may end early, and this batch is of mode {mode!r}")
    total = sum(len(upload.data) for upload in uploads)
    if total > MOST_BATCH_BYTES:
        text = f"{total:,} bytes of source in all; a batch has at most {MOST_BATCH_BYTES:,}, so send several"
        raise UserError("candidates", None, text, 413)
    submissions, known, boards = [], intake.Boards(), set[Board]()
    readable = readable_among({pk for upload in uploads for pk in upload.parents}, owner, now)
    for number, upload in enumerate(uploads):
        with _named(number):
            submissions.append(intake.check(upload, owner=owner, now=now, known=known))
            _check(submissions[-1], upload, owner, now, readable)
            if (board := submissions[-1].board) not in boards:
                _check_board(board, owner)
            boards.add(board)
    _check_batch_usage(owner.account, len(uploads), budget_s, now, token)
    may_repeat = mode == TEST and not fresh
    if not may_repeat:
        _check_all_left(submissions, owner.account, now)
    candidates = [_read(*pair) for pair in zip(submissions, uploads, strict=True)]
    with transaction.atomic():
        account = _lock_account(owner)
        _check_batch_usage(account, len(uploads), budget_s, now, token)
        told: dict[str, Any] = {"mode": mode, "budget_s": budget_s, "bar": bar, "may_repeat": may_repeat}
        batch = Batch.objects.create(owner=account, size=len(uploads), created_at=now, **told)
        verdicts: list[Result | None] = [None] * len(uploads)
        if may_repeat:
            verdicts = repeats.stored_verdicts(submissions, owner=owner, now=now)
            rest = [submission for submission, verdict in zip(submissions, verdicts, strict=True) if verdict is None]
            _check_all_left(rest, account, now)
        _store(candidates, account, now, token, verdicts)
        Candidate.objects.bulk_create(
            Candidate(
                batch=batch,
                submission=checked.submission,
                number=number,
                same_as=verdict.attempt.submission if verdict else None,
            )
            for number, (checked, verdict) in enumerate(zip(candidates, verdicts, strict=True), 1)
        )
        if any(verdicts):
            batches.settle(batch.pk, now=now)
            batch.refresh_from_db()
    return batch


def _check_all_left(submissions: Sequence[Submission], owner: User, now: datetime) -> None:
    for board, wanted in Counter(submission.board for submission in submissions).items():
        check_left(owner=owner, board=board, mode=submissions[0].mode, now=now, wanted=wanted)


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Name the candidate of a batch in an error about one of its fields; limits of the owner stay as they are."""
    try:
        yield
    except RateLimited:
        raise
    except UserError as error:
        place = f"candidates.{number}.{error.field}"
        raise UserError(place, error.value, error.message, error.status, error.code) from None


def _check(submission: Submission, upload: Upload, owner: User, now: datetime, readable: set[int]) -> None:
    if submission.mode == "ranked":
        check_confirmed_email(owner)
    check_parents(upload.parents, readable)
    if owner.account.agent_of_id is not None and not upload.lineage.get("model"):
        raise UserError("lineage.model", "", "missing; an agent names the model that wrote the code")
    if upload.remixed_from is not None:
        submission.remixed_from = origin_for(owner, upload.remixed_from, now)


def _check_board(board: Board, owner: User) -> None:
    check_admitted(board)
    suspending.check_not_suspended(owner, board.competition)
    entering.check_accepted(owner.account, board.competition)


def _read(submission: Submission, upload: Upload) -> _Checked:
    source = read(submission.source)
    if submission.mode == TEST:
        submission.verbatim_digest = verbatim_digest(submission.source)
    return _Checked(submission, upload, source.code_digest, fingerprints.take(source, submission.board.version))


def _lock_account(owner: User) -> User:
    """Return the account, whichever login sends, so that two submissions cannot share the last place of a quota."""
    account = User.objects.select_for_update(no_key=True).get(pk=owner.account_id)
    if not account.is_active:
        raise UserError("owner", account.get_username(), "this account is deactivated", status=403)
    return account


def _store(
    checked: Sequence[_Checked],
    owner: User,
    now: datetime,
    token: ApiToken | None,
    verdicts: Sequence[Result | None],
) -> None:
    """Store submissions with their fingerprints and attempts. A stored verdict ends its submission at no cost."""
    models = {one.submission.board.competition: one.upload.lineage.get("model", "") for one in checked}
    entrants = {
        one: entering.enter_by_submitting(user=owner, competition=one, now=now, model_name=model)
        for one, model in models.items()
    }
    for one in checked:
        one.submission.owner, one.submission.code_digest = owner, one.code_digest
        one.submission.token_key = token.pk if token else None
        one.submission.entrant = entrants[one.submission.board.competition]
    Submission.objects.bulk_create([one.submission for one in checked], batch_size=STORED_AT_ONCE)
    Lineage.objects.bulk_create(
        Lineage(submission=one.submission, **one.upload.lineage)
        for one in checked
        if one.upload.lineage or one.upload.parents
    )
    Parent.objects.bulk_create(
        Parent(child=one.submission, parent_id=pk) for one in checked for pk in dict.fromkeys(one.upload.parents)
    )
    spend(submissions=[one.submission for one, verdict in zip(checked, verdicts, strict=True) if not verdict], now=now)
    for one, verdict in zip(checked, verdicts, strict=True):
        fingerprints.keep(one.taken, submission=one.submission)
        if verdict:
            repeats.answer(one.submission, verdict, now=now)
        else:
            enqueue(submission=one.submission, now=now)


def _check_batch_usage(owner: User, wanted: int, budget_s: float, now: datetime, token: ApiToken | None) -> None:
    if token is not None:
        check_token(token, wanted=wanted, budget_s=budget_s, now=now)
    check_batch_quota(
        usage_of(owner, now=now, in_batches=True),
        wanted=wanted,
        per_hour=settings.CANDIDATES_PER_HOUR,
        unfinished_at_once=settings.CANDIDATES_AT_ONCE,
        now=now,
    )


def _check_usage(owner: User, now: datetime, token: ApiToken | None) -> None:
    if token is not None:
        check_token(token, wanted=1, budget_s=0, now=now)
    check_quota(
        usage_of(owner, now=now),
        per_hour=settings.SUBMISSIONS_PER_HOUR,
        unfinished_at_once=settings.UNFINISHED_AT_ONCE,
        now=now,
    )


def enter(
    *,
    user: User,
    competition: Competition,
    code: str = "",
    rules_digest: str,
    now: datetime,
    division: str = "",
    model_name: str = "",
) -> Entrant:
    """Enter a competition, or accept its rules anew. `division` "": human, if the competition has that division.

    A valid code stays redeemed if the rules are not accepted yet: a person can read the rules only after redeeming it.
    """
    if code:
        redeem_code(text=code, user=user, now=now)
    return entering.enter(
        user=user, competition=competition, accepted=rules_digest, now=now, division=division, model_name=model_name
    )


@transaction.atomic
def import_set(*, upload: SetUpload, actor: User, now: datetime) -> bool:
    """Apply the upload that an organiser has previewed.

    New versions take submissions only after their admission test.
    """
    applied = apply_upload(upload=upload, actor=actor, now=now)
    if applied:
        ask_for_imported(actor=actor, now=now)
    return applied


@transaction.atomic
def add_board(*, competition: Competition, actor: User, now: datetime, **settings: Any) -> Board:
    """Add a board; `settings` as in edit.add_board.

    It takes submissions only after its version's admission test. Another spelling of a known hardware is a slip.
    """
    hardware = check_hardware(settings["hardware"])
    spelt = (
        kind.objects.filter(hardware__iexact=hardware).values_list("hardware", flat=True) for kind in (Runner, Board)
    )
    if (same := {name for names in spelt for name in names}) and hardware not in same:
        raise UserError("hardware", hardware, f"this site spells it {min(same)}; use this spelling")
    board = edit.add_board(competition=competition, actor=actor, now=now, **settings)
    ask_for_added(board=board, actor=actor, now=now)
    return board


@transaction.atomic
def write_problem(*, actor: User, now: datetime, **draft: Any) -> list[Board]:
    """Create a problem from a draft, as in authoring.create_problem; its boards wait for their admission tests."""
    boards = authoring.create_problem(actor=actor, now=now, **draft)
    for board in boards:
        ask_for_added(board=board, actor=actor, now=now)
    return boards


@transaction.atomic
def revise_problem(*, actor: User, now: datetime, **draft: Any) -> list[Board]:
    """Save a draft as the new version of a problem, as in authoring.revise_problem; return the changed boards."""
    boards = authoring.revise_problem(actor=actor, now=now, **draft)
    for board in boards:
        ask_for_added(board=board, actor=actor, now=now)
    return boards


@transaction.atomic
def claim_work(*, runner: Runner, now: datetime, building: Sequence[str] = ()) -> Job | None:
    """Return the runner's next job: an attempt; if none waits, a confirmation, admission test or compiled timing.

    Work that has waited longer than its patience takes turns with attempts, so that the import of a whole set does not
    delay submissions until it is finished. A runner that already holds work gets it again, so a claim whose answer was
    lost may be repeated. The lock on the runner's row serialises its claims, whatever kind of work they find.
    `building`: see claim_next.
    """
    before = transaction.savepoint()  # without the lock on the runner
    may_work = lock_able(runner, now=now)
    holds, others_wait = _look(runner, now)
    if holds:  # seldom: let the row go and lock the work first, in the order of reports and sweeps
        transaction.savepoint_rollback(before)
        lock_held(runner)
        lock_able(runner, now=now)
        locked = Runner.objects.select_for_update().get(pk=runner.pk)
        if job := claim_again(runner=locked, now=now):
            return job
        may_work = lock_able(runner, now=now)  # the loss may have suspended the runner
    if not may_work:
        return None
    long_before = now - LONG_PATIENCE
    if others_wait and _is_others_turn(runner):
        due: dict[str, Any] = {
            "runner": runner,
            "now": now,
            "asked_before": now - PATIENCE,
            "unasked_before": long_before,
        }
        if job := claim_test(**due) or claim_confirmation(**due) or claim_compiled(**due):
            return job
    if job := claim_next(runner=runner, now=now, building=building):
        return job
    # A verdict of a moment ago: its competitor may send the next version, and would wait for work that nobody awaits.
    ended = Attempt.objects.filter(hardware=runner.hardware, rejudge_set=None, finished_at__gt=now - CALM)
    due = {"runner": runner, "now": now, "unasked_before": long_before if ended.exists() else now}
    return claim_confirmation(**due) or claim_test(**due) or claim_compiled(**due)


@transaction.atomic
def renew_work(*, attempt_id: str, runner: Runner, token: int, now: datetime) -> Renewal:
    """Prolong a lease. Work that nobody awaits yields to a waiting attempt: it is queued again, without a loss."""
    work = find(attempt_id=attempt_id, runner=runner, token=token, locked=True) if "-" in attempt_id else None
    yields = isinstance(work, Requested) and work.is_running and not work.is_awaited
    if work is not None and yields and work.created_at > now - LONG_PATIENCE and is_wanted(runner=runner, now=now):
        hand_back(work, now=now, message="")
        return Renewal(expires_in_s=0.0, cancel=True)
    return renew(attempt_id=attempt_id, runner=runner, token=token, now=now)


def _look(runner: Runner, now: datetime) -> tuple[bool, bool]:
    """Return whether the runner holds any work, and whether work besides attempts has waited beyond its patience."""
    parameters: dict[str, Any] = {
        "runner": runner.pk,
        "hardware": runner.hardware,
        "epoch": runner.epoch,
        "judging": list(RUNNING),
        "running": AT_WORK,
        "queued": QUEUED,
        "record": RECORD,
        "asked_before": now - PATIENCE,
        "asked_long_before": now - LONG_PATIENCE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, parameters)
        holds, others_wait = cursor.fetchone()
    return holds, others_wait


def _is_others_turn(runner: Runner) -> bool:
    """Return whether this runner took an attempt after its last confirmation, admission test or compiled timing.

    Tokens come from one sequence, so the larger token was taken later.
    """
    taken = [kind.objects.filter(runner=runner).aggregate(last=Max("token"))["last"] or 0 for kind in OTHER_WORK]
    return not any(taken) or Attempt.objects.filter(runner=runner, token__gt=max(taken)).exists()


def take_report(*, runner: Runner, report: Report, now: datetime) -> bool:
    """Keep a runner's report on its work and apply its consequences. False: the report is kept already."""
    content = keep_content(runner=runner, report=report)
    is_new = _take_report(runner, report, content, now)
    if report.attempt_id.isdecimal():  # of an attempt; beyond its transaction, whose locks come in another order
        found = Batch.objects.filter(candidates__submission__attempts=int(report.attempt_id), settled_at=None)
        for pk in found.values_list("pk", flat=True):
            batches.settle(pk, now=now)
    return is_new


@transaction.atomic
def _take_report(runner: Runner, report: Report, content: Content | None, now: datetime) -> bool:
    work = receive(runner=runner, report=report, now=now)
    if isinstance(work, Attempt):
        _take_result(record_result(work, runner=runner, report=report, now=now, content=content), now)
    elif isinstance(work, AdmissionTest):
        record_test(work, report=report, now=now)
    elif isinstance(work, CompiledTiming):
        record_compiled(work, report=report, now=now)
    elif isinstance(work, Confirmation):
        record_confirmation(work, report=report, now=now, content=content)
        if work.outcome == FAILED:
            held = holds.hold_failed_record(work, runs=publication.lock_runs(work.candidate), now=now)
            publication.stand_each(held, now)
            tell_reviews(held, now)
    return work is not None


def _take_result(result: Result, now: datetime) -> None:
    if result.attempt.is_shadow:
        return  # no consequences until its set is applied
    give_back_if_ours(result.attempt, now=now)
    if result.attempt.submission.mode == "ranked":
        publication.settle(result, now)
        if settings.HINT_COMMAND and not may_stand(result):  # a hint to the reviewers of a held result
            transaction.on_commit(lambda: broker.send_chore(ASK_HINT, submission_id=str(result.attempt.submission_id)))
    tell_verdict(result, now)


def tell_reviews(results: Iterable[Result], now: datetime) -> None:
    for result in sorted(results, key=lambda result: result.attempt.submission.owner_id):
        tell_review(result, now)


@transaction.atomic
def clear_result(
    *, result: Result, actor: User, reason: str, now: datetime, public_reason: str = "", seen: int | None = None
) -> Decision:
    """Clear a held result. It ranks by its time of submission once all required reviewers have cleared it."""
    rank = would_rank(result)
    two_person_rule = result.attempt.submission.board.competition.two_person_rule
    decision = acts.clear(
        result=result,
        actor=actor,
        reason=reason,
        now=now,
        rank=rank,
        needs_two=rank is not None and rank <= PODIUM and two_person_rule,
        public_reason=public_reason,
        seen=seen,
    )
    publication.stand(result, now)
    tell_review(result, now)
    return decision


@transaction.atomic
def reject_result(
    *,
    result: Result,
    actor: User,
    reason: str,
    now: datetime,
    code: str = "other",
    public_reason: str = "",
    seen: int | None = None,
    hold_others: bool = True,
) -> Decision:
    """Reject a result.

    `hold_others`: hold the kernel's remaining runs, which leave the board until a person decides on each.
    """
    runs = publication.lock_runs(result.attempt.submission)
    others = publication.others_of(result, runs) if hold_others else []
    decision = acts.reject(
        result=result,
        actor=actor,
        code=code,
        reason=reason,
        now=now,
        rank=would_rank(result),
        public_reason=public_reason,
        seen=seen,
    )
    decided = [result, *holds.hold_along(runs=others, rejection=decision, actor=actor, now=now)]
    publication.stand_each(decided, now)
    tell_reviews(decided, now)
    return decision


@transaction.atomic
def undo_decision(*, result: Result, actor: User, reason: str, now: datetime, seen: int | None = None) -> Decision:
    """Undo a decision: lines that it published go; results that it took down or held along come back."""
    runs = publication.lock_runs(result.attempt.submission)
    decision = acts.undo(result=result, actor=actor, reason=reason, now=now, seen=seen)
    released = holds.release_along(rejection=decision.about_id, actor=actor, reason=reason, now=now)
    decided = [result, *(run for run in runs if run.pk in released)]
    publication.stand_each(decided, now)
    tell_reviews(decided, now)
    return decision


def _then_stand(act: Callable[P, Made]) -> Callable[P, Made]:
    """Return the act of review, followed by its effect: the result's line by the new state of its case."""

    @transaction.atomic
    @wraps(act)
    def done(*args: P.args, **kwargs: P.kwargs) -> Made:
        made = act(*args, **kwargs)
        result, now = cast(Result, kwargs["result"]), cast(datetime, kwargs["now"])
        publication.stand(result, now)
        tell_review(result, now)
        return made

    return done


def _then_stand_all(act: Callable[P, Suspension]) -> Callable[P, Suspension]:
    """Return the act on an account, followed by its effect on the account's own lines. Those of team mates stay."""

    @transaction.atomic
    @wraps(act)
    def done(*args: P.args, **kwargs: P.kwargs) -> Suspension:
        row = act(*args, **kwargs)
        competition = cast(Competition | None, kwargs["competition"])
        publication.stand_all(cast(User, kwargs["user"]), competition, cast(datetime, kwargs["now"]))
        return row

    return done


overturn_verdict: Final = _then_stand(acts.overturn)
answer_appeal: Final = _then_stand(acts.answer_appeal)
hold_result: Final = _then_stand(holds.hold)
suspend_account: Final = _then_stand_all(suspending.suspend)
reinstate_account: Final = _then_stand_all(suspending.reinstate)


@transaction.atomic
def ask_owner(*, result: Result, actor: User, question: str, now: datetime, seen: int | None = None) -> Decision:
    """Ask the owner of a held result, who gets a message."""
    decision = acts.ask(result=result, actor=actor, question=question, now=now, seen=seen)
    tell_review(result, now)
    return decision


@transaction.atomic
def link_logins(*, now: datetime, **proof: Any) -> User:
    """Link two logins of one person; `proof` as in entrants.enter.link_logins.

    The account gets the notes and drafts of both. A suspension of either login covers it.
    """
    account = entering.link_logins(now=now, **proof)
    move_to_account(account)
    if suspending.was_ever_suspended(account):
        publication.stand_all(account, None, now)
    inbox.forget(accounts=[login.pk for login in account.other_logins.all()])
    return account


@transaction.atomic
def close_account(*, account: User, erase: bool, now: datetime) -> None:
    """Close an account as in entrants.closing. An erased person's name leaves messages and announced awards, too."""
    logins = logins_and_agents([account.pk])
    if erase:
        forget_names(logins)
    rename_winners(closing.close(account=account, erase=erase, now=now))
    inbox.forget(accounts=logins)


@transaction.atomic
def unlink_login(*, login: User, actor: User, reason: str, now: datetime) -> None:
    """Split an account into two again. A suspension stays with the login that it was pronounced on."""
    account = login.account
    was_suspended = suspending.was_ever_suspended(account)
    unlink(login=login, actor=actor, reason=reason, now=now)
    for one in User.objects.filter(pk__in=(account.pk, login.pk) if was_suspended else ()):
        publication.stand_all(one, None, now)


@transaction.atomic
def restore_entry(*, submission: Submission, actor: User, reason: str, now: datetime) -> int:
    """Undo a retraction: publish the kernel's runs again unless another reason bars them.

    Return the number of its lines.
    """
    if not restore(submission=submission, actor=actor, reason=reason, now=now):
        return 0
    publication.stand_each(kernel_runs(submission), now)
    return kernel_lines(submission).count()
