"""Timings of torch.compile: the site's own jobs that give fast_p its second baseline.

A runner of the board's hardware and timing epoch judges the version's torch.compile template like a ranked submission.
No submission exists, so that a timing has no entrant, costs no quota and never ranks. A timing whose runner failed, or
could not measure, returns to the queue. A timing whose problem fails is settled.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.admissions.ask import check_supported, fault_of_problem
from leaderboard.admissions.models import FAILED, PASSED, CompiledTiming
from leaderboard.admissions.permissions import check_may_ask
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import current_stage
from leaderboard.competitions.models import JUDGED, Board
from leaderboard.errors import UserError
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.lease import finish, take_first
from leaderboard.judging.models import DONE, ERROR, QUEUED, Runner
from leaderboard.judging.sweep import give_back
from leaderboard.wording.outcomes import TITLES
from problems.spec import COMPILED
from runner.wire import Job, Report

OTHER_EPOCH = "its runner measured in the timing epoch {got}, not in {wanted}"
NO_FIGURES = "the runner's report has no ratio with an interval"
UNRANKED = "No board of this version ranks the timing epoch {epoch} any more. Ask again for the present epoch"
DID_NOT_WORK = "torch.compile of the reference gives no time on {hardware}. {title}: {why}"
NO_EPOCH = "no runner of {hardware} has named a timing epoch yet; ask again once one has joined"


def ask_compiled(*, board: Board, actor: User | None, now: datetime) -> CompiledTiming:
    """Return a new timing of the board's version in the epoch that the board ranks, or the unfinished timing.

    `actor` then waits for it; None: the operator, from the command line.
    """
    if actor is not None:
        check_may_ask(actor, version=board.version, hardware=board.hardware)
    check_supported(board.version)
    if COMPILED not in (board.version.part("templates") or {}):
        text = "this problem has no torch.compile template; a task.yml asks for it with compile_baseline: true"
        raise UserError("board", board.slug, text, status=409)
    epoch = ranked_epochs([board], now=now)[board.pk]
    if not epoch:
        raise UserError("hardware", board.hardware, NO_EPOCH.format(hardware=board.hardware), status=409)
    place = {"version": board.version, "hardware": board.hardware, "epoch": epoch}
    waiting = CompiledTiming.objects.filter(**place).exclude(state=DONE)
    try:
        with transaction.atomic():
            timing = waiting.first()
            if timing is None:
                timing = CompiledTiming.objects.create(asked_by=actor, created_at=now, **place)
            elif actor is not None and timing.asked_by_id is None:
                timing.asked_by = actor
                timing.save(update_fields=["asked_by"])
            else:
                return timing
            told = {"version": board.version.digest, "hardware": board.hardware, "epoch": epoch}
            record(act="ask_compiled_timing", target=timing, actor=actor, now=now, after=told)
            transaction.on_commit(lambda: broker.ring(hardware=board.hardware, hint=timing.attempt_id))
    except IntegrityError:  # another process was faster
        return waiting.get()
    return timing


def ask_for_untimed(*, now: datetime) -> tuple[int, list[str]]:
    """Ask for a timing of each board without one in its epoch; return their number, and the hardware without an epoch.

    A timing that failed is not repeated: torch.compile, or the problem, would fail again. A timing that no runner could
    finish is.
    """
    boards = list(boards_with_template(Board.objects.with_parts()))
    epochs = ranked_epochs(boards, now=now)
    settled = CompiledTiming.objects.exclude(outcome=ERROR).values_list("version", "hardware", "epoch")
    known = set(settled.filter(version__in={board.version_id for board in boards}))
    asked, without = 0, set()
    for board in boards:
        place = (board.version_id, board.hardware, epochs[board.pk])
        if not epochs[board.pk]:
            without.add(board.hardware)
        elif place not in known:
            known.add(place)
            ask_compiled(board=board, actor=None, now=now)
            asked += 1
    return asked, sorted(without)


@transaction.atomic
def end_unranked(*, now: datetime) -> int:
    """End queued timings in an epoch that no board of their version ranks any more, and return their number.

    No runner may ever measure in that epoch again, and until then the sweeper would ring for them.
    """
    queued = CompiledTiming.objects.filter(state=QUEUED).select_for_update(skip_locked=True)
    timings = list(queued)  # before the epochs are read: a later request may be in a later epoch
    boards = Board.objects.filter(version__in={timing.version_id for timing in timings}).select_related("competition")
    epochs = ranked_epochs(boards, now=now)
    ranked = {(board.version_id, board.hardware, epochs[board.pk]) for board in boards}
    ended = [timing for timing in timings if (timing.version_id, timing.hardware, timing.epoch) not in ranked]
    for timing in ended:
        finish(timing, ERROR, UNRANKED.format(epoch=timing.epoch), now)
    return len(ended)


def boards_with_template(boards: QuerySet[Board]) -> QuerySet[Board]:
    """Return the boards whose problem has a torch.compile template and can be judged."""
    return boards.filter(JUDGED, version__bundle__templates__has_key=COMPILED)


def ranked_epochs(boards: Iterable[Board], *, now: datetime) -> dict[int, str]:
    """Map each board to the timing epoch that it ranks in its current stage; "": none is known."""
    listed = list(boards)
    ranked = RankedEpochs(listed)
    return {board.pk: ranked.of(board, current_stage(board.competition.schedule, now)) for board in listed}


def newest_timings(boards: Iterable[Board], *, now: datetime, finished: bool = False) -> dict[int, CompiledTiming]:
    """Map boards to the newest timing of their version in the epoch that they rank. Three queries.

    `finished`: only finished timings. Then a figure comes before a failure, so that no repetition hides it.
    """
    listed = list(boards)
    epochs = ranked_epochs(listed, now=now)
    place = ("version_id", "hardware", "epoch")
    timings = CompiledTiming.objects.filter(version__in={board.version_id for board in listed})
    if finished:
        timings = timings.filter(state=DONE).alias(has_figure=Q(outcome=PASSED)).order_by(*place, "-has_figure", "-id")
    else:
        timings = timings.order_by(*place, "-id")
    newest = {(timing.version_id, timing.hardware, timing.epoch): timing for timing in timings.distinct(*place)}
    own = {board.pk: (board.version_id, board.hardware, epochs[board.pk]) for board in listed}
    return {pk: newest[key] for pk, key in own.items() if key in newest}


def claim_compiled(
    *, runner: Runner, now: datetime, asked_before: datetime | None = None, unasked_before: datetime | None = None
) -> Job | None:
    """Claim the next timing of this runner's hardware and epoch; None if there is none.

    Only timings that have waited since `asked_before`; since `unasked_before` those that nobody awaits, because the
    operator asked for them.
    """
    is_due = Q(asked_by__isnull=False, created_at__lte=asked_before or now)
    is_due |= Q(created_at__lte=unasked_before or now)
    waiting = CompiledTiming.objects.select_related("version").filter(is_due, epoch=runner.epoch)
    return take_first(waiting.order_by("losses", "id"), runner=runner, now=now)


def record_compiled(timing: CompiledTiming, *, report: Report, now: datetime) -> None:
    """Store the report of a timing that the caller has received and locked."""
    epoch = report.epoch or (timing.runner.epoch if timing.runner else "")
    if fault := fault_of_problem(timing, report):
        finish(timing, FAILED, fault, now)
    elif report.outcome in ("infra_error", "unmeasurable"):
        give_back(timing, why=report.message or report.reason, now=now)
    elif report.outcome != "passed":
        title = TITLES[report.outcome][1]
        finish(timing, FAILED, DID_NOT_WORK.format(hardware=timing.hardware, title=title, why=report.message), now)
    elif epoch != timing.epoch:
        give_back(timing, why=OTHER_EPOCH.format(got=epoch or "without a name", wanted=timing.epoch), now=now)
    elif report.ratio is None or report.half_width is None or report.score_us is None:
        give_back(timing, why=NO_FIGURES, now=now)
    else:
        timing.score_us, timing.ratio, timing.half_width = report.score_us, report.ratio, report.half_width
        finish(timing, PASSED, report.message, now)
