"""The daemon as an operator sees it: signals, exit codes, one device one runner, no secret in the log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.accelerators import Device, DeviceLock, epoch
from tests.runner.conftest import is_alive
from tests.runner.fake_site import TOKEN, FakeSite

Launch = Callable[..., "subprocess.Popen[str]"]


def test_sigterm_ends_judge_and_daemon_and_reports_nothing(site: FakeSite, launch: Launch, state: Path) -> None:
    attempt = site.offer("a1", "hang")
    process = launch()
    site.await_that(lambda: attempt.events)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not is_alive(int((state / "judge.pid").read_text()))
    assert attempt.report_calls == 0


def test_sigkill_of_the_daemon_takes_the_judge_along(site: FakeSite, launch: Launch, state: Path) -> None:
    attempt = site.offer("a1", "stubborn")
    process = launch()
    site.await_that(lambda: attempt.events)
    judge = int((state / "judge.pid").read_text())
    assert is_alive(judge)
    process.kill()
    process.wait(10)
    site.await_that(lambda: not is_alive(judge), within_s=2)


def test_start_reaps_what_a_former_run_left(site: FakeSite, launch: Launch, state: Path) -> None:
    launch()
    site.await_that(lambda: site.claims)
    assert (state / "reaped").read_text().split() == [(state / "id").read_text()]


def test_hello_tells_hardware_and_host(site: FakeSite, launch: Launch) -> None:
    launch()
    site.await_that(lambda: site.hellos)
    hello = site.hellos[0]
    assert (hello["wire"], hello["hardware"]) == (1, "cpu")
    assert hello["fingerprint"]["cpus"] >= 1
    assert hello["fingerprint"]["memory_bytes"] > 1_000_000
    assert hello["epoch"] == epoch(hello["fingerprint"])


def test_every_log_line_is_json_and_holds_no_secret(site: FakeSite, launch: Launch) -> None:
    attempt = site.offer("a1", "die")
    process = launch(BROKER_URL="redis://runner:broker-secret@127.0.0.1:1/0")
    site.await_that(lambda: attempt.report)
    process.terminate()
    _, log = process.communicate(timeout=15)
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert {"hello", "claimed", "judge_died", "reported"} <= set(events)
    assert "the roof is on fire" in log
    assert TOKEN not in log
    assert "broker-secret" not in log


def test_wrong_token_ends_the_daemon_with_a_sentence(site: FakeSite, launch: Launch) -> None:
    process = launch(RUNNER_TOKEN="pfr_not_this_one")
    _, log = process.communicate(timeout=15)
    assert process.returncode == 2
    assert "401" in log
    assert "Traceback" not in log
    assert "pfr_not_this_one" not in log


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"PHOTOFINISH_URL": ""}, "PHOTOFINISH_URL"),
        ({"PHOTOFINISH_URL": "http://site.example"}, "PHOTOFINISH_URL"),
        ({"RUNNER_TOKEN": ""}, "RUNNER_TOKEN"),
        ({"BROKER_URL": "amqp://rabbit"}, "BROKER_URL"),
        ({"RUNNER_HARDWARE": "toaster"}, "RUNNER_HARDWARE"),
        ({"RUNNER_POLL_S": "never"}, "RUNNER_POLL_S"),
        ({"RUNNER_JUDGE_COMMAND": "not json"}, "RUNNER_JUDGE_COMMAND"),
    ],
)
def test_wrong_setting_is_named(launch: Launch, changes: dict[str, str], named: str) -> None:
    process = launch(**changes)
    _, log = process.communicate(timeout=15)
    assert process.returncode == 2
    assert log.startswith("runner: ")
    assert named in log
    assert "Traceback" not in log


def test_device_is_held_by_one_runner_of_a_host(tmp_path: Path) -> None:
    holder = "import sys, pathlib; from runner.accelerators import *; from runner.errors import DeviceBusy\n"
    holder += "try:\n with DeviceLock(Device('cpu', 0), pathlib.Path(sys.argv[1])): print('held')\n"
    holder += "except DeviceBusy: print('busy')"

    def other() -> str:
        return subprocess.run(
            [sys.executable, "-c", holder, str(tmp_path)], capture_output=True, text=True
        ).stdout.strip()

    with DeviceLock(Device("cpu", 0), tmp_path):
        assert other() == "busy"
    assert other() == "held"


def test_second_runner_waits_for_the_first_to_end(site: FakeSite, launch: Launch) -> None:
    first = launch()
    site.await_that(lambda: len(site.hellos) == 1)
    second = launch()
    first.terminate()
    assert first.wait(10) == 0
    site.await_that(lambda: len(site.hellos) == 2, within_s=15)
    assert second.poll() is None
