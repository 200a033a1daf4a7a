"""The judge's part of NVML: a healthy H200 that a test can make ill. Errors carry codes like NVML's."""

from types import SimpleNamespace
from typing import Any

from runner.evidence.throttle import COUNTERS

NOT_SUPPORTED, TIMEOUT, LOST, UNKNOWN = 3, 10, 15, 999


class FakeError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


class FakeNvml:
    """Fake NVML. `broken`: function name → exception that it raises. `calls` counts by name."""

    def __init__(self) -> None:
        self.broken: dict[str, Exception] = {}
        self.calls: dict[str, int] = {}
        self.masks: list[int] = []  # of the coming reads; then `mask`
        self.mask = 0
        self.counters = dict.fromkeys(COUNTERS, 1_000_000)
        self.unsupported_counters: set[int] = set()
        self.value_type = 3
        self.sm_mhz, self.memory_mhz = 1980, 3201
        self.temperature, self.power_mw = 55, 412_500
        self.ecc, self.ecc_mode = 0, [1, 1]
        self.power_limit_mw = 700_000
        self.width, self.width_most = 16, 16
        self.compute: list[int] = []
        self.mps: list[int] = []
        self.graphics: list[int] = []
        self.xids: list[int] = []
        self.mode, self.mig = 0, [0, 0]
        self.shut_down = False

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("nvml"):
            calls, broken = object.__getattribute__(self, "calls"), object.__getattribute__(self, "broken")
            calls[name] = calls.get(name, 0) + 1
            if name in broken:
                return _raiser(broken[name])
        return object.__getattribute__(self, name)

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return "GPU-aa"

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"gpu {index}"

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:
        return self.masks.pop(0) if self.masks else self.mask

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return self.mask

    def nvmlDeviceGetFieldValues(self, handle: str, ids: list[int]) -> list[Any]:
        names = {1: "uiVal", 2: "ulVal", 3: "ullVal"}
        return [
            SimpleNamespace(
                fieldId=number,
                nvmlReturn=NOT_SUPPORTED if number in self.unsupported_counters else 0,
                valueType=self.value_type,
                value=SimpleNamespace(**{names.get(self.value_type, "dVal"): self.counters[number]}),
            )
            for number in ids
        ]

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {1: self.sm_mhz, 2: self.memory_mhz}[kind]

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return self.temperature

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return self.power_mw

    def nvmlDeviceGetTotalEccErrors(self, handle: str, kind: int, scope: int) -> int:
        assert (kind, scope) == (1, 0)
        return self.ecc

    def nvmlDeviceGetEccMode(self, handle: str) -> list[int]:
        return self.ecc_mode

    def nvmlDeviceGetPowerManagementLimit(self, handle: str) -> int:
        return self.power_limit_mw

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: str) -> int:
        return self.power_limit_mw

    def nvmlDeviceGetApplicationsClock(self, handle: str, kind: int) -> int:
        raise FakeError(NOT_SUPPORTED)

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: str) -> int:
        return self.width

    def nvmlDeviceGetMaxPcieLinkWidth(self, handle: str) -> int:
        return self.width_most

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self.compute]

    def nvmlDeviceGetMPSComputeRunningProcesses(self, handle: str) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self.mps]

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self.graphics]

    def nvmlDeviceGetComputeMode(self, handle: str) -> int:
        return self.mode

    def nvmlDeviceGetMigMode(self, handle: str) -> list[int]:
        return self.mig

    def nvmlEventSetCreate(self) -> str:
        return "events"

    def nvmlDeviceRegisterEvents(self, handle: str, kinds: int, events: str) -> None:
        assert kinds == 8

    def nvmlEventSetWait_v2(self, events: str, timeout_ms: int) -> Any:
        assert timeout_ms == 0
        if not self.xids:
            raise FakeError(TIMEOUT)
        return SimpleNamespace(eventData=self.xids.pop(0))

    def nvmlEventSetFree(self, events: str) -> None:
        pass

    def nvmlShutdown(self) -> None:
        self.shut_down = True


def _raiser(error: Exception) -> Any:
    def fails(*arguments: object) -> None:
        raise error

    return fails
