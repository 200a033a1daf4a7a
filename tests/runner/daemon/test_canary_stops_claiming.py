"""After a report that sets the device aside, the runner claims no job until two canaries in a row have passed."""

import errno
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.daemon import canary
from runner.daemon.worker import Daemon
from tests.runner.fake_site import FakeSite


def canaries(state: Path) -> int:
    return (state / "lives").read_text().count("canary")


def test_set_aside_device_claims_again_after_two_passes(
    site: FakeSite, start: Callable[..., Daemon], state: Path
) -> None:
    first, second = site.offer("a1", "aside ecc"), site.offer("a2", "pass")
    start().judge_until_idle()
    assert first.report.set_aside == "ecc"
    assert second.report.outcome == "passed"
    assert canaries(state) == 2
    assert canary.pending(state) == ""


def test_nothing_is_claimed_while_canaries_fail(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    site.offer("a1", "aside ecc")
    waiting = site.offer("a2", "pass")
    state.mkdir(exist_ok=True)
    (state / "canaries").write_text("pass\naside hw_thermal\n")
    start(runner_poll_s=60).judge_until_idle()
    assert (site.claims, waiting.report) == (1, None)
    assert canaries(state) == 2
    assert canary.pending(state) == "ecc"


def test_failed_canary_is_tried_again_no_oftener_than_polling(
    site: FakeSite, start: Callable[..., Daemon], state: Path
) -> None:
    waiting = site.offer("a1", "pass")
    daemon = start(runner_poll_s=0.5)
    canary.set_aside(state, "xid_79")
    (state / "canaries").write_text("die\n")
    for _ in range(5):  # as if the bell rang
        daemon.judge_until_idle()
    assert (canaries(state), site.claims) == (1, 0)
    time.sleep(0.6)
    daemon.judge_until_idle()
    assert canaries(state) == 3
    assert waiting.report.outcome == "passed"


def test_full_disk_loses_neither_the_report_nor_the_reason(
    site: FakeSite, start: Callable[..., Daemon], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = site.offer("a1", "aside ecc")
    state.mkdir(exist_ok=True)
    daemon = start(runner_poll_s=60)
    (state / "canaries").write_text("aside ecc\n")

    def full(*told: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(canary, "_write", full)
        daemon.judge_until_idle()
        waiting = site.offer("a2", "pass")
        daemon.judge_until_idle()
    assert reported.report.set_aside == "ecc"
    assert waiting.report is None
    daemon.judge_until_idle()
    assert canary.pending(state) == "ecc"
    assert waiting.report is None


def test_full_disk_keeps_a_device_set_aside_and_ends_no_daemon(
    site: FakeSite, start: Callable[..., Daemon], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = site.offer("a1", "pass")
    daemon = start(runner_poll_s=0.5)
    canary.set_aside(state, "ecc")

    def full(*told: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(canary, "_write", full)
        for _ in range(2):
            daemon.judge_until_idle()
    assert (canaries(state), waiting.report) == (1, None)
    time.sleep(0.6)
    daemon.judge_until_idle()
    assert waiting.report.outcome == "passed"


def test_daemon_that_starts_anew_remembers(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    site.offer("a1", "aside ecc")
    state.mkdir(exist_ok=True)
    (state / "canaries").write_text("aside ecc\n")
    start().judge_until_idle()
    waiting = site.offer("a2", "pass")
    (state / "canaries").write_text("aside ecc\n")
    start().judge_until_idle()
    assert waiting.report is None
    start().judge_until_idle()
    assert waiting.report.outcome == "passed"


def test_canary_reports_to_nobody(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    daemon = start()
    canary.set_aside(state, "ecc")
    daemon.judge_until_idle()
    assert canaries(state) == 2
    assert site.attempts == {}
    assert list((state / "spool").iterdir()) == []


def test_report_is_delivered_though_it_sets_aside(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "aside pcie_width")
    state.mkdir(exist_ok=True)
    (state / "canaries").write_text("aside pcie_width\n")
    start().judge_until_idle()
    assert (attempt.report_calls, attempt.report.set_aside) == (1, "pcie_width")
