"""One runner per GPU: its name has NVML's number, its mount the minor number, its CUDA device the UUID."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.host import accelerators
from runner.judge.device.nvidia import Nvidia
from sandbox import policy

MINORS, UUIDS = {0: 2, 3: 7}, {0: "GPU-aa", 3: "GPU-dd"}  # by NVML's number


@pytest.fixture(autouse=True)
def _driver(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetMinorNumber=MINORS.__getitem__,
        nvmlDeviceGetUUID=UUIDS.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def settings(gpu: int, stack: str, tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(
        runner_hardware="H200", runner_gpu=gpu, runner_gpu_stack=stack, runner_state=tmp_path, runner_locks=tmp_path
    )


def gpu_of(settings: JudgeSettings) -> policy.Gpu:
    return Nvidia().equipment(settings)


def test_on_the_hosts_stack_a_container_gets_the_node_of_that_gpu_alone(tmp_path: Path) -> None:
    nodes = gpu_of(settings(3, "host", tmp_path)).nodes
    assert list(nodes) == ["/dev/nvidia7", "/dev/nvidiactl", "/dev/nvidia-uvm"]


@pytest.mark.parametrize("stack", ["toolkit", "cdi"])
def test_the_toolkit_is_asked_by_a_name_that_no_renumbering_changes(stack: str, tmp_path: Path) -> None:
    assert gpu_of(settings(3, stack, tmp_path)).device_ids == ("GPU-dd",)


def test_the_judge_sees_its_own_gpu_alone() -> None:
    Nvidia().claim(3)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-dd"


def test_a_gpu_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="RUNNER_GPU: this host's GPU 1 "):
        gpu_of(settings(1, "host", tmp_path))


def test_each_gpu_of_a_host_has_a_lock_of_its_own(tmp_path: Path) -> None:
    held, other = (accelerators.Device("H200", index) for index in (0, 3))
    with accelerators.DeviceLock(held, tmp_path), accelerators.DeviceLock(other, tmp_path):
        pass
