"""The daemon states its software with every claim, and its host's health between two jobs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runner import __version__
from runner.config import JudgeSettings
from runner.daemon import canary
from runner.daemon.worker import Daemon
from runner.evidence.schema import VERSION
from runner.wire import MOST_CANARIES
from tests.runner.fake_site import FakeSite
from tests.runner.judge.fake_nvml import FakeNvml


def test_claim_and_hello_state_versions_and_image(site: FakeSite, start: Callable[..., Daemon]) -> None:
    site.offer("a1", "pass")
    start().judge_until_idle()
    stated = {"wire": 1, "version": __version__, "evidence": VERSION, "images": [f"sha256:{'1' * 64}"]}
    assert stated.items() <= site.hellos[0].items()
    assert all(stated.items() <= claim.items() for claim in site.claimed_with)
    assert len(site.claimed_with) == 2


def test_health_is_reported_once_a_while_and_after_each_canary(
    site: FakeSite, start: Callable[..., Daemon], state: Path
) -> None:
    daemon = start()
    daemon.judge_until_idle()
    daemon.judge_until_idle()
    [health] = site.health
    assert 0 < health.disk_free_bytes <= health.disk_bytes
    canary.set_aside(state, "ecc")
    (state / "canaries").write_text("die\n")
    daemon.judge_until_idle()
    assert [one.ok for one in site.health[-1].canaries] == [False]
    assert "the judge failed on the canary" in site.health[-1].canaries[0].reason


def test_site_without_health_costs_no_claim(site: FakeSite, start: Callable[..., Daemon]) -> None:
    site.knows_health = False
    attempt = site.offer("a1", "pass")
    start().judge_until_idle()
    assert attempt.report is not None


def test_canary_history_keeps_the_last_runs(start: Callable[..., Daemon], state: Path) -> None:
    daemon = start()
    for _ in range(MOST_CANARIES // 2 + 1):
        canary.set_aside(state, "ecc")
        daemon.judge_until_idle()
        daemon._no_canary_before = 0.0
    known = canary.health_of(JudgeSettings(runner_state=state)).canaries
    assert len(known) == MOST_CANARIES
    assert {one.took_us for one in known} == {36.0}
    assert [one.at_s for one in known] == sorted(one.at_s for one in known)


def test_temperature_of_a_gpu_is_read_and_a_broken_driver_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver = FakeNvml()
    monkeypatch.setattr("runner.judge.device.nvml.load_nvml", lambda: driver)
    settings = JudgeSettings(runner_hardware="H200", runner_state=tmp_path)
    assert canary.health_of(settings).temperature_c == 55.0
    driver.broken["nvmlDeviceGetTemperature"] = RuntimeError("gone")
    assert canary.health_of(settings).temperature_c is None
