"""One runner per GPU: its name has NVML's number, its mount the minor number, its CUDA device the UUID."""

import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.config import JudgeSettings
from runner.daemon.loan import IDLE, Patience, Stay, borrowed
from runner.errors import ConfigError, DeviceBusy
from runner.host.accelerators import Device, DeviceLock
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
    held, other = (Device("H200", index) for index in (0, 3))
    with DeviceLock(held, tmp_path), DeviceLock(other, tmp_path):
        pass


def test_a_gpu_is_not_judged_on_alone_and_in_a_group_at_once(tmp_path: Path) -> None:
    group, alone, beside = Device("H200x2", 0, 2), Device("H200", 1), Device("H200", 2)
    held = DeviceLock(alone, tmp_path)
    with held, pytest.raises(DeviceBusy, match=r"photofinish-gpu-1\.lock: another runner"):
        DeviceLock(group, tmp_path).take()
    with DeviceLock(group, tmp_path), DeviceLock(beside, tmp_path), pytest.raises(DeviceBusy):
        held.take()
    with DeviceLock(Device("H200", 0), tmp_path):
        pass  # a group that found one of its devices held keeps none


def test_a_group_lends_every_device_of_its_own(tmp_path: Path) -> None:
    daemon, stopping = Stay(Device("H200x2", 0, 2), tmp_path), threading.Event()
    assert daemon.take(stopping)
    daemon.note(IDLE)
    assert not daemon.asked()
    told: list[str] = []

    def lend(holder: str, waited_s: float) -> None:
        told.append(holder)
        assert daemon.asked()
        daemon.give()

    with borrowed(Device("H200", 1), tmp_path, Patience(60, lend), "a command"):
        assert told == [IDLE]
        assert daemon.asked()
    assert not daemon.asked()
