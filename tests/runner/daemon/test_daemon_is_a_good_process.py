"""The daemon as an operator sees it: signals, exit codes, one runner per device, no secret in the log."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.daemon import worker
from runner.daemon.standby import SLOTS
from runner.host.accelerators import Device, DeviceLock, epoch
from tests.runner.conftest import is_alive
from tests.runner.fake_site import TOKEN, FakeSite

Launch = Callable[..., "subprocess.Popen[str]"]


def test_sigterm_lets_the_daemon_finish_and_report_its_attempt(site: FakeSite, launch: Launch) -> None:
    attempt, next_one = site.offer("a1", "slow 2"), site.offer("a2", "pass")
    process = launch(RUNNER_DRAIN_S="30")
    site.await_that(lambda: attempt.events)
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    assert attempt.report is not None
    assert (attempt.report.outcome, attempt.released) == ("passed", 0)
    assert (next_one.events, site.claims) == ([], 1)


@pytest.mark.parametrize("how", ["limit", "second", "interrupt"])
def test_sigterm_hands_the_attempt_back_after_its_limit_or_a_second_signal(
    site: FakeSite, launch: Launch, state: Path, how: str
) -> None:
    attempt = site.offer("a1", "hang")
    process = launch(RUNNER_DRAIN_S="1.5" if how == "limit" else "600")
    site.await_that(lambda: attempt.events)
    process.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGTERM)
    if how != "interrupt":
        time.sleep(0.8)
        assert is_alive(int((state / "judge.pid").read_text())), "the judge goes on within the limit"
    if how == "second":
        process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not is_alive(int((state / "judge.pid").read_text()))
    assert (attempt.released, attempt.report_calls) == (1, 0)


def test_sigterm_of_an_idle_daemon_ends_it_at_once(site: FakeSite, launch: Launch) -> None:
    process = launch(RUNNER_DRAIN_S="600")
    site.await_that(lambda: site.claims)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_sigterm_while_the_site_is_away_still_ends_the_daemon(site: FakeSite, launch: Launch) -> None:
    attempt = site.offer("a1", "hang")
    process = launch(RUNNER_DRAIN_S="0")
    site.await_that(lambda: attempt.events)
    site.down = True
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    assert attempt.released == 0


def test_sigterm_ends_a_daemon_that_waits_for_the_bell_over_http(site: FakeSite, launch: Launch) -> None:
    site.bell_s = 30.0
    process = launch(BROKER_URL="")
    site.await_that(lambda: site.bells_waiting)
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "Traceback" not in log


def test_sigterm_to_the_judge_as_well_hands_the_attempt_back(site: FakeSite, launch: Launch, state: Path) -> None:
    """A service manager that signals every process of a unit sends both signals."""
    attempt = site.offer("a1", "hang")
    process = launch(RUNNER_DRAIN_S="600")
    site.await_that(lambda: attempt.events)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.7)
    os.kill(int((state / "judge.pid").read_text()), signal.SIGTERM)
    assert process.wait(10) == 0
    assert (attempt.released, attempt.report_calls) == (1, 0)


def test_draining_daemon_stays_up_and_says_so(site: FakeSite, launch: Launch) -> None:
    site.draining = True
    attempt = site.offer("a1", "pass")
    process = launch(RUNNER_POLL_S="0.2")
    site.await_that(lambda: site.claims >= 3)
    assert (process.poll(), attempt.events) == (None, [])
    site.draining = False
    site.await_that(lambda: attempt.report)
    process.terminate()
    _, log = process.communicate(timeout=15)
    assert '"why": "draining"' in log


def command(site: FakeSite, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PHOTOFINISH_URL": site.url, "RUNNER_TOKEN": TOKEN, **changes}
    program = [sys.executable, "-m", "runner.commands.start", *arguments]
    return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60)


def test_drain_command_asks_the_site_and_says_what_is_judged(site: FakeSite) -> None:
    site.holds = ["12"]
    done = command(site, "drain")
    assert (done.returncode, done.stdout) == (0, "Runner rex claims nothing from now on. It still judges 12.\n")
    assert site.draining
    site.holds = ["12", "12"]
    done = command(site, "drain", "--wait")
    assert (done.returncode, done.stderr) == (0, "Runner rex still judges 12; waiting.\n")
    assert done.stdout == "Runner rex claims nothing from now on. It judges nothing: it may be stopped.\n"
    done = command(site, "drain", "--off")
    assert (done.returncode, done.stdout, site.draining) == (0, "Runner rex claims work again.\n", False)


def test_drain_command_refuses_with_a_sentence(site: FakeSite) -> None:
    done = command(site, "drain", RUNNER_TOKEN="pfr_not_this_one")
    assert done.returncode == 2
    assert "this token is unknown" in done.stderr
    assert "Traceback" not in done.stderr


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
    name = (state / "id").read_text()
    slots = {name, f"{name}b", *(f"{name}s{number}" for number in range(1, SLOTS))}
    assert sorted((state / "reaped").read_text().split()) == sorted(slots), (
        "those of every judge that could have waited, and of a build"
    )


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
        ({"BROKER_URL": "redis://runner:hush@broker.example:6379/0"}, "'redis://runner:…@broker.example:6379/0'"),
        ({"RUNNER_CA_FILE": "/nowhere/ca.pem"}, "RUNNER_CA_FILE: '/nowhere/ca.pem'"),
        ({"RUNNER_PROXY": "socks5://proxy.example"}, "RUNNER_PROXY"),
        ({"RUNNER_DRAIN_S": "-1"}, "RUNNER_DRAIN_S"),
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
    assert "hush" not in log
    assert "Traceback" not in log


def test_fault_of_its_own_ends_the_daemon_with_a_code_that_restarts_it(
    start: Callable[..., worker.Daemon], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(daemon: worker.Daemon) -> None:
        raise RuntimeError("a fault of its own")

    monkeypatch.setattr(worker.Daemon, "run", fails)
    assert worker._serve(start()._settings, {signal.SIGTERM}) == 1
    assert "daemon_failed" in caplog.text


def test_device_is_held_by_one_runner_of_a_host(tmp_path: Path) -> None:
    holder = "import sys, pathlib; from runner.host.accelerators import *; from runner.errors import DeviceBusy\n"
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
