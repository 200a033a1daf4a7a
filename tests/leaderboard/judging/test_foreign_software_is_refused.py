"""A runner states its versions in hello and claim; the site refuses software that it cannot judge with."""

import json
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from leaderboard.env import ConfigError, matching, pairs
from leaderboard.judging.live import hosts, queues
from leaderboard.judging.models import Runner
from leaderboard.judging.runners import create_runner
from leaderboard.operations.models import Notice
from leaderboard.pipeline import claim_work
from runner.wire import DIGEST
from tests.leaderboard.judging.test_runner_door import Door
from tests.leaderboard.stage import Stage

IMAGE, OTHER = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
STATED = {"wire": 1, "hardware": "cpu", "version": "0.1.0", "evidence": 3, "images": [IMAGE]}


@pytest.fixture
def door(stage: Stage) -> Door:
    Runner.objects.all().delete()
    stage.rex, token = create_runner(name="rex", hardware="cpu", now=timezone.now())
    return Door(token)


def refused(door: Door, **changes: Any) -> str:
    answer = door.post("claim", STATED | changes)
    assert answer.status_code == 400
    detail = json.loads(answer.content)["detail"]
    rex = Runner.objects.get(name="rex")
    assert (rex.standing, rex.skew) == ("refused", detail)
    return str(detail)


def test_claim_keeps_the_stated_software_and_a_silent_older_claim_works(stage: Stage, door: Door) -> None:
    assert door.post("claim", STATED).status_code == 204
    rex = Runner.objects.get(name="rex")
    assert rex.software == {"wire": 1, "version": "0.1.0", "evidence": 3, "images": [IMAGE]}
    stage.submit()
    assert door.post("claim", {"hardware": "cpu"}).status_code == 200


def test_foreign_wire_and_evidence_are_refused_and_taken_back_in_after_an_update(stage: Stage, door: Door) -> None:
    stage.submit()
    assert "this site speaks version 1; upgrade the older side" in refused(door, wire=2)
    assert "reports evidence of version 2, this site reads 3" in refused(door, evidence=2)
    refused(door, evidence=2)
    assert [notice.subject for notice in Notice.objects.filter(event="runner_refused")] == ["rex"]
    [host] = hosts(["cpu"], now=timezone.now())
    assert (host.state, host.why) == ("refused", Runner.objects.get(name="rex").skew)
    [queue] = queues(["cpu"], competition_id=stage.board.competition_id, now=timezone.now())
    assert queue.runners == 0
    assert door.post("claim", STATED).status_code == 200
    assert Runner.objects.get(name="rex").standing == ""


@pytest.mark.parametrize(("version", "good"), [("0.9.12", False), ("0.10", True), ("1.0.0", True), ("", False)])
def test_runner_below_the_least_version_is_refused(door: Door, settings: Settings, version: str, good: bool) -> None:
    settings.RUNNER_LEAST_VERSION = "0.10.0" if version != "0.10" else "0.10"
    if good:
        assert door.post("claim", STATED | {"version": version}).status_code == 204
    else:
        assert "takes runners from version 0.10" in refused(door, version=version)


def test_only_the_image_that_the_site_names_may_judge(stage: Stage, door: Door, settings: Settings) -> None:
    settings.RUNNER_IMAGES = {"cpu": IMAGE, "H200": OTHER}
    stage.submit()
    assert f"judges cpu with image {IMAGE}, not {OTHER}" in refused(door, images=[OTHER])
    assert "not an unstated one" in refused(door, images=[])
    assert claim_work(runner=stage.rex, now=stage.now) is None
    assert door.post("claim", STATED | {"images": [OTHER, IMAGE]}).status_code == 200


def test_hello_of_foreign_software_proposes_no_epoch(door: Door) -> None:
    answer = door.hello(evidence=99, epoch="e-1")
    assert answer.status_code == 400
    rex = Runner.objects.get(name="rex")
    assert (rex.epoch, rex.greeted_at, rex.standing) == ("", None, "refused")


def test_settings_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_IMAGES", f"cpu={IMAGE}, H200={OTHER}")
    assert pairs("RUNNER_IMAGES", value=DIGEST, shape="X") == {"cpu": IMAGE, "H200": OTHER}
    for value in ("cpu", f"={IMAGE}", "cpu=latest"):
        monkeypatch.setenv("RUNNER_IMAGES", value)
        with pytest.raises(ConfigError, match=r"RUNNER_IMAGES: .* is not of the form X"):
            pairs("RUNNER_IMAGES", value=DIGEST, shape="X")
    monkeypatch.setenv("RUNNER_LEAST_VERSION", "newest")
    with pytest.raises(ConfigError, match=r"RUNNER_LEAST_VERSION='newest' is not of the form 1\.2\.3"):
        matching("RUNNER_LEAST_VERSION", "", pattern=r"\d+", shape="1.2.3")


def test_health_is_kept_with_limits(door: Door) -> None:
    canary = {"at_s": 1.7e9, "ok": False, "took_us": 36.0, "reason": "slow"}
    health = {"disk_free_bytes": 5, "disk_bytes": 10, "temperature_c": 41.5, "canaries": [canary]}
    assert door.post("health", health).status_code == 200
    rex = Runner.objects.get(name="rex")
    assert rex.health == health
    assert rex.health_at is not None
    for change in (
        {"disk_bytes": -1},
        {"canaries": [canary] * 21},
        {"canaries": [{"ok": 1}]},
        {"temperature_c": "hot"},
    ):
        assert door.post("health", health | change).status_code == 400
