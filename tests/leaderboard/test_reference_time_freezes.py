"""The baseline's time of a case: the median of the first ten jobs of an epoch, then the same for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from leaderboard.judging.models import ReferenceTime, Result
from leaderboard.judging.reference import JOBS, baseline_times_ns, learn_reference_times
from leaderboard.judging.runners import greet
from tests.leaderboard.stage import Stage, cut_connections, environment

CASE = "cols=4096 rows=512"


def judged(stage: Stage, baseline_us: float, **told: str) -> None:
    cases = (
        {"name": CASE, "baseline_us": baseline_us},
        {"name": CASE, "baseline_us": 5 * baseline_us},
        {"name": "cols=7 rows=7", "baseline_us": 1.0},
    )
    stage.judge(stage.submit(), cases=cases, **told)


def learn(stage: Stage) -> int:
    return learn_reference_times(
        problem_digest=stage.board.version.digest, hardware="cpu", epoch=stage.rex.epoch, now=stage.now
    )


def test_it_is_the_median_and_freezes_at_the_tenth_job(stage: Stage) -> None:
    for number in range(JOBS - 1):
        judged(stage, 1000.0 + number)
    assert learn(stage) == 0
    told = ReferenceTime.objects.get()
    assert (told.case, told.median_ns, told.samples, told.frozen_at) == (CASE, 1_004_000.0, 9, None)

    judged(stage, 1009.0)
    assert learn(stage) == 1
    frozen = ReferenceTime.objects.get()
    assert (frozen.median_ns, frozen.samples, frozen.frozen_at) == (1_004_500.0, 10, stage.now)

    judged(stage, 1.0)
    assert learn(stage) == 0
    assert ReferenceTime.objects.get() == frozen
    assert ReferenceTime.objects.get().median_ns == 1_004_500.0
    stage.submit()
    assert stage.claim().reference_ns == {CASE: 1_004_500.0}


def test_what_was_learned_late_is_the_same(stage: Stage) -> None:
    for number in range(JOBS + 3):
        judged(stage, 1000.0 + number)
    assert learn(stage) == 1
    assert ReferenceTime.objects.get().median_ns == 1_004_500.0


def test_each_epoch_has_its_own_and_a_runner_gets_that_of_its_epoch(stage: Stage) -> None:
    old, new = "driver-1", "driver-2"
    version = stage.board.version.digest
    for number in range(JOBS):
        judged(stage, 1000.0 + number, epoch=old)
        judged(stage, 2000.0 + number, epoch=new)
    for epoch in (old, new):
        assert learn_reference_times(problem_digest=version, hardware="cpu", epoch=epoch, now=stage.now) == 1
    assert learn(stage) == 0, "nobody told a time without an epoch"
    for epoch, median_ns in ((old, 1_004_500.0), (new, 2_004_500.0), ("driver-3", None)):
        greet(runner=stage.rex, fingerprint={}, epoch=epoch, now=stage.now)
        if epoch != old:
            stage.choose(epoch)
        submission = stage.submit()
        job = stage.claim()
        assert job.reference_ns == ({CASE: median_ns} if median_ns else {})
        stage.report(job)
        assert Result.objects.get(attempt__submission=submission).epoch == epoch, (
            "that of the runner, where a report says none"
        )


def test_a_runner_whose_device_changed_gets_the_times_of_the_new_epoch(stage: Stage) -> None:
    for number in range(JOBS):
        judged(stage, 1000.0 + number, epoch="driver-2")
    learn_reference_times(problem_digest=stage.board.version.digest, hardware="cpu", epoch="driver-2", now=stage.now)
    greet(runner=stage.rex, fingerprint={}, epoch="driver-1", now=stage.now)
    judged(stage, 1000.0, epoch="driver-2")
    stage.rex.refresh_from_db()
    stage.submit()
    assert stage.claim().reference_ns == {CASE: 1_004_500.0}


@pytest.mark.parametrize("value", [None, "12", True, 0, -1, float("nan"), float("inf")])
def test_what_is_no_time_is_left_out(value: object) -> None:
    assert baseline_times_ns([[{"name": CASE, "baseline_us": value}]], {CASE}) == {}


def test_the_site_worker_learns_it_after_each_report_though_its_connection_died(live_stage: Stage) -> None:
    command = [sys.executable, "-m", "dramatiq", "leaderboard.actors", "--processes", "1", "--threads", "1"]
    judged(live_stage, 1000.0)
    worker = subprocess.Popen([*command, "--queues", "site"], env=environment(), start_new_session=True)
    try:
        assert learned(1) == 1_000_000.0
        cut_connections()
        judged(live_stage, 2000.0)
        assert learned(2) == 1_500_000.0
    finally:
        os.killpg(worker.pid, signal.SIGTERM)
        worker.wait(20)


def learned(samples: int) -> float | None:
    """The median once so many samples are in it, None when that takes too long."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        told = ReferenceTime.objects.filter(samples=samples).first()
        if told is not None:
            return told.median_ns
        time.sleep(0.05)
    return None
