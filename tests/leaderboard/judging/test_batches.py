"""Batches are sent whole or not at all, share one budget, and make nobody else wait longer for them."""

import statistics
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.errors import RateLimited, UserError
from leaderboard.judging import batches, queue
from leaderboard.judging.attempts import cancel, rejudge
from leaderboard.judging.management.commands.sweep import sweep_once
from leaderboard.judging.models import Attempt, Watch
from leaderboard.judging.sweep import beat, expire_leases
from leaderboard.operations.models import Notice
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Batch, Candidate, QuotaLine, Submission
from tests.leaderboard.stage import SOURCE, Stage, current, make_board


def upload(stage: Stage, number: int, mode: str = "test", **changes: Any) -> Upload:
    data = SOURCE + f"KERNEL = {number}\n".encode()
    told: dict[str, Any] = {"board": stage.board.slug, "hardware": "cpu", "filename": "kernel.py", "data": data}
    return Upload(mode=mode, **told | changes)


def send(
    stage: Stage, size: int, *, owner: User | None = None, mode: str = "test", budget_s: float = 1_000, first: int = 0
) -> Batch:
    uploads = [upload(stage, first + number, mode) for number in range(size)]
    now = stage.later(1)
    return pipeline.submit_batch(uploads, mode=mode, budget_s=budget_s, owner=owner or stage.ada, now=now)


def arrivals(batch: Batch) -> list[tuple[int, int]]:
    found = batch.candidates.exclude(arrival=None).order_by("arrival")
    return list(found.values_list("arrival", "number"))


def test_a_batch_is_submissions_in_the_order_of_its_request(stage: Stage) -> None:
    batch = send(stage, 3)
    sent = [candidate.submission for candidate in batch.candidates.order_by("number")]
    assert [one.source.rsplit(" ", 1)[1] for one in sent] == ["0\n", "1\n", "2\n"]
    assert {one.mode for one in sent} == {"test"}
    assert [current(one).state for one in sent] == ["queued"] * 3
    assert QuotaLine.objects.filter(act="spent").count() == 3
    states, outcomes = batches.counts_of([batch.pk])[batch.pk]
    assert (states, outcomes) == (Counter(queued=3), Counter())


def test_a_batch_goes_to_several_boards(stage: Stage) -> None:
    make_board("matmul")
    uploads = [upload(stage, 1), upload(stage, 2, board="matmul")]
    batch = pipeline.submit_batch(uploads, mode="test", budget_s=10, owner=stage.ada, now=stage.later(1))
    assert [one.submission.board.slug for one in batch.candidates.all()] == ["softmax", "matmul"]


def test_a_wrong_candidate_refuses_the_whole_batch_by_its_place(stage: Stage) -> None:
    uploads = [upload(stage, 1), upload(stage, 2, data=b"x = 1\x00")]
    with pytest.raises(UserError, match=r"candidates\.1\.code: NUL byte"):
        pipeline.submit_batch(uploads, mode="test", budget_s=10, owner=stage.ada, now=stage.later(1))
    large = [upload(stage, number, data=b"#" * 900_000) for number in range(5)]
    with pytest.raises(UserError, match="at most 4,000,000") as caught:
        pipeline.submit_batch(large, mode="test", budget_s=10, owner=stage.ada, now=stage.later(1))
    assert caught.value.status == 413
    assert not Submission.objects.exists()
    assert not Batch.objects.exists()


def test_a_batch_beyond_the_quota_is_refused_with_the_time_of_enough(stage: Stage) -> None:
    Competition.objects.update(quotas={"test": {"capacity": 4, "per_day": 24}})
    send(stage, 2)
    with pytest.raises(RateLimited, match=r"2 left of your 4 test submissions .* fewer than these 3") as caught:
        send(stage, 3)
    assert caught.value.code == "quota_used_up"
    assert caught.value.retry_after_s == pytest.approx(3600, abs=5)
    with pytest.raises(UserError, match="send at most 4"):
        send(stage, 5)
    send(stage, 2)
    assert Submission.objects.count() == 4


def test_candidates_have_outer_limits_of_their_own(stage: Stage, settings: Settings) -> None:
    settings.UNFINISHED_AT_ONCE, settings.CANDIDATES_AT_ONCE, settings.CANDIDATES_PER_HOUR = 1, 3, 4
    send(stage, 3)
    stage.submit(mode="test")  # a batch takes no place of single submissions
    with pytest.raises(RateLimited, match="3 of your candidates wait or run, and 1 more exceed the 3") as caught:
        send(stage, 1)
    assert caught.value.code == "too_many_unfinished"
    for _ in range(4):
        stage.report(stage.claim())
    with pytest.raises(RateLimited, match="3 candidates in the last hour, and 2 more exceed 4") as caught:
        send(stage, 2)
    assert 3500 < caught.value.retry_after_s <= 3600
    send(stage, 1)


def test_arrivals_are_numbered_as_verdicts_come(stage: Stage) -> None:
    batch = send(stage, 3)
    first, second = stage.claim(), stage.claim()
    stage.report(second)
    stage.report(first, outcome="wrong")
    assert arrivals(batch) == [(1, 2), (2, 1)]
    batch.refresh_from_db()
    assert batch.settled_at is None
    stage.report(stage.claim())
    batch.refresh_from_db()
    assert (arrivals(batch)[-1], batch.settled_at, batch.ended_as) == ((3, 3), stage.now, "")
    states, outcomes = batches.counts_of([batch.pk])[batch.pk]
    assert (states, outcomes) == (Counter(done=3), Counter(passed=2, wrong=1))


def test_a_spoiled_measurement_arrives_after_its_last_try(stage: Stage) -> None:
    batch = send(stage, 1, mode="benchmark")
    stage.report(stage.claim(), outcome="unmeasurable", reason="voids")
    assert arrivals(batch) == []
    stage.later(3600)
    stage.report(stage.claim())
    assert arrivals(batch) == [(1, 1)]


def test_a_spent_budget_ends_the_waiting_candidates_and_costs_no_quota(stage: Stage) -> None:
    batch = send(stage, 4, budget_s=30)
    first, running = stage.claim(), stage.claim()
    stage.later(28)
    stage.report(first)  # 29 s of each attempt
    batch.refresh_from_db()
    assert batch.ended_as == Batch.BUDGET_SPENT, "the time of the running attempt counts"
    ends = [current(one.submission) for one in batch.candidates.order_by("number")]
    assert [(one.state, one.reason) for one in ends] == [
        ("done", ""),
        ("claimed", ""),
        ("cancelled", "budget_spent"),
        ("cancelled", "budget_spent"),
    ]
    message = ends[2].events.order_by("-id")[0].message
    assert "30 device seconds are spent" in message
    assert "cost no quota" in message
    assert QuotaLine.objects.filter(act="given_back").count() == 2
    assert arrivals(batch) == [(1, 1), (2, 3), (3, 4)]
    stage.report(running)
    batch.refresh_from_db()
    assert batch.settled_at is not None
    assert batches.spent_s([batch.pk], stage.now)[batch.pk] == pytest.approx(29 + 30)


def test_a_further_try_after_the_budget_is_ended_too(stage: Stage) -> None:
    batch = send(stage, 1, mode="benchmark", budget_s=1)
    stage.report(stage.claim(), outcome="unmeasurable", reason="voids")
    batch.refresh_from_db()
    assert (batch.ended_as, batch.settled_at is None) == (Batch.BUDGET_SPENT, False)
    assert QuotaLine.objects.filter(act="given_back").count() == 1


def test_the_end_of_a_budget_leaves_what_an_organiser_has_judged_again(stage: Stage) -> None:
    batch = send(stage, 2, budget_s=30)
    job = stage.claim()
    stage.report(job)
    again = Submission.objects.get(pk=job.submission_id)
    last = stage.claim()
    rejudge(submission=again, actor=stage.olga, reason="bug", now=stage.now)
    stage.later(60)
    stage.report(last)
    batch.refresh_from_db()
    assert (current(again).state, batch.ended_as) == ("queued", "")
    assert not QuotaLine.objects.filter(act="given_back").exists()
    stage.report(stage.claim())
    assert current(again).outcome == "passed"


def test_candidates_whose_tokens_came_back_count_in_the_hour(stage: Stage, settings: Settings) -> None:
    settings.CANDIDATES_PER_HOUR = 4
    send(stage, 4, budget_s=1)
    job = stage.claim()
    stage.later(10)
    stage.report(job)
    assert QuotaLine.objects.filter(act="given_back").count() == 3
    with pytest.raises(RateLimited, match="4 candidates in the last hour"):
        send(stage, 1, first=9)


def test_lost_runners_and_rejudging_spend_no_budget(stage: Stage) -> None:
    batch = send(stage, 2, budget_s=30)
    stage.claim()
    expire_leases(now=stage.later(61))
    assert batches.spent_s([batch.pk], stage.now)[batch.pk] == 0
    job = stage.claim()
    stage.report(job)
    stage.report(stage.claim())
    rejudge(submission=Submission.objects.get(pk=job.submission_id), actor=stage.olga, reason="bug", now=stage.now)
    stage.claim()
    stage.later(1000)
    assert batches.spent_s([batch.pk], stage.now)[batch.pk] == pytest.approx(2)


def test_cancelling_a_batch_ends_waiting_and_running_candidates(stage: Stage) -> None:
    batch = send(stage, 3)
    stage.report(stage.claim())
    stage.claim()
    told = {"actor": stage.ada, "reason": "found a better idea", "now": stage.later(1)}
    batch = batches.cancel_batch(batch=batch, **told)
    assert (batch.ended_as, batch.settled_at) == (Batch.CANCELLED, stage.now)
    states = [current(one.submission).state for one in batch.candidates.order_by("number")]
    assert states == ["done", "cancelled", "cancelled"]
    assert arrivals(batch) == [(1, 1), (2, 2), (3, 3)]
    assert not QuotaLine.objects.filter(act="given_back").exists(), "as with single submissions"
    with pytest.raises(UserError, match="already finished"):
        batches.cancel_batch(batch=batch, **told)


def test_the_sweeper_settles_what_no_report_settled(stage: Stage) -> None:
    batch = send(stage, 1)
    (candidate,) = batch.candidates.all()
    cancel(submission=candidate.submission, actor=stage.ada, reason="never mind", now=stage.now)
    assert arrivals(batch) == []
    assert batches.settle_unsettled(now=stage.now) == 0
    assert arrivals(batch) == [(1, 1)]


def test_a_batch_that_cannot_be_settled_holds_up_no_other_and_is_noticed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, ended, late = send(stage, 1), send(stage, 1), send(stage, 1)
    for batch in (stuck, ended, late):
        cancel(submission=batch.candidates.get().submission, actor=stage.ada, reason="never mind", now=stage.now)
    usual = batches.spent_s

    def spent_s(of: list[int], now: datetime) -> dict[int, float]:
        if of in ([stuck.pk], [late.pk]):
            raise RuntimeError("a fault of ours")
        return usual(of, now)

    monkeypatch.setattr(batches, "spent_s", spent_s)
    beat(now=timezone.now())
    sweep_once()
    assert (arrivals(stuck), arrivals(ended), arrivals(late)) == ([], [(1, 1)], [])
    assert f": {stuck.pk}, {late.pk}. Last error: RuntimeError" in Notice.objects.get(event="batch_not_settled").text
    assert Watch.objects.get().whole_sweep_at is None, "so the alert SweeperStopped comes"
    monkeypatch.setattr(batches, "spent_s", usual)
    sweep_once()
    assert (arrivals(stuck), arrivals(late)) == ([(1, 1)], [(1, 1)])
    assert Watch.objects.get().whole_sweep_at is not None


def waits_of_others(stage: Stage, beside: int) -> list[float]:
    """Let three people in turn send a kernel each 20 s, on one runner with jobs of JOB_S, and return their waits."""
    if beside:
        flood(stage, beside)
    people = [User.objects.create_user(f"person-{beside}-{number}") for number in range(3)]
    began, sent, waits = stage.now, dict[str, Any](), list[float]()
    for step in range(30):
        moment = began + timedelta(seconds=20 * step)
        while stage.now < moment:  # the runner is never idle beside the flood
            if not work_once(stage, sent, waits):
                stage.now = moment
        submission = stage.submit(people[step % 3], mode="test")
        sent[str(submission.pk)] = stage.now
    while sent and work_once(stage, sent, waits):
        pass
    assert not sent
    return waits


def work_once(stage: Stage, sent: dict[str, Any], waits: list[float]) -> bool:
    if not Attempt.objects.filter(state="queued").exists():
        return False
    job = stage.claim()
    if at := sent.pop(job.submission_id, None):
        waits.append((stage.now - at).total_seconds())
    stage.later(JOB_S - 1)
    stage.report(job)
    return True


def flood(stage: Stage, size: int) -> None:
    """Queue candidates of ada's, as her batches would, without their checks."""
    pattern = stage.submit(stage.ada, mode="test")
    attempt = current(pattern)
    rows = []
    for _ in range(size - 1):
        pattern.pk = None
        rows.append(Submission(**{f.attname: getattr(pattern, f.attname) for f in Submission._meta.concrete_fields}))
    sent = Submission.objects.bulk_create(rows)
    fields = [f.attname for f in Attempt._meta.concrete_fields if not f.primary_key]
    values = {name: getattr(attempt, name) for name in fields}
    Attempt.objects.bulk_create(Attempt(**values | {"submission_id": one.pk}) for one in sent)
    batch = Batch.objects.create(owner=stage.ada, mode="test", budget_s=1e6, size=256, created_at=stage.now)
    Candidate.objects.bulk_create(Candidate(batch=batch, submission=one, number=n) for n, one in enumerate(sent[:256]))
    with connection.cursor() as cursor:  # as autovacuum would; tables that it has seen empty get quadratic plans
        cursor.execute("ANALYZE")


JOB_S = 7


def test_ten_thousand_candidates_delay_others_by_at_most_a_job(stage: Stage) -> None:
    alone = waits_of_others(stage, 0)
    beside = waits_of_others(stage, 10_000)
    assert len(alone) == len(beside) == 30
    assert statistics.median(beside) - statistics.median(alone) <= JOB_S
    assert max(beside) <= 2 * JOB_S, "the running job, and the job of another person at most"
    assert Attempt.objects.filter(owner=stage.ada, state="queued").count() > 9_000


def test_submission_by_hand_goes_before_a_batch_of_its_account_and_passes_nobody_else(stage: Stage) -> None:
    send(stage, 2, mode="ranked")
    other = stage.submit(stage.ben)
    by_hand = stage.submit(stage.ada, mode="test")
    expected = list(queue.line("cpu", now=stage.now).places)
    order = []
    for _ in range(4):
        job = stage.claim()
        order.append(int(job.submission_id))
        stage.report(job)
    assert order[:2] == [other.pk, by_hand.pk]
    assert order == expected
