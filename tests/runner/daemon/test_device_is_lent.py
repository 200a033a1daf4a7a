"""A command that judges beside a running daemon: an idle daemon lends its device, a busy daemon is waited for."""

import fcntl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.daemon.loan import CHANGE_S, Patience, Stay, borrowed
from runner.errors import DeviceBusy
from runner.host.accelerators import Device, DeviceLock
from tests.runner.fake_site import FakeSite

Launch = Callable[..., "subprocess.Popen[str]"]
CPU = Device("cpu", 0)


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def is_waiting(site: FakeSite, state: Path) -> None:
    """The daemon has a waiting judge, and the site has no work."""
    site.await_that(lambda: site.claims and (state / "waiting.pid").exists(), within_s=30)


def lives(state: Path) -> tuple[int, int]:
    text = (state / "lives").read_text()
    return text.count("begins"), text.count("ends")


def test_idle_daemon_lends_its_device_for_one_job_and_comes_back(
    site: FakeSite, launch: Launch, state: Path, locks: Path
) -> None:
    process = launch(RUNNER_POLL_S="0.5")
    is_waiting(site, state)
    with borrowed(CPU, locks, Patience(limit_s=0), "a test"):
        began, ended = lives(state)
        assert began == ended, "its judge is put away"
        attempt = site.offer("a1", "pass")
        time.sleep(2)
        assert not attempt.events, "nothing is judged beside a loan"
        assert lives(state) == (began, ended), "nothing is prepared beside a loan"
    site.await_that(lambda: attempt.report, within_s=30)
    assert attempt.report.outcome == "passed"
    assert process.poll() is None


def test_busy_daemon_is_waited_for_and_named(site: FakeSite, launch: Launch, state: Path, locks: Path) -> None:
    attempt = site.offer("a1", "slow 4")
    following = site.offer("a2", "pass")
    launch()
    site.await_that(lambda: attempt.events, within_s=30)
    told: list[tuple[str, float]] = []
    with borrowed(CPU, locks, Patience(60, lambda holder, waited_s: told.append((holder, waited_s))), "a test"):
        assert attempt.report.outcome == "passed"
        assert not following.events, "the device is lent between two attempts"
    assert told[0][0] == "a runner that judges attempt a1"
    assert told[-1][1] > told[0][1]
    site.await_that(lambda: following.report, within_s=30)


@pytest.mark.parametrize("wait_s", [0, 1])
def test_busy_daemon_is_waited_for_no_longer_than_asked(
    site: FakeSite, launch: Launch, state: Path, locks: Path, wait_s: float
) -> None:
    attempt = site.offer("a1", "hang")
    launch()
    site.await_that(lambda: attempt.events, within_s=30)
    began = time.monotonic()
    with (
        pytest.raises(DeviceBusy, match=r"a runner that judges attempt a1.*--wait SECONDS"),
        borrowed(CPU, locks, Patience(limit_s=wait_s), "a test"),
    ):
        pytest.fail("both have the device")
    assert wait_s <= time.monotonic() - began < wait_s + 3


def test_stopped_daemon_ends_while_its_device_is_lent(site: FakeSite, launch: Launch, state: Path, locks: Path) -> None:
    process = launch()
    is_waiting(site, state)
    with borrowed(CPU, locks, Patience(), "a test"):
        process.terminate()
        assert process.wait(10) == 0


def test_device_between_two_names_of_its_holder_is_waited_for(locks: Path) -> None:
    """A lender erases its name a moment before it frees the device."""
    lender = DeviceLock(CPU, locks)
    lender.take()
    threading.Timer(0.5, lender.close).start()
    with borrowed(CPU, locks, Patience(limit_s=0), "a test"):
        assert not lender.held


def test_holder_without_a_name_is_not_waited_for_much_longer_than_asked(locks: Path) -> None:
    began = time.monotonic()
    with DeviceLock(CPU, locks):
        with (
            pytest.raises(DeviceBusy, match="held by another program of this host"),
            borrowed(CPU, locks, Patience(limit_s=0), "a test"),
        ):
            pytest.fail("both have the device")
        assert time.monotonic() - began < CHANGE_S + 3


def test_two_threads_of_a_daemon_are_no_command(locks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stay, found, flock = Stay(CPU, locks), list[bool](), fcntl.flock

    def linger(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        time.sleep(0.1)

    monkeypatch.setattr(fcntl, "flock", linger)
    threads = [threading.Thread(target=lambda: found.append(stay.asked())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [False, False]


def test_two_commands_have_the_device_in_turn(locks: Path) -> None:
    inside: list[int] = []

    def work(number: int) -> None:
        with borrowed(CPU, locks, Patience(), f"test {number}"):
            assert not inside
            inside.append(number)
            time.sleep(0.3)
            inside.remove(number)
            done.append(number)

    done: list[int] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(done) == [0, 1, 2]


def test_runner_once_with_wait_0_says_who_has_the_device(locks: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def custom_kernel(data): ...")
    command = [sys.executable, "-m", "runner.commands.start", "once", "softmax", str(kernel), "--wait", "0"]
    with borrowed(CPU, locks, Patience(), "`runner bench` (pid 7)"):
        done = subprocess.run(
            command, env={"RUNNER_LOCKS": str(locks), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert "the device cpu-0 is held by `runner bench` (pid 7) (waited 0 s); wait longer" in done.stderr
    assert "Traceback" not in done.stderr
