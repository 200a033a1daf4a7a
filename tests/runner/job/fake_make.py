"""A make of accelerators that no vendor sells: the host's memory as the device's, threads that work on it."""

from collections.abc import Sequence
from dataclasses import replace

from runner.config import JudgeSettings
from runner.evidence import schedule
from runner.evidence.sample import EVENT
from runner.judge.data.call import Steps
from runner.judge.device.make import Fit, Found, Make
from runner.judge.device.processor import Pids
from runner.judge.device.telemetry import CpuTelemetry, Telemetry
from tests.runner.judge.two_devices import TwoDevices

HARDWARE = "FAKE1"
FACTS = {"gpu": "Fake accelerator", "driver": "1.2", "power_limit_w": 300, "max_sm_mhz": 1_000}


class TwoDevicesOfASize(TwoDevices):
    """Memory of a device with 1 GiB."""

    def region_bytes(self) -> tuple[int, int]:
        return 1 << 26, 1 << 26


class FakeMake(Make):
    """`asked`: names of the methods that were called. `wrong`: what its set-up lacks."""

    name = "a FAKE accelerator"
    tool = "fake-smi"
    profile = replace(schedule.CPU, clock=EVENT)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.wrong: list[Fit] = []
        self.made = TwoDevicesOfASize()

    def is_here(self) -> bool:
        return True

    def find(self, numbers: Sequence[int]) -> list[Found]:
        return [Found(number, "Fake accelerator", f"0000:0{number}:00.0") for number in numbers or range(2)]

    def facts(self, index: int) -> dict[str, str | int]:
        self.asked.append("facts")
        return dict(FACTS)

    def claim(self, index: int, count: int = 1) -> None:
        self.asked.append("claim")

    def equipment(self, settings: JudgeSettings, count: int = 1) -> None:
        self.asked.append("equipment")

    def nodes(self, devices: Sequence[str]) -> list[str]:
        return [name for name in devices if name.startswith("/dev/fake")]

    def job_fit(self, index: int) -> list[Fit]:
        self.asked.append("job_fit")
        return self.wrong

    def host_fit(self, index: int) -> list[Fit]:
        return self.wrong

    def telemetry(self, index: int, *, own: Pids, cores: Sequence[int] | None = None) -> Telemetry:
        self.asked.append("telemetry")
        return CpuTelemetry(own=own, cores=cores)

    def strangers(self, index: int, *, own: Pids) -> frozenset[int]:
        self.asked.append("strangers")
        return frozenset()

    def temperature_c(self, index: int) -> float:
        return 41.0

    def memory(self, steps: Steps, ranks: int = 1) -> TwoDevicesOfASize:
        self.asked.append("memory")
        return self.made
