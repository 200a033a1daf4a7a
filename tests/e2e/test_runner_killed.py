"""kill -9 of a runner in the middle of an attempt; real processes all round: database, broker, site, sweeper, runner.

The attempt becomes lost when its lease expires, a new attempt finishes on a fresh runner, exactly one result ranks,
and the first runner's report, should it still arrive, is refused as stale.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from runner.daemon.client import SiteClient
from runner.errors import StaleLease
from runner.wire import Event, Job, Report
from tests.e2e.conftest import LEASE_S, Stage, await_that, slow_judge
from tests.runner.conftest import is_alive

pytestmark = pytest.mark.slow


def test_killed_runner_costs_one_attempt_and_nothing_else(stage: Stage, tmp_path: Path) -> None:
    rex = stage.manage("create_runner", "rex", "--hardware", "cpu").strip()
    fresh = stage.manage("create_runner", "rex-2", "--hardware", "cpu").strip()
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def custom_kernel(data):\n    return data\n")

    # Given: rex is in the middle of ada's ranked submission, and has kept it longer than one lease.
    runner = stage.begin_runner("rex", rex, RUNNER_JUDGE_COMMAND=slow_judge(600))
    sent = stage.photofinish("submit", str(kernel), "--board", "softmax", "--mode", "ranked", "--no-wait")
    assert sent.returncode == 0, sent.stderr
    submission = sent.stdout.strip()
    zombie = await_that(lambda: _job(tmp_path / "rex"))
    time.sleep(LEASE_S * 1.5)
    assert stage.attempts() == [("checking", "", True)]

    # When: it dies at once, without a message.
    runner.kill()
    runner.wait()
    await_that(lambda: not is_alive(zombie["pid"]), within_s=2)
    await_that(lambda: len(stage.attempts()) == 2)

    # Then: a fresh runner finishes a new attempt; ada has a single result, entry and pass.
    stage.begin_runner("rex-2", fresh, RUNNER_JUDGE_COMMAND=slow_judge(0.2))
    shown = stage.photofinish("show", submission)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert stage.attempts() == [("lost", "", False), ("done", "passed", True)]
    assert stage.rows("SELECT count(*) FROM judging_result") == [(1,)]
    entries = json.loads(stage.photofinish("board", "softmax", "--json").stdout)
    assert [(entry["rank"], entry["user"], entry["score_us"]) for entry in entries] == [(1, "ada", 800.0)]

    # And: any later message of the dead runner is refused, and changes no state.
    client = SiteClient(stage.url, rex)
    job = Job(zombie["attempt_id"], zombie["token"], LEASE_S, "cpu", "ranked", submission, "kernel.py", "", {}, "")
    with pytest.raises(StaleLease):
        client.renew(job)
    with pytest.raises(StaleLease):
        client.send_events(job, [Event(seq=9, kind="progress")])
    with pytest.raises(StaleLease):
        client.report(Report(job.attempt_id, job.token, "passed", score_us=1.0, ratio=0.9))
    client.close()
    assert stage.rows("SELECT count(*) FROM judging_result") == [(1,)]
    assert json.loads(stage.photofinish("board", "softmax", "--json").stdout) == entries


def test_two_hosts_restarted_in_turn_hand_the_attempt_on(stage: Stage, tmp_path: Path) -> None:
    """A rolling update: the submission is neither lost nor set aside, and no host is suspended."""
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def custom_kernel(data):\n    return data\n")
    sent = stage.photofinish("submit", str(kernel), "--board", "softmax", "--mode", "ranked", "--no-wait")
    assert sent.returncode == 0, sent.stderr
    for name in ("rex", "tex"):
        token = stage.manage("create_runner", name, "--hardware", "cpu").strip()
        runner = stage.begin_runner(name, token, RUNNER_JUDGE_COMMAND=slow_judge(600), RUNNER_DRAIN_S="0.5")
        await_that(lambda name=name: _job(tmp_path / name))
        await_that(lambda: stage.attempts() == [("checking", "", True)])
        runner.terminate()
        assert runner.wait(30) == 0
        await_that(lambda: stage.attempts() == [("queued", "", True)])
    fresh = stage.manage("create_runner", "lex", "--hardware", "cpu").strip()
    stage.begin_runner("lex", fresh, RUNNER_JUDGE_COMMAND=slow_judge(0.2))
    await_that(lambda: stage.attempts() == [("done", "passed", True)])
    assert stage.rows("SELECT losses FROM judging_attempt") == [(0,)]
    assert stage.rows("SELECT count(*) FROM judging_runner WHERE suspended_at IS NOT NULL") == [(0,)]
    said = stage.rows("SELECT count(*) FROM judging_attemptevent WHERE message LIKE '%queued again, in its old place'")
    assert said == [(2,)]


def _job(state: Path) -> dict[str, Any] | None:
    path = state / "job.json"
    return json.loads(path.read_text()) if path.exists() else None
