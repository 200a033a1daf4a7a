"""Limits of an owner: submissions per hour and unfinished submissions, without a race between two requests."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from pytest_django.fixtures import Settings

from leaderboard.errors import RateLimited
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.sweep import expire_leases
from leaderboard.submissions.models import Submission
from leaderboard.submissions.quota import Usage, check_quota
from tests.leaderboard.stage import NOON, Stage


def test_the_hour_slides() -> None:
    sent = [NOON - timedelta(minutes=50), NOON - timedelta(minutes=10)]
    check_quota(Usage(sent, 0), per_hour=3, unfinished_at_once=5, now=NOON)
    with pytest.raises(RateLimited, match="at most 2") as caught:
        check_quota(Usage(sent, 0), per_hour=2, unfinished_at_once=5, now=NOON)
    assert caught.value.retry_after_s == 600
    assert caught.value.status == 429


def test_too_many_unfinished_wait_for_one_to_finish(stage: Stage, settings: Settings) -> None:
    settings.UNFINISHED_AT_ONCE = 2
    first = stage.submit()
    stage.submit()
    with pytest.raises(RateLimited, match="at most 2"):
        stage.submit()
    stage.submit(stage.ben)  # ben has a limit of his own
    stage.judge(first)
    stage.submit()


def test_what_organisers_have_judged_again_takes_no_place(stage: Stage, settings: Settings) -> None:
    settings.UNFINISHED_AT_ONCE = 1
    first = stage.submit()
    stage.judge(first)
    rejudge(submission=first, actor=stage.olga, reason="a bug in the judge", now=stage.later(1))
    stage.submit()
    with pytest.raises(RateLimited, match="1 of your submissions wait"):
        stage.submit()
    lost = stage.claim()
    assert lost.submission_id != str(first.pk)
    stage.report(lost)
    stage.claim()
    expire_leases(now=stage.later(61))  # the replacement of a lost re-judging does not count either
    stage.submit()


def test_what_we_failed_to_judge_does_not_count(stage: Stage, settings: Settings) -> None:
    settings.SUBMISSIONS_PER_HOUR = 1
    stage.submit()
    with pytest.raises(RateLimited):
        stage.submit()
    for _ in range(3):
        stage.claim()
        expire_leases(now=stage.later(61))
    stage.submit()


def test_two_requests_at_once_do_not_share_the_last_place(live_stage: Stage, settings: Settings) -> None:
    settings.UNFINISHED_AT_ONCE = 1
    refused = threading.Event()

    def send() -> None:
        try:
            live_stage.submit()
        except RateLimited:
            refused.set()
        finally:
            connection.close()

    second = threading.Thread(target=send)
    with transaction.atomic():
        live_stage.submit()
        second.start()
        second.join(0.5)
        assert second.is_alive(), "the second waits until the first has committed"
    second.join(20)
    assert refused.is_set()
    assert Submission.objects.count() == 1
