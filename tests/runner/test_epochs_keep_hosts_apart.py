"""Times compare inside an epoch only: what changes them opens a new one, what does not leaves it alone."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from runner import gpus
from runner.accelerators import epoch, fingerprint, torch_of
from runner.config import JudgeSettings
from tests.runner.judge.fake_nvml import NOT_SUPPORTED, UNKNOWN, FakeError, FakeNvml

HOST: dict[str, str | int] = {"hardware": "H200", "gpu": "NVIDIA H200", "driver": "580.1", "power_limit_w": 700}


class Driver(FakeNvml):
    """With what a fingerprint asks once."""

    def nvmlInit(self) -> None:
        pass

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.95.05"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 13010

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
        "cuda": "9",
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
            "cuda": "13.1",
            "power_limit_w": 700,
            "max_sm_mhz": 1980,
            "pcie": "gen 5 x16",
        }
        == found
    )
    assert len(found) <= 16  # as many as a reviewer is shown


@pytest.mark.parametrize("silent", ["nvmlDeviceGetUUID", "nvmlDeviceGetMaxPcieLinkGeneration"])
def test_what_a_virtual_gpu_does_not_tell_is_left_out_and_its_epoch_stays(driver: Driver, silent: str) -> None:
    whole = fingerprint("H200")
    driver.broken[silent] = FakeError(NOT_SUPPORTED)
    found = fingerprint("H200")
    assert len(found) == len(whole) - 1
    assert epoch(found) == epoch(whole)


def test_a_host_without_a_driver_says_so(driver: Driver) -> None:
    driver.broken["nvmlInit"] = FakeError(UNKNOWN)
    assert fingerprint("H200")["gpu"] == "unknown"


# -- the stack that containers mount ---------------------------------------------------------------------------------


def python_with(torch: str, folder: Path) -> str:
    """An interpreter that says so of its torch; what it is asked with is a real one's."""
    made = folder / "python"
    made.write_text(f"#!/bin/sh\necho {torch}\n" if torch else "#!/bin/sh\nexit 1\n")
    made.chmod(0o755)
    return str(made)


def test_a_new_torch_of_the_hosts_stack_opens_a_new_epoch(driver: Driver, tmp_path: Path) -> None:
    told = [torch_of(python_with(torch, tmp_path)) for torch in ("2.13.0+cu130", "2.14.0+cu130")]
    old, new = (fingerprint("H200", 0, torch) for torch in told)
    assert (old["torch"], new["torch"]) == ("2.13.0+cu130", "2.14.0+cu130")
    assert len({epoch(old), epoch(new), epoch(fingerprint("H200"))}) == 3


def test_a_real_interpreter_tells_its_torch() -> None:
    assert torch_of(sys.executable) == version("torch")


def test_an_interpreter_without_torch_and_one_that_is_not_there_are_unknown(tmp_path: Path) -> None:
    assert torch_of(python_with("", tmp_path)) == "unknown"
    assert torch_of(str(tmp_path / "none")) == "unknown"


@pytest.mark.parametrize(
    ("hardware", "stack", "found"),
    [("H200", "host", "/opt/torch/python"), ("H200", "toolkit", ""), ("H200", "cdi", ""), ("cpu", "host", "")],
)
def test_only_where_containers_mount_it(tmp_path: Path, hardware: str, stack: str, found: str) -> None:
    settings = JudgeSettings(
        runner_hardware=hardware,
        runner_gpu_stack=stack,
        runner_gpu_interpreter="/opt/torch/python",
        runner_state=tmp_path,
        runner_locks=tmp_path,
    )
    assert gpus.host_python(settings) == found
