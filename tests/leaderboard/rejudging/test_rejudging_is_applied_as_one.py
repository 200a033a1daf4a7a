"""A re-judging set is applied all at once or not at all, skips newer verdicts, and is independent of order."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard import pipeline
from leaderboard.admissions.ask import ask_test
from leaderboard.audit.models import Row
from leaderboard.competitions.calendar import Stage as CalendarStage
from leaderboard.competitions.models import ProblemVersion, Role
from leaderboard.confirmations.models import RECORD, Confirmation
from leaderboard.errors import StaleLease, UserError
from leaderboard.judging import content_store
from leaderboard.judging.attempts import cancel, rejudge
from leaderboard.judging.models import Attempt, Epoch, RejudgeItem, RejudgeSet, ResultArchived
from leaderboard.judging.runners import greet
from leaderboard.operations.models import Notice
from leaderboard.rejudging import apply as rejudging_acts
from leaderboard.rejudging.apply import compare
from leaderboard.rejudging.sets import Kind, Selection, discard_set, select
from leaderboard.review.models import Decision
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import retract
from leaderboard.standings.read.status import status_of
from leaderboard.submissions.models import Submission
from runner.wire import Job
from tests.leaderboard.board_lines import board_epochs
from tests.leaderboard.rejudging_stage import apply, everything, heard, judge_shadow, set_of
from tests.leaderboard.stage import NOON, Stage, current, make_board, make_runner

ROW = {"id", "submission_id", "attempt_id", "entrant_id", "published_at"}
VERDICTS = [  # no hold depends on the order: no ratio is twice as fast as the best
    {"ratio": 0.9, "score_us": 900.0},
    {"ratio": 0.7, "score_us": 700.0},
    {"ratio": 0.6, "score_us": 600.0, "telemetry": "full", "forgeable": 0.01},
    {"ratio": 0.05, "score_us": 50.0},  # held on every board
    {"ratio": 0.8, "score_us": 800.0, "telemetry": "none"},
    {"outcome": "wrong", "reason": "mismatch"},
    {"outcome": "timeout"},
]


def judged(stage: Stage, *ratios: float) -> list[Submission]:
    """Judge a submission for each ratio, owned by ada, ben and cleo in turn."""
    owners = [stage.ada, stage.ben, stage.cleo]
    found = []
    for number, ratio in enumerate(ratios):
        found.append(stage.submit(owners[number % 3]))
        stage.judge(found[-1], ratio=ratio, score_us=ratio * 1000)
    return found


def seen_of(submissions: Sequence[Submission]) -> list[Any]:
    """Return line and status of each submission, without row ids and times of writing."""
    lines = {line["submission_id"]: line for line in Entry.objects.values()}
    seen: list[Any] = []
    for submission in submissions:
        line, status = lines.get(submission.pk, {}), status_of(submission, now=NOON)
        seen.append({key: line[key] for key in line.keys() - ROW})
        standing = status.standing and (status.standing.rank, status.standing.is_tied, status.standing.value.ratio)
        seen.append((replace(status, standing=None), standing))
    return seen


def statuses(submissions: Sequence[Submission]) -> list[Any]:
    return [status_of(submission, now=NOON) for submission in submissions]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    told=st.lists(st.sampled_from(VERDICTS), min_size=3, max_size=3), order=st.permutations(range(3)), data=st.data()
)
def test_applying_gives_what_judging_anew_would_have_given(
    stage: Stage, told: list[dict[str, Any]], order: list[int], data: st.DataObject
) -> None:
    outcomes = []
    for way in ("anew", "set"):
        with transaction.atomic():
            stage.sent, began = 100, stage.now
            submissions = judged(stage, 0.9, 0.8, 0.7)
            if way == "anew":
                for number in order:
                    rejudge(submission=submissions[number], actor=stage.olga, reason="new judge", now=stage.later(1))
                    stage.judge(submissions[number], **told[number])
            else:
                chosen = set_of(stage, *submissions)
                jobs = [stage.claim() for _ in submissions]
                for job in data.draw(st.permutations(jobs)):
                    stage.report(job, **told[[str(one.pk) for one in submissions].index(job.submission_id)])
                apply(stage, chosen)
            outcomes.append(seen_of(submissions))
            stage.now = began
            transaction.set_rollback(True)
    assert outcomes[0] == outcomes[1]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=st.lists(st.sampled_from(VERDICTS), min_size=2, max_size=3), finished=st.integers(0, 3))
def test_discarding_leaves_everything_as_it_was(stage: Stage, told: list[dict[str, Any]], finished: int) -> None:
    with transaction.atomic():
        submissions = judged(stage, *[0.9] * len(told))
        rows, seen = everything(), statuses(submissions)
        chosen = set_of(stage, *submissions)
        for verdict in told[:finished]:
            stage.report(stage.claim(), **verdict)
        rejudging_acts.try_rejudging(chosen=chosen, actor=stage.olga, now=stage.now)
        compare(chosen)
        discard_set(chosen=chosen, actor=stage.olga, reason="not needed", now=stage.now)
        assert (everything(), statuses(submissions)) == (rows, seen)
        transaction.set_rollback(True)


def test_a_newly_suspicious_one_goes_to_review_and_a_failed_one_off_the_board(stage: Stage) -> None:
    fast, wrong, fine = judged(stage, 0.9, 0.8, 0.7)
    chosen = set_of(stage, fast, wrong, fine)
    for submission, told in ((fast, {"ratio": 0.1}), (wrong, {"outcome": "wrong"}), (fine, {"ratio": 0.65})):
        judge_shadow(stage, submission, **told)
    assert apply(stage, chosen) == {"applied": 3, "held": 1, "failed": 1, "published": 1}
    assert status_of(fast, now=stage.now).review == "under_review"
    assert [(entry.submission_id, entry.ratio) for entry in Entry.objects.all()] == [(fine.pk, 0.65)]
    items = RejudgeItem.objects.order_by("pk").values_list("became", "rank_before", "rank_after")
    assert list(items) == [("applied", 3, None), ("applied", 2, None), ("applied", 1, 1)]


def test_trying_it_says_what_would_come_of_it_and_changes_nothing(stage: Stage) -> None:
    [fast] = judged(stage, 0.9)
    chosen = set_of(stage, fast)
    judge_shadow(stage, fast, ratio=0.1)
    rows = everything()
    assert rejudging_acts.try_rejudging(chosen=chosen, actor=stage.olga, now=stage.now) == {"applied": 1, "held": 1}
    assert everything() == rows
    assert RejudgeSet.objects.get().is_open


def test_trying_it_names_a_report_that_is_gone_to_operators(live_stage: Stage, settings: Any, tmp_path: Path) -> None:
    settings.REPORT_STORE = f"file://{tmp_path}"
    [fast] = judged(live_stage, 0.9)
    chosen = set_of(live_stage, fast)
    job = judge_shadow(live_stage, fast, ratio=0.8)
    (tmp_path / content_store.name_of(ResultArchived.objects.get(of__attempt=job.attempt_id).digest)).unlink()
    tried = rejudging_acts.try_rejudging(chosen=chosen, actor=live_stage.olga, now=live_stage.now)
    assert tried == {"applied": 1, "held": 1}, "its evidence is unreadable"
    assert Notice.objects.get().event == "report_missing"


def test_its_owner_is_told_once_and_finds_both_results(stage: Stage) -> None:
    [submission] = judged(stage, 0.9)
    last = submission.events.latest("id").pk
    chosen = set_of(stage, submission)
    judge_shadow(stage, submission, ratio=0.8)
    assert heard(submission, last) == []
    apply(stage, chosen)
    [event] = heard(submission, last)
    assert (event.state, event.message, event.attempt.number) == ("done", "Judged again", 2)
    assert [one.result.ratio for one in submission.attempts.in_the_open()] == [0.9, 0.8]


def test_applying_twice_changes_nothing_more(stage: Stage) -> None:
    [submission] = judged(stage, 0.9)
    chosen = set_of(stage, submission)
    judge_shadow(stage, submission, ratio=0.8)
    assert apply(stage, chosen)
    rows = everything()
    assert apply(stage, chosen) is None
    assert everything() == rows
    assert Row.objects.filter(act="apply_rejudge_set").count() == 1
    with pytest.raises(UserError, match="applied already"):
        discard_set(chosen=chosen, actor=stage.olga, reason="too late", now=stage.now)


def test_what_is_discarded_is_not_applied(stage: Stage) -> None:
    [submission] = judged(stage, 0.9)
    chosen = set_of(stage, submission)
    discard_set(chosen=chosen, actor=stage.olga, reason="not needed", now=stage.now)
    with pytest.raises(UserError, match="discarded"):
        apply(stage, chosen)


def test_unfinished_ones_hold_it_up_or_are_left_out(stage: Stage) -> None:
    first, second = judged(stage, 0.9, 0.8)
    chosen = set_of(stage, first, second)
    judge_shadow(stage, first, ratio=0.7)
    late = stage.claim()
    with pytest.raises(UserError, match="1 of its submissions are not judged yet"):
        apply(stage, chosen)
    assert apply(stage, chosen, leave_out=True) == {"applied": 1, "no_verdict": 1, "published": 1}
    with pytest.raises(StaleLease):
        stage.report(late, ratio=0.1)
    assert [status_of(one, now=stage.now).ratio for one in (first, second)] == [0.7, 0.8]


def test_what_was_judged_anew_since_stands(stage: Stage) -> None:
    newer, other = judged(stage, 0.9, 0.8)
    chosen = set_of(stage, newer, other)
    rejudge(submission=newer, actor=stage.olga, reason="once more", now=stage.now)
    stage.judge(newer, ratio=0.85)
    judge_shadow(stage, other, ratio=0.75)  # its owner was served less
    judge_shadow(stage, newer, ratio=0.7)
    assert apply(stage, chosen) == {"newer": 1, "applied": 1, "published": 1}
    assert [status_of(one, now=stage.now).ratio for one in (newer, other)] == [0.85, 0.75]


def test_a_cancelled_attempt_keeps_no_line_out_of_a_set(stage: Stage) -> None:
    """The line stands on the verdict before it, and so does the set's comparison."""
    before, since = judged(stage, 0.9, 0.8)
    told: dict[str, Any] = {"actor": stage.olga, "reason": "once more"}
    rejudge(submission=before, now=stage.later(1), **told)
    cancel(submission=before, now=stage.later(1), **told)
    chosen = set_of(stage, before, since)
    rejudge(submission=since, now=stage.later(1), **told)
    cancel(submission=since, now=stage.later(1), **told)
    judge_shadow(stage, before, ratio=0.7)
    judge_shadow(stage, since, ratio=0.6)
    assert [row.before and row.before.ratio for row in compare(chosen).rows] == [0.9, 0.8]
    assert apply(stage, chosen) == {"applied": 2, "published": 2}


def fail_anew(stage: Stage, *submissions: Submission) -> None:
    """Judge submissions again by the site's own fault."""
    for submission in submissions:
        rejudge(submission=submission, actor=stage.olga, reason="once more", now=stage.later(1))
        stage.judge(submission, outcome="infra_error", reason="problem")


def test_a_failure_of_ours_keeps_no_line_out_of_a_set(stage: Stage) -> None:
    """Our own failures are no verdicts: the line stands on the verdict before them, and so does the set."""
    before, since = judged(stage, 0.9, 0.8)
    failed = stage.submit(stage.cleo)
    stage.judge(failed, outcome="infra_error", reason="problem")
    fail_anew(stage, before)
    chosen = set_of(stage, before, since, failed)
    fail_anew(stage, since, failed)
    for submission, ratio in ((before, 0.7), (since, 0.6), (failed, 0.75)):
        judge_shadow(stage, submission, ratio=ratio)
    rows = compare(chosen).rows
    assert [(row.before and row.before.ratio, row.item.before.outcome) for row in rows] == [
        (0.9, "passed"),
        (0.8, "passed"),
        (None, "infra_error"),
    ]
    assert apply(stage, chosen) == {"applied": 3, "published": 3}


@pytest.mark.parametrize("kind", [Kind.VERSION, Kind.RUNNER])
def test_a_set_chooses_by_the_newest_verdict_and_not_by_a_failure_of_ours(stage: Stage, kind: str) -> None:
    [submission] = judged(stage, 0.9)
    verdict = current(submission)
    stage.board.version = ProblemVersion.objects.create(
        problem=stage.board.problem, digest=f"sha256:{1:064x}", bundle=stage.board.version.bundle
    )
    stage.board.save()
    fail_anew(stage, submission)
    selection = Selection(kind=kind, runner=stage.rex.name, until=verdict.finished_at + timedelta(microseconds=1))
    found, _ = select(selection=selection, competition=stage.board.competition, board=None)
    assert found == [verdict]


def test_a_set_waits_for_the_admission_of_its_boards(stage: Stage) -> None:
    [first] = judged(stage, 0.9)
    other = stage.submit(stage.ben, board=make_board("other"))
    stage.judge(other)
    told = {"version": other.board.version, "hardware": "cpu", "actor": stage.olga, "gate": True}
    ask_test(**told, now=stage.now)
    with pytest.raises(UserError, match="has to pass its admission test first") as refused:
        set_of(stage, first, other)
    assert (refused.value.value, RejudgeSet.objects.exists()) == ("other", False)
    assert set_of(stage, first).items.count() == 1


@pytest.mark.parametrize("told", [{"outcome": "infra_error"}, {"outcome": "unmeasurable", "reason": "voids"}])
def test_what_says_nothing_of_the_kernel_takes_nothing_away(stage: Stage, told: dict[str, str]) -> None:
    [submission] = judged(stage, 0.9)
    chosen = set_of(stage, submission)
    while Attempt.objects.unfinished().exists():
        judge_shadow(stage, submission, **told)
    assert apply(stage, chosen) == {"no_verdict": 1}
    assert (status_of(submission, now=stage.now).rank, current(submission).number) == (1, 1)


def test_what_a_person_rejected_stays_rejected(stage: Stage) -> None:
    submission = stage.submit()
    result = stage.judge(submission, ratio=0.1)
    pipeline.reject_result(result=result, actor=stage.olga, reason="it cheats", now=stage.now)
    chosen = set_of(stage, submission)
    judge_shadow(stage, submission, ratio=0.9)
    assert apply(stage, chosen) == {"rejected": 1}
    assert (status_of(submission, now=stage.now).review, Entry.objects.count()) == ("rejected", 0)


def test_what_a_person_rejected_stays_rejected_after_a_judging_that_failed(stage: Stage) -> None:
    submission = stage.submit()
    result = stage.judge(submission, ratio=0.1)
    pipeline.reject_result(result=result, actor=stage.olga, reason="it cheats", now=stage.now)
    rejudge(submission=submission, actor=stage.olga, reason="once more", now=stage.later(1))
    stage.judge(submission, outcome="infra_error")
    chosen = set_of(stage, submission)
    judge_shadow(stage, submission, ratio=0.9)
    assert rejudging_acts.try_rejudging(chosen=chosen, actor=stage.olga, now=stage.now) == {"rejected": 1}
    assert apply(stage, chosen) == {"rejected": 1}
    assert not Entry.objects.exists()
    assert Decision.objects.count() == 1


def test_a_board_never_mixes_epochs_nor_loses_lines_unasked(stage: Stage) -> None:
    one, two, three = judged(stage, 0.9, 0.8, 0.7)
    chosen = set_of(stage, one, two)
    for submission in (one, two):
        judge_shadow(stage, submission, ratio=0.75, epoch="driver-2")
    assert not Epoch.objects.exists()
    assert compare(chosen).left_behind == 2, "those that would move to an epoch that the board does not rank"
    greet(runner=make_runner("tex"), fingerprint={}, epoch="driver-2", now=stage.now)
    stage.choose("driver-2")
    assert compare(chosen).left_behind == 0, "a person decided that the board ranks the new epoch"
    apply(stage, chosen)
    epochs = board_epochs(stage.board, stage=CalendarStage.CONTEST, now=stage.now)
    assert [epoch.name for epoch in epochs] == ["driver-2", ""]
    assert [status_of(one, now=stage.now).rank for one in (one, two, three)] == [1, 1, None]


def test_a_whole_board_moves_to_a_new_epoch_unasked(stage: Stage) -> None:
    submissions = judged(stage, 0.9, 0.8)
    chosen = set_of(stage, *submissions)
    for submission in submissions:
        judge_shadow(stage, submission, ratio=0.75, epoch="driver-2")
    greet(runner=make_runner("tex"), fingerprint={}, epoch="driver-2", now=stage.now)
    with pytest.raises(UserError, match="2 lines would stay behind"):
        apply(stage, chosen)
    stage.choose("driver-2")
    assert apply(stage, chosen)
    assert [status_of(one, now=stage.now).rank for one in submissions] == [1, 1]


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.REVIEWER])
def test_owners_of_the_competition_only(stage: Stage, role: str | None) -> None:
    [submission] = judged(stage, 0.9)
    chosen = set_of(stage, submission)
    judge_shadow(stage, submission)
    if role:
        Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=role)
    for act in (rejudging_acts.apply_rejudging, discard_set):
        with pytest.raises(UserError) as caught:
            act(chosen=chosen, actor=stage.cleo, reason="I may not", now=stage.now)
        assert caught.value.status == 403
    Role.objects.update_or_create(competition=stage.board.competition, user=stage.cleo, defaults={"role": Role.OWNER})
    assert rejudging_acts.apply_rejudging(chosen=chosen, actor=stage.cleo, reason="I may", now=stage.now)


def at_once(*acts: Any) -> list[Any]:
    """Run the acts concurrently, each in its own thread, and return their answers or errors."""
    start, told = threading.Barrier(len(acts)), [None] * len(acts)

    def run(number: int) -> None:
        start.wait(20)
        try:
            told[number] = acts[number]()
        except (UserError, StaleLease) as error:
            told[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return told


def test_two_organisers_and_late_reports_at_once(live_stage: Stage) -> None:
    """In any order, apply or discard wins, a late report is included or refused, and no deadlock occurs."""
    stage = live_stage
    submissions = judged(stage, 0.9, 0.8, 0.7)
    chosen = set_of(stage, *submissions)
    judge_shadow(stage, submissions[0], ratio=0.6)
    late: list[Job] = [stage.claim(), stage.claim()]
    told = at_once(
        lambda: apply(stage, chosen, leave_out=True),
        lambda: discard_set(chosen=chosen, actor=stage.olga, reason="no", now=stage.now),
        lambda: stage.report(late[0], ratio=0.65),
        lambda: stage.report(late[1], outcome="unmeasurable", reason="voids"),
    )
    state = RejudgeSet.objects.get().state
    assert isinstance(told[1], UserError) if state == RejudgeSet.APPLIED else isinstance(told[0], UserError)
    assert not Attempt.objects.unfinished().exists()
    shadows = Attempt.objects.filter(rejudge_set=chosen).order_by("submission_id", "number")
    assert all(one.number < two.number for one, two in pairwise(shadows) if one.submission_id == two.submission_id)
    ratios = [status_of(one, now=stage.now).ratio for one in submissions]
    if state == RejudgeSet.DISCARDED:
        assert ratios == [0.9, 0.8, 0.7]
    else:
        assert (ratios[0], ratios[2]) == (0.6, 0.7)
        assert ratios[1] == (0.65 if RejudgeItem.objects.get(submission=submissions[1]).became == "applied" else 0.8)


def test_who_takes_first_place_by_it_is_to_be_confirmed(stage: Stage) -> None:
    first, second = judged(stage, 0.7, 0.8)
    Confirmation.objects.all().delete()
    chosen = set_of(stage, second)
    judge_shadow(stage, second, ratio=0.6)
    assert not Confirmation.objects.exists()
    apply(stage, chosen)
    asked = Confirmation.objects.get()
    assert (asked.candidate, asked.incumbent, asked.cause) == (second, first, RECORD)


def test_who_is_first_as_the_leader_is_held_by_it_took_no_place(stage: Stage) -> None:
    second, leap = judged(stage, 0.8, 0.3)
    clear(stage, leap)
    asked = Confirmation.objects.get()
    chosen = set_of(stage, leap, second)
    judge_shadow(stage, second, ratio=0.79)
    judge_shadow(stage, leap, ratio=0.29)
    assert apply(stage, chosen) == {"applied": 2, "published": 1, "held": 1}
    clear(stage, leap)
    assert Confirmation.objects.get() == asked, "the two were asked about, the faster one as the candidate"


def clear(stage: Stage, submission: Submission) -> None:
    pipeline.clear_result(result=current(submission).result, actor=stage.olga, reason="read it", now=stage.later(1))


@pytest.mark.parametrize("why", ["retracted", "suspended"])
def test_what_has_no_line_gets_none_and_is_told_to_get_none(stage: Stage, why: str) -> None:
    first, second = judged(stage, 0.7, 0.8)
    chosen = set_of(stage, first, second)
    told = {"actor": stage.olga, "reason": "it is ben's", "now": stage.now}
    if why == "retracted":
        retract(submission=first, **told)
    else:
        pipeline.suspend_account(user=stage.ada, competition=None, **told)
    judge_shadow(stage, first, ratio=0.6)
    judge_shadow(stage, second, ratio=0.75)
    assert [(row.rank_before, row.rank_after) for row in compare(chosen).rows] == [(None, None), (1, 1)]
    assert apply(stage, chosen) == {"applied": 2, "failed": 1, "published": 1}
    assert Entry.objects.get().submission == second


def test_a_large_set_takes_no_more_queries_than_a_small_one(stage: Stage) -> None:
    stage.judge(stage.submit(), ratio=0.7, score_us=700.0)  # leads throughout, to keep the rest constant
    counted = []
    for size in (3, 8):
        submissions = judged(stage, *[0.9 + number / 100 for number in range(size)])
        chosen = set_of(stage, *submissions, name=f"of {size}")
        for _ in submissions:
            stage.report(stage.claim(), ratio=0.95)
        with CaptureQueriesContext(connection) as queries:
            assert apply(stage, chosen) == {"applied": size, "published": size}
        counted.append(len(queries))
    assert counted[0] == counted[1]


def test_two_sets_of_the_same_people_are_applied_at_once(live_stage: Stage) -> None:
    stage = live_stage
    submissions = judged(stage, 0.9, 0.8, 0.7) + judged(stage, 0.95, 0.85, 0.75)[::-1]
    sets = [set_of(stage, *submissions[:3], name="one"), set_of(stage, *submissions[3:], name="two")]
    for _ in submissions:
        stage.report(stage.claim(), ratio=0.65)
    assert at_once(*[partial(apply, stage, one) for one in sets]) == [{"applied": 3, "published": 3}] * 2
