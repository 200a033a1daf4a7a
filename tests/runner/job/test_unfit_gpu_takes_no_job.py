"""A job begins only on a fit GPU: an unfit GPU is the host's fault, and the report names the cause with its remedy."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.commands import local
from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.job.execute import execute
from runner.job.prepare import Hardware, Prepared
from runner.judge.device.nvidia import Nvidia
from sandbox.container import SandboxError
from tests.runner.judge.fake_nvml import FakeNvml


class Driver(FakeNvml):
    """The whole driver library, as the judge queries it before it makes a context."""

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetMinorNumber(self, handle: str) -> int:
        return 0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", made)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return made


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(runner_hardware="H200", runner_state=tmp_path, runner_locks=tmp_path)


@pytest.mark.parametrize(
    ("change", "found", "remedy"),
    [
        ({"mode": 3}, "compute mode: Exclusive_Process", "nvidia-smi -c DEFAULT"),
        ({"mig": [1, 1]}, "MIG: on", "nvidia-smi -mig 0"),
        ({"ecc": 2}, "memory errors: 2 uncorrected", "nvidia-smi -r"),
    ],
)
def test_an_unfit_gpu_is_refused_before_anything_is_made(
    driver: Driver, settings: JudgeSettings, change: dict[str, object], found: str, remedy: str
) -> None:
    vars(driver).update(change)
    with pytest.raises(SandboxError, match="GPU 0 is not fit to judge") as caught:
        Hardware.of(settings)
    assert found in str(caught.value)
    assert remedy in str(caught.value)


def test_its_job_ends_as_the_hosts_fault(driver: Driver, settings: JudgeSettings) -> None:
    driver.mig = [1, 1]
    job = local.job_from(local.find_problem("vectoradd"), "", "a.py", "ranked", "H200")
    report = execute(job, settings, lambda event: None)
    assert (report.outcome, report.reason) == ("infra_error", "sandbox")
    assert "MIG: on" in report.evidence["operator"]


def test_a_prepared_set_begins_no_job_when_its_gpu_is_fit_no_more(
    driver: Driver, settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Prepared.__new__(Prepared)
    vars(waiting).update(settings=settings, hardware=SimpleNamespace(make=Nvidia()), image="", _born=float("inf"))
    vars(waiting).update(_client=None, _containers=lambda: (), _fingerprint=dict, _read={})
    monkeypatch.setattr("sandbox.container.image_id", lambda client, name: "")
    assert waiting.unfit() == ""
    driver.ecc = 1
    assert "memory errors: 1 uncorrected" in waiting.unfit()


def test_a_driver_that_does_not_answer_is_refused(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.broken["nvmlDeviceGetHandleByIndex"] = RuntimeError("gone")
    (fit,) = Nvidia().job_fit(0)
    assert (fit.name, fit.ok) == ("NVML", False)


def test_on_a_cpu_nobody_is_asked(driver: Driver, settings: JudgeSettings) -> None:
    driver.mig = [1, 1]
    assert Hardware.of(settings.model_copy(update={"runner_hardware": "cpu"})).gpu is None
    assert driver.calls == {}


def test_a_step_that_is_none_is_named(settings: JudgeSettings) -> None:
    with pytest.raises(ConfigError, match="RUNNER_LEAVE_OUT: foo is no step of a call"):
        Hardware.of(settings.model_copy(update={"runner_leave_out": "foo"}))
