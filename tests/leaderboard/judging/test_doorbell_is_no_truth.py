"""A missing or forgetful broker loses no work and causes no visible error."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from leaderboard import broker
from leaderboard.judging.models import Runner
from leaderboard.judging.sweep import ring_idle
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage, current, make_runner


def rings(hardware: str = "cpu") -> list[dict[str, Any]]:
    client, queue = broker.get_broker().client, f"dramatiq:{broker.gpu_queue(hardware)}"
    return [json.loads(client.hget(f"{queue}.msgs", name)) for name in client.lrange(queue, 0, -1)]


@pytest.fixture
def broken_broker(settings: Settings) -> Any:
    """Replace the broker with an unreachable broker during this test."""
    settings.BROKER_URL = "unix:///nowhere/at/all.sock"
    broker.get_broker.cache_clear()
    yield
    broker.get_broker.cache_clear()
    broker.breaker.reset()


def test_a_submission_rings_once_with_the_agreed_message(live_stage: Stage) -> None:
    submission = live_stage.submit()
    (message,) = rings()
    assert (message["queue_name"], message["actor_name"]) == ("gpu.cpu", "doorbell")
    assert (message["args"], message["kwargs"]) == ([], {"hint": str(current(submission).pk)})


def test_a_refused_submission_does_not_ring(live_stage: Stage, settings: Settings) -> None:
    settings.UNFINISHED_AT_ONCE = 1
    live_stage.submit()
    with pytest.raises(Exception, match="at most 1"):
        live_stage.submit()
    assert len(rings()) == 1


@pytest.mark.usefixtures("broken_broker")
def test_without_a_broker_a_submission_is_taken_and_judged(live_stage: Stage) -> None:
    submission = live_stage.submit()
    assert Submission.objects.count() == 1
    live_stage.judge(submission)
    assert current(submission).outcome == "passed"
    live_stage.submit()
    assert ring_idle() == 0


def test_the_sweeper_rings_for_what_nobody_heard(live_stage: Stage) -> None:
    live_stage.submit()
    live_stage.submit()
    broker.get_broker().flush(broker.gpu_queue("cpu"))
    assert ring_idle() == 1, "once for the one idle runner"
    assert ring_idle() == 0, "its ring still waits"
    make_runner("tex")
    assert ring_idle() == 1


def test_nobody_rings_for_nothing_or_for_the_busy(stage: Stage) -> None:
    assert ring_idle() == 0, "no work"
    stage.submit()
    stage.submit()
    stage.claim()
    assert ring_idle() == 0, "the only runner is busy"
    make_runner("tex")
    assert ring_idle() == 1
    broker.get_broker().flush(broker.gpu_queue("cpu"))
    Runner.objects.filter(name="tex").update(suspended_at=stage.now)
    assert ring_idle() == 0, "a suspended runner is not rung for"


def test_the_site_worker_knows_its_actors_without_being_told_of_django() -> None:
    code = "from leaderboard import actors; print(*sorted(actors.dramatiq.get_broker().actors))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=60)
    assert done.stdout.split() == ["ask_hint"], done.stderr
