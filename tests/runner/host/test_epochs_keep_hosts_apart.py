"""Times compare inside an epoch only: a change that affects times opens a new epoch, any different change does not."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.host import image_versions as inside
from runner.host.accelerators import epoch, fingerprint
from sandbox import container, policy
from tests.runner.judge.fake_nvml import NOT_SUPPORTED, UNKNOWN, FakeError, FakeNvml

REQUIREMENTS = Path(__file__).parents[3] / "sandbox" / "image" / "requirements.in"
HOST: dict[str, str | int] = {"hardware": "H200", "gpu": "NVIDIA H200", "driver": "580.1", "power_limit_w": 700}


class Driver(FakeNvml):
    """Driver with the values that a fingerprint reads once."""

    def nvmlInit(self) -> None:
        pass

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.95.05"

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "NVIDIA H200"

    def nvmlDeviceGetMaxClockInfo(self, handle: str, kind: int) -> int:
        return {1: 1980}[kind]

    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle: str) -> int:
        return 5


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", made)
    return made


def test_a_changed_driver_or_power_limit_opens_a_new_epoch() -> None:
    assert len({epoch(HOST), epoch(HOST | {"driver": "590.2"}), epoch(HOST | {"power_limit_w": 500})}) == 3


def test_what_does_not_change_times_leaves_the_epoch_alone() -> None:
    told: dict[str, str | int] = {
        "kernel": "6.9",
        "python": "3.12",
        "memory_bytes": 1,
        "gpu_uuid": "GPU-bb",
        "pcie": "gen 4 x8",
    }
    assert epoch(HOST) == epoch(HOST | told)


def test_this_host_has_one() -> None:
    assert epoch(fingerprint("cpu")) == epoch(fingerprint("cpu"))
    assert len(epoch(fingerprint("cpu"))) == 16


def test_a_gpu_is_told_with_its_driver_and_its_link(driver: Driver) -> None:
    found = fingerprint("H200")
    assert (
        found
        | {
            "gpu": "NVIDIA H200",
            "gpu_uuid": "GPU-aa",
            "driver": "580.95.05",
            "power_limit_w": 700,
            "max_sm_mhz": 1980,
            "pcie": "gen 5 x16",
        }
        == found
    )
    assert len(found) + 3 <= 24  # with the image's versions: the most that a reviewer is shown


@pytest.mark.parametrize("silent", ["nvmlDeviceGetUUID", "nvmlDeviceGetMaxPcieLinkGeneration"])
def test_what_a_virtual_gpu_does_not_tell_is_left_out_and_its_epoch_stays(driver: Driver, silent: str) -> None:
    whole = fingerprint("H200")
    driver.broken[silent] = FakeError(NOT_SUPPORTED)
    found = fingerprint("H200")
    assert len(found) == len(whole) - 1
    assert epoch(found) == epoch(whole)


@pytest.mark.parametrize(
    ("silent", "named"),
    [
        ("nvmlInit", "the library"),
        ("nvmlDeviceGetName", "the GPU's name"),
        ("nvmlSystemGetDriverVersion", "the driver's version"),
        ("nvmlDeviceGetMaxClockInfo", "the highest clock"),
        ("nvmlDeviceGetPowerManagementLimit", "the power limit"),
    ],
)
def test_fingerprint_of_a_device_that_cannot_be_read_is_an_error_that_names_the_part(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, silent: str, named: str
) -> None:
    def fail(*_: object) -> None:
        raise FakeError(UNKNOWN)

    monkeypatch.setattr(driver, silent, fail)
    with pytest.raises(ConfigError, match=f"NVML does not tell {named} of GPU 0.*nvidia-smi -q"):
        fingerprint("H200")


def test_fingerprint_has_the_configured_power_limit_and_not_the_enforced_one(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = epoch(fingerprint("H200"))
    monkeypatch.setattr(driver, "nvmlDeviceGetEnforcedPowerLimit", lambda handle: 450_000)  # a rack's cap
    assert epoch(fingerprint("H200")) == before
    driver.power_limit_mw = 500_000  # nvidia-smi -pl
    assert epoch(fingerprint("H200")) != before


def test_fingerprint_of_a_virtual_gpu_without_a_power_limit_is_readable(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise FakeError(NOT_SUPPORTED)

    monkeypatch.setattr(driver, "nvmlDeviceGetPowerManagementLimit", fail)
    assert "power_limit_w" not in fingerprint("H200")


# -- versions inside the image ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["torch", "torch_cuda", "cuda", "timing_version"])
def test_another_version_inside_the_image_or_of_the_judge_opens_a_new_epoch(field: str) -> None:
    inside: dict[str, str | int] = {"torch": "2.11.0", "torch_cuda": "13.0", "cuda": "13.0", "timing_version": 13}
    assert epoch(HOST | inside) != epoch(HOST | inside | {field: "2.12.0"})
    assert epoch(HOST | inside) != epoch(HOST)


def test_version_probe_names_torch_without_importing_it() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-c", inside.PROGRAM], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["torch"] == version("torch")
    assert "torch._C" not in done.stderr


def asked(monkeypatch: pytest.MonkeyPatch, answer: dict[str, str]) -> list[str]:
    """Images whose containers were queried; each container gives this answer."""
    images: list[str] = []

    def ask(client: object, settings: JudgeSettings, gpu: object, cpus: str) -> dict[str, str]:
        images.append(settings.sandbox_image)
        return answer

    monkeypatch.setattr(inside, "ask", ask)
    monkeypatch.setattr(inside.container, "image_id", lambda client, name: f"sha256:{name}")
    return images


def settings_of(tmp_path: Path, image: str = "a") -> JudgeSettings:
    return JudgeSettings(runner_state=tmp_path, runner_locks=tmp_path, sandbox_image=image)


def test_versions_inside_are_asked_once_an_image_and_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    images = asked(monkeypatch, {"torch": "2.11.0", "cuda": "13.0"})
    toolkit = policy.Gpu("toolkit", device_ids=("GPU-aa",), cdi_kind="", nodes=(), programs="")
    for image, driver in (("a", "1"), ("a", "1"), ("b", "1"), ("b", "2"), ("b", "2")):
        told = {"gpu": toolkit, "cpus": "0", "driver": driver}
        assert inside.versions_inside(None, settings_of(tmp_path, image), **told)["torch"] == "2.11.0"
    assert images == ["a", "b", "b"]
    host = replace(toolkit, stack="host")
    for _ in range(2):
        inside.versions_inside(None, settings_of(tmp_path), gpu=host, cpus="0", driver="1")
    assert images[3:] == ["a", "a"], "the host's own stack changes without the image"


def test_versions_inside_that_cannot_be_read_are_an_error_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked(monkeypatch, {})
    for _ in range(2):
        with pytest.raises(ConfigError, match="SANDBOX_IMAGE: a: a container of it does not say its version of torch"):
            inside.versions_inside(None, settings_of(tmp_path), gpu=None, cpus="0", driver="")


@pytest.mark.docker
def test_versions_inside_come_from_the_image_and_not_from_this_host(tmp_path: Path) -> None:
    image = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
    client = container.connect()
    try:
        found = inside.versions_inside(client, settings_of(tmp_path, image), gpu=None, cpus="0", driver="")
        assert inside.versions_inside(client, settings_of(tmp_path, image), gpu=None, cpus="0", driver="") == found
    finally:
        client.close()
    [pinned] = [line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("torch==")]
    assert found["torch"].partition("+")[0] == pinned.removeprefix("torch==").split()[0].partition("+")[0]
