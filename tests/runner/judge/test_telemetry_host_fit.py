"""An obstacle to judging on a device is named with its remedy before the device judges a submission."""

from pathlib import Path

import pytest

from runner.judge.device.make import Fit, cpu_fit
from runner.judge.device.nvidia import gpu_fit, gpu_needs
from runner.judge.device.processor import HostFolders
from tests.runner.judge.fake_host import FakeHost
from tests.runner.judge.fake_nvml import NOT_SUPPORTED, FakeError, FakeNvml


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for pid, name in ((66, "python3"), (77, "Xorg")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(name + "\n")
        (tmp_path / str(pid) / "cgroup").write_text("0::/user\n")
    return tmp_path


def bad(found: list[Fit]) -> dict[str, Fit]:
    return {fit.name: fit for fit in found if not fit.ok}


def test_healthy_gpu_is_fit(nvml: FakeNvml, proc: Path) -> None:
    found = gpu_fit(nvml, proc=proc)
    assert bad(found) == {}
    assert all(fit.found for fit in found)
    assert not any(fit.remedy for fit in found)


@pytest.mark.parametrize(
    ("change", "name", "found"),
    [
        ({"mode": 3}, "compute mode", "Exclusive_Process"),
        ({"mig": [1, 1]}, "MIG", "on"),
        ({"mig": [0, 1]}, "MIG", "on"),
        ({"ecc": 2}, "memory errors", "2 uncorrected"),
        ({"ecc_mode": [0, 0]}, "ECC", "off"),
        ({"compute": [66]}, "processes", "pid 66"),
        ({"compute": [424_242]}, "processes", "says nothing"),
        ({"graphics": [77]}, "display", "pid 77"),
        ({"width": 8}, "PCIe", "8 of 16"),
        ({"unsupported_counters": {269, 270}}, "throttling", "269, 270"),
    ],
)
def test_each_fault_is_named_with_its_remedy(
    nvml: FakeNvml, proc: Path, change: dict[str, object], name: str, found: str
) -> None:
    for field, value in change.items():
        setattr(nvml, field, value)
    wrong = bad(gpu_fit(nvml, proc=proc))
    assert list(wrong) == [name]
    assert found in wrong[name].found
    assert wrong[name].remedy


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        ({"mode": 3}, True),
        ({"mig": [1, 1]}, True),
        ({"ecc": 2}, True),
        ({"ecc_mode": [0, 0]}, False),
        ({"compute": [66]}, False),
        ({"graphics": [77]}, False),
        ({"width": 8}, False),
        ({"unsupported_counters": {269, 270}}, False),
    ],
)
def test_a_job_does_not_begin_where_nothing_else_would_see_the_fault(
    nvml: FakeNvml, proc: Path, change: dict[str, object], needed: bool
) -> None:
    assert bad(gpu_needs(nvml, proc=proc)) == {}
    for field, value in change.items():
        setattr(nvml, field, value)
    assert (bad(gpu_needs(nvml, proc=proc)) == bad(gpu_fit(nvml, proc=proc))) is needed


def test_running_mps_is_found_by_its_daemon(nvml: FakeNvml, proc: Path) -> None:
    (proc / "66/comm").write_text("nvidia-cuda-mps-control\n"[:16])
    assert list(bad(gpu_fit(nvml, proc=proc))) == list(bad(gpu_needs(nvml, proc=proc))) == ["MPS"]


def test_own_processes_are_no_company(nvml: FakeNvml, proc: Path) -> None:
    nvml.compute = [66]
    assert bad(gpu_fit(nvml, own=lambda: frozenset({66}), proc=proc)) == {}


def test_what_a_device_does_not_have_is_no_fault(nvml: FakeNvml, proc: Path) -> None:
    for name in ("nvmlDeviceGetMigMode", "nvmlDeviceGetEccMode", "nvmlDeviceGetCurrPcieLinkWidth"):
        nvml.broken[name] = FakeError(NOT_SUPPORTED)
    assert bad(gpu_fit(nvml, proc=proc)) == {}


def test_device_without_a_mask_cannot_judge(nvml: FakeNvml, proc: Path) -> None:
    for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        nvml.broken[name] = FakeError(NOT_SUPPORTED)
    assert list(bad(gpu_fit(nvml, proc=proc))) == ["throttling"]


def test_virtual_machine_is_fit_to_judge_cpu_kernels(tmp_path: Path) -> None:
    assert bad(cpu_fit(FakeHost(tmp_path).folders)) == {}


def test_stolen_cores_are_named(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.stat(core=1, column=7, ticks=2_000)
    wrong = bad(cpu_fit(host.folders))
    assert list(wrong) == ["steal"]
    assert wrong["steal"].found.startswith("9")


def test_host_without_proc_is_not_fit(tmp_path: Path) -> None:
    assert set(bad(cpu_fit(HostFolders(tmp_path, tmp_path, tmp_path)))) == {"telemetry", "pressure", "steal"}
