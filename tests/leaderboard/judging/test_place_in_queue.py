"""A waiting submission's place is the order of the claims, and its wait follows from recent runs."""

from datetime import timedelta

import pytest

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.admissions.ask import ask_test
from leaderboard.admissions.models import PASSED, AdmissionTest
from leaderboard.competitions.models import Competition
from leaderboard.judging import queue
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.device_time import set_share
from leaderboard.judging.lease import finish
from leaderboard.judging.models import Attempt, Runner
from tests.leaderboard.stage import Stage, current, make_board, make_runner


def positions(stage: Stage) -> list[int]:
    """Return the waiting submissions, the next first."""
    places = queue.line("cpu", now=stage.now).places
    assert [place.position for place in places.values()] == list(range(1, len(places) + 1))
    return list(places)


def claims(stage: Stage, *, seconds: float | None = None) -> list[int]:
    """Claim all that waits, on enough runners, or one after the other with so many seconds each."""
    order = []
    while queue.line("cpu", now=stage.now).places:
        job = stage.claim()
        order.append(int(job.submission_id))
        if seconds is not None:
            stage.later(seconds - 1)
            stage.report(job)
    return order


def alive(stage: Stage) -> None:
    Runner.objects.update(last_seen_at=stage.now)


def fill(stage: Stage) -> None:
    for owner, modes in ((stage.ada, "test ranked ranked test"), (stage.ben, "ranked test"), (stage.cleo, "benchmark")):
        for mode in modes.split():
            stage.submit(owner, mode=mode)
    for _ in range(2):
        stage.submit(stage.ada)
    stage.submit(stage.olga)


def test_places_are_the_order_of_claims_on_many_runners(stage: Stage) -> None:
    fill(stage)
    assert (expected := positions(stage)) == claims(stage)
    assert len(expected) == 10


def test_places_are_the_order_of_claims_one_after_the_other(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ben))  # a second, as all that follow
    fill(stage)
    assert positions(stage) == claims(stage, seconds=1)


def test_linked_logins_have_one_turn_in_the_places(stage: Stage) -> None:
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.ada)
    stage.judge(stage.submit(stage.ben))
    fill(stage)
    assert positions(stage) == claims(stage)


def test_a_competition_beyond_its_share_and_what_is_judged_again_come_last(stage: Stage) -> None:
    old = stage.submit(stage.ben)
    stage.judge(old)
    other = Competition.objects.create(slug="other", name="Other", quotas=stage.board.competition.quotas)
    board = make_board("matmul")
    board.competition = other
    board.save()
    shared = {"competition": stage.board.competition, "hardware": "cpu", "percent": 1}
    set_share(**shared, actor=stage.olga, reason="both run", now=stage.now)
    rejudge(submission=old, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    fill(stage)
    late = stage.submit(stage.ada, board=board)
    assert positions(stage)[0] == late.pk
    assert positions(stage)[-1] == old.pk
    assert positions(stage) == claims(stage)


def test_the_wait_is_the_median_of_recent_runs_over_the_runners(stage: Stage) -> None:
    for seconds in (9, 10, 30):
        submission = stage.submit(stage.ben)
        job = stage.claim()
        stage.later(seconds - 1)
        stage.report(job)
        assert current(submission).finished_at is not None
    sent = [stage.submit(stage.ada) for _ in range(4)]
    make_runner("tex")
    alive(stage)
    waits = [queue.place_of(one, now=stage.now).wait_s for one in sent]
    assert waits == [0, 0, 10, 10]
    stage.claim()
    place = queue.place_of(sent[1], now=stage.later(4))
    assert (place.position, place.queued, place.runners, place.wait_s) == (1, 3, 2, 0)
    assert [queue.place_of(one, now=stage.now).wait_s for one in sent[1:]] == [0, 6, 10]
    assert queue.place_of(sent[3], now=stage.now).text == ("3rd of 3 in the queue for cpu, starts in about 10 seconds.")
    assert queue.line("cpu", now=stage.now).wait_s == 16


def test_a_running_admission_test_is_waited_for(stage: Stage) -> None:
    for place, board in enumerate((stage.board, make_board("another"))):
        ask_test(version=board.version, hardware="cpu", actor=None, now=stage.now)
        assert pipeline.claim_work(runner=stage.rex, now=stage.now) is not None
        if place == 0:  # the next test is expected to take as long
            finish(AdmissionTest.objects.get(), PASSED, "", stage.later(40))
    submission = stage.submit()
    stage.later(10)
    alive(stage)
    assert queue.place_of(submission, now=stage.now).wait_s == 40 - 11


def test_tests_and_ranked_runs_have_their_own_durations(stage: Stage) -> None:
    for mode, seconds in (("test", 2), ("ranked", 20)):
        stage.submit(stage.ben, mode=mode)
        job = stage.claim()
        stage.later(seconds - 1)
        stage.report(job)
    alive(stage)
    practice, ranked = stage.submit(mode="test"), stage.submit(stage.cleo)
    last = stage.submit(stage.olga)
    waits = [queue.place_of(one, now=stage.now).wait_s for one in (practice, ranked, last)]
    assert waits == [40, 0, 20] or waits == [0, 2, 22]


def test_without_a_runner_or_a_past_run_no_wait_is_known(stage: Stage) -> None:
    submission, second = stage.submit(), stage.submit()
    Runner.objects.update(last_seen_at=stage.now - timedelta(minutes=3))
    place = queue.place_of(submission, now=stage.now)
    assert (place.runners, place.wait_s) == (0, None)
    assert place.text == "No runner of cpu is connected; it waits."
    alive(stage)
    assert queue.place_of(submission, now=stage.now).text == "1st of 2 in the queue for cpu, starts now."
    assert queue.place_of(second, now=stage.now).text == "2nd of 2 in the queue for cpu."


def test_what_cannot_be_claimed_yet_has_no_place(stage: Stage) -> None:
    submission = stage.submit()
    Attempt.objects.update(not_before=stage.now + timedelta(minutes=1))
    assert queue.place_of(submission, now=stage.now) is None
    assert queue.place_of(submission, now=stage.now + timedelta(minutes=2)).position == 1
    Attempt.objects.update(not_before=None)
    stage.claim()
    assert queue.place_of(submission, now=stage.now) is None


def test_a_line_costs_the_same_queries_however_long_it_is(stage: Stage, django_assert_max_num_queries) -> None:
    stage.submit()
    with django_assert_max_num_queries(9):
        queue.line("cpu", now=stage.now)
    for _ in range(9):
        stage.submit(stage.ben)
    with django_assert_max_num_queries(9):
        queue.line("cpu", now=stage.now)


def test_a_long_line_is_kept_for_a_few_seconds(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "SHORT", 2)
    monkeypatch.setattr(queue, "_kept", {})
    for _ in range(3):
        stage.submit()
    kept = queue.line("cpu", now=stage.now)
    assert queue.line("cpu", now=stage.now) is kept
    monkeypatch.setattr(queue, "KEPT_S", -1.0)
    queue.forget()
    assert queue.line("cpu", now=stage.now) is not queue.line("cpu", now=stage.now)


def test_wait_behind_a_run_beyond_the_median_follows_the_longer_runs(stage: Stage) -> None:
    for seconds in (10, 10, 60):
        stage.submit(stage.ben)
        job = stage.claim()
        stage.later(seconds - 1)
        stage.report(job)
    stage.submit(stage.cleo)
    stage.claim()
    waiting = stage.submit(stage.ada)
    began = Attempt.objects.get(state="claimed").claimed_at
    assert began is not None
    waits = []
    for seconds in (2, 20, 50, 70):
        stage.later((began + timedelta(seconds=seconds) - stage.now).total_seconds())
        alive(stage)
        waits.append(queue.place_of(waiting, now=stage.now).wait_s)
    assert waits == [8, 40, 10, 0]
