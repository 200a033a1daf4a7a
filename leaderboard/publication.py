"""Whether a result has a line on its board: the only module that publishes and withdraws, whatever the reason.

pipeline.py calls it after a report, a decision, a suspension or a set of re-judgings. A result has a line if its
numbers can rank, review lets it and its account may compete. Rules screen it once, when it arrives.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction

from leaderboard.accounts.logins import lock_accounts, logins_and_agents
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Competition
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.models import RECORD
from leaderboard.judging.archive import report_of
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.verdicts import is_spoiled, kernel_runs, newest_verdicts, with_reports
from leaderboard.review.case import holds
from leaderboard.review.rules.screen import Compared, foresee, screen, screen_all
from leaderboard.review.standing import may_stand, not_standing
from leaderboard.review.suspension import is_suspended, suspended_users
from leaderboard.standings.publish import (
    kernel_lines,
    light_share,
    lock_entrants,
    lock_lines,
    publish,
    refusal,
    withdraw,
)
from leaderboard.standings.ranking.ranking import Value
from leaderboard.standings.read.records import contest_leader, incumbent_ratio, incumbent_ratios
from leaderboard.standings.read.table import stage_at
from leaderboard.submissions.models import Submission


def settle(result: Result, now: datetime) -> None:
    """Screen a new result and update its line.

    A line stands only while the submission's newest verdict is an unheld pass.
    """
    if result.outcome == "infra_error" or is_spoiled(result.outcome, result.reason):
        return  # a failure of the site does not concern the kernel: an earlier attempt's result stays
    look(result, now)
    stand(result, now)


def look(result: Result, now: datetime) -> None:
    """Open a case if a person must look at the result before it ranks, or may overturn its verdict."""
    if holds.rejects_by_itself(result):
        holds.open_case(result=result, now=now, by_itself=True)
    elif could_rank(result):
        submission = result.attempt.submission
        lock_accounts([submission.owner.account_id])
        lock_entrants([submission.entrant_id])  # against a concurrent decision on the kernel (lock_runs)
        best = incumbent_ratio(epoch=result.epoch, without=submission)
        findings = screen(result=result, incumbent_ratio=best, now=now)
        if holds.note_stopped_before(results=[result], now=now) or findings:
            holds.open_case(result=result, now=now)


def look_all(results: Sequence[Result], now: datetime) -> dict[int, float | None]:
    """Screen many results, each against the board as it was before all of them.

    Return each result's share of the speed of light by result key. Only the report contains it.
    """
    holds.open_cases(results=[result for result in results if holds.rejects_by_itself(result)], now=now, by_itself=True)
    ranking = [result for result in results if could_rank(result)]
    compared, incumbents = Compared(ranking), _incumbents(ranking)
    lights: dict[int, float | None] = {}
    for some in with_reports(ranking):
        found = screen_all(results=some, compared=compared, incumbents=incumbents, now=now)
        held = {finding.result_id for finding in found} | holds.note_stopped_before(results=some, now=now)
        holds.open_cases(results=[result for result in some if result.pk in held], now=now)
        lights |= {result.pk: light_share(report_of(result)) for result in some}
    return lights


def foresee_held(results: Sequence[Result], now: datetime) -> set[int]:
    """Return the keys of results that look_all would open a case for. Writes and locks no row."""
    ranking = [result for result in results if could_rank(result)]
    compared, incumbents = Compared(ranking), _incumbents(ranking)
    held = {result.pk for result in results if holds.rejects_by_itself(result)} | set(holds.stopped_before(ranking))
    for some in with_reports(ranking):
        held |= foresee(results=some, compared=compared, incumbents=incumbents, now=now)
    return held


def _incumbents(results: Iterable[Result]) -> dict[int, float | None]:
    rankings: dict[tuple[int, str, str], list[Result]] = defaultdict(list)
    for result in results:
        submission = result.attempt.submission
        rankings[submission.board_id, result.epoch, submission.group].append(result)
    found: dict[int, float | None] = {}
    for (board, epoch, group), same in rankings.items():
        sent = [one.attempt.submission_id for one in same]
        best = incumbent_ratios(board=board, epoch=epoch, group=group, submissions=sent)
        found |= {one.pk: best[one.attempt.submission_id] for one in same}
    return found


def stand(result: Result, now: datetime) -> None:
    """Publish or withdraw the result's line.

    If it takes another entrant's first place in a contest, ask for five confirming runs.
    """
    if may_rank(result):
        first = _leader(result)
        publish(result=result, now=now)
        confirm_if_first(result, first, now)
    else:
        withdraw(submission=result.attempt.submission, attempt=result.attempt)


def stand_all(user: User, competition: Competition | None, now: datetime) -> None:
    """Update the line of every ranked submission of this account and its agents, in one competition or in all."""
    where = {} if competition is None else {"board__competition": competition}
    stand_each(newest_verdicts(owner__in=logins_and_agents([user.account_id]), **where), now)


def stand_each(results: Iterable[Result], now: datetime) -> None:
    results = sorted(results, key=lambda result: result.attempt.submission.board_id)
    lock_all(results)
    for result in results:
        stand(result, now)


def lock_runs(submission: Submission) -> list[Result]:
    """Lock and return all runs of the submission's kernel, in key order: concurrent decisions never deadlock.

    The entrant's lock waits for a report that is settling a further run. That run's attempt must be locked before the
    entrant, so all locks are let go and taken anew.
    """
    while True:
        before = transaction.savepoint()
        runs = kernel_runs(submission)
        attempts = Attempt.objects.select_for_update().filter(pk__in=[run.attempt_id for run in runs])
        list(attempts.order_by("pk").values_list("pk"))
        lock_all(runs)
        if kernel_runs(submission) == runs:
            transaction.savepoint_commit(before)
            return runs
        transaction.savepoint_rollback(before)


def others_of(result: Result, runs: Iterable[Result]) -> list[Result]:
    """Return the kernel's remaining runs that have a line, or lack it only after being held along with a run."""
    submission = result.attempt.submission
    others = [run for run in runs if run.attempt.submission_id != submission.pk]
    lines = set(kernel_lines(submission).values_list("submission", flat=True))
    along = holds.waiting_along(others)
    return [run for run in others if run.attempt.submission_id in lines or run.pk in along]


def may_rank(result: Result) -> bool:
    """Return whether the result could rank, review lets it and its account may compete. Locks the account."""
    submission = result.attempt.submission
    lock_accounts([submission.owner.account_id])  # against a concurrent suspension
    may = not is_suspended(submission.owner, submission.board.competition)
    return may and could_rank(result) and may_stand(result)


def all_that_may_rank(results: Sequence[Result]) -> set[int]:
    """Return the keys of results that may rank. The caller has locked their accounts (lock_all)."""
    suspended: dict[int, set[int]] = {}
    for competition in {result.attempt.submission.board.competition for result in results}:
        owners = {result.attempt.submission.owner_id for result in results}
        suspended[competition.pk] = suspended_users(owners, competition)
    stopped = not_standing(results)
    return {
        result.pk
        for result in results
        if could_rank(result)
        and result.pk not in stopped
        and result.attempt.submission.owner_id not in suspended[result.attempt.submission.board.competition_id]
    }


def lock_all(results: Iterable[Result]) -> None:
    """Lock accounts, then entrants, then boards, each in the order of keys: two sets of results never deadlock."""
    submissions = [result.attempt.submission for result in results]
    lock_accounts(submission.owner.account_id for submission in submissions)
    lock_entrants(submission.entrant_id for submission in submissions)
    lock_lines(submission.board_id for submission in submissions)


def could_rank(result: Result) -> bool:
    """Return whether the result's numbers can rank, before any review.

    A result that its verdict rejected by itself has no time, so it cannot rank even if the verdict is overturned.
    """
    return result.outcome == "passed" and result.ratio is not None and not refusal(telemetry=result.telemetry)


def _leader(result: Result) -> Value | None:
    """Return the leader of the result's contest, where agents rank apart that of its group.

    A first place in an epoch that the contest does not rank is no record.
    """
    submission = result.attempt.submission
    if RankedEpochs([submission.board]).of(submission.board, Stage.CONTEST) != result.epoch:
        return None
    return contest_leader(submission, result.epoch)


def leaders(results: Iterable[Result]) -> list[tuple[Result, Value]]:
    """Return each contest's fastest result of these, which may lead next, with the contest's current leader.

    The results are not published yet. Contests without a leader are left out.
    """
    fastest: dict[tuple[int, str, Stage, str], Result] = {}
    for result in sorted(results, key=lambda result: (result.ratio or 0.0, result.pk), reverse=True):
        submission = result.attempt.submission
        stage = stage_at(submission.board, submission.created_at)
        fastest[submission.board_id, result.epoch, stage, submission.group] = result
    return [(result, first) for result in fastest.values() if (first := _leader(result)) is not None]


def confirm_if_first(result: Result, first: Value | None, now: datetime) -> None:
    """Ask for a confirmation if this result took first place. `first`: the leader before this result was published.

    An entrant who leads only because the leader's line went away, held anew or withdrawn, took no first place. Runs
    against a faster kernel would end in a refusal, and so in a tie with that kernel once it is back.
    """
    submission = result.attempt.submission
    if first is None or first.entrant_id == submission.entrant_id:
        return
    # The contest ranked the result's epoch before; publishing a line changes no epoch but pins the ranked epoch.
    now_first = contest_leader(submission, result.epoch)
    if now_first is not None and now_first.entrant_id == submission.entrant_id:
        incumbent = Submission.objects.get(pk=first.submissions[0])
        if not kernel_lines(incumbent).exists():
            return
        ask_confirmation(candidate=submission, incumbent=incumbent, cause=RECORD, actor=None, now=now)
