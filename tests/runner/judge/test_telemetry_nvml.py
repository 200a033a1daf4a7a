"""NVML's values arrive in the readings; a missing value is None, lowers the level, and never raises."""

import gc
import itertools
import os
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from runner.evidence.throttle import COUNTERS, FULL, HW_THERMAL_NS, MASK_ONLY, NONE, SET_ASIDE, VALID, VOID, rule
from runner.judge.data.call import HANDS_OFF
from runner.judge.device.nvml import NvmlTelemetry
from tests.runner.judge.fake_nvml import LOST, NOT_SUPPORTED, UNKNOWN, FakeError, FakeNvml

ME = os.getpid()
SECOND = 1_000_000_000
Open = Callable[..., NvmlTelemetry]


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """The host's processes: the judge, two processes of a tenant in one control group, and a stranger."""
    for pid, group in ((ME, "/user"), (50, "/docker/a"), (51, "/docker/a"), (66, "/user"), (77, "/docker/b")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(f"0::{group}\n")
    return tmp_path


@pytest.fixture
def opened(nvml: FakeNvml, proc: Path) -> Iterator[Open]:
    made = []

    def make(own: frozenset[int] = frozenset({ME, 50}), poll_s: float = 60.0, step_ns: int = 0) -> NvmlTelemetry:
        """Open telemetry. `step_ns`: advance of the clock per reading; 0 for the real clock."""
        ticks = itertools.count(1)
        now_ns = (lambda: next(ticks) * step_ns) if step_ns else time.monotonic_ns
        made.append(NvmlTelemetry(nvml, own=lambda: own, proc=proc, poll_s=poll_s, now_ns=now_ns))
        return made[-1]

    yield make
    for telemetry in made:
        telemetry.close()


def test_a_closed_one_lets_go_of_the_job_at_once(nvml: FakeNvml, proc: Path) -> None:
    """The next run in this process needs the memory, and no collector may run before."""

    class Job:
        def pids(self) -> frozenset[int]:
            return frozenset({ME})

    job = Job()
    gone = weakref.ref(job)
    telemetry = NvmlTelemetry(nvml, own=job.pids, proc=proc, poll_s=0.001)
    gc.collect()
    gc.disable()
    try:
        telemetry.begin()
        telemetry.end()
        telemetry.close()
        del telemetry, job
        assert gone() is None
    finally:
        gc.enable()


def test_every_field_arrives(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    nvml.counters[269] += 123
    window = telemetry.end()
    after = window.after
    assert telemetry.level == FULL
    assert after.counters[269] - window.before.counters[269] == 123
    assert set(after.counters) == set(COUNTERS)
    assert (after.mask, after.clock_mhz, after.memory_mhz) == (0, 1980.0, 3201.0)
    assert (after.temperature_c, after.power_w, telemetry.temperature_c()) == (55.0, 412.5, 55.0)
    assert (after.ecc_errors, after.pcie_width, after.pcie_width_most, after.strangers) == (0, 16, 16, 0)
    assert after.limits == {"power_limit_mw": 700_000, "enforced_power_mw": 700_000}
    assert (after.xids, after.lost) == ((), False)
    assert 0 < window.before.at_ns <= after.at_ns
    assert rule(window, None).action == VALID


@pytest.mark.parametrize(
    ("change", "action", "reason"),
    [
        ({"ecc": 1}, SET_ASIDE, "ecc"),
        ({"power_limit_mw": 500_000}, SET_ASIDE, "limits_changed"),
        ({"width": 8}, SET_ASIDE, "pcie_width"),
        ({"memory_mhz": 2619}, VOID, "memory_clock"),
        ({"compute": [66]}, VOID, "foreign_process"),
        ({"mps": [66]}, VOID, "foreign_process"),
        ({"xids": [31]}, VOID, "xid_31"),
        ({"xids": [79]}, SET_ASIDE, "xid_79"),
        ({"mask": 0x40}, SET_ASIDE, "hw_thermal"),
    ],
)
def test_what_goes_wrong_in_a_block_is_in_its_window(
    nvml: FakeNvml, opened: Open, change: dict[str, object], action: str, reason: str
) -> None:
    telemetry = opened(step_ns=SECOND)
    telemetry.begin()
    for name, value in change.items():
        setattr(nvml, name, value)
    ruling = rule(telemetry.end(), None)
    assert (ruling.action, ruling.reason) == (action, reason)


def test_counters_that_stand_still_are_read_once_a_block(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    nvml.calls.clear()
    for _ in range(20):
        telemetry.begin()
        assert rule(telemetry.end(), None).action == VALID
    assert nvml.calls["nvmlDeviceGetFieldValues"] == 20


def test_what_a_counter_did_between_blocks_is_told_once(nvml: FakeNvml, opened: Open) -> None:
    """The next block reports the change; later blocks report only changes within themselves."""
    telemetry = opened()
    found = []
    for _ in range(4):
        telemetry.begin()
        found.append(rule(telemetry.end(), None))
        nvml.counters[270] += 1_000_000  # hw_thermal, by the problem's own container
    assert [one.reason for one in found] == ["", "hw_thermal", "", ""]
    assert not found[1].charged, "it may have been anybody's doing"
    telemetry.begin()
    nvml.counters[270] += 1
    last = rule(telemetry.end(), None)
    assert (last.reason, last.charged) == ("hw_thermal", True)


def test_what_hardly_ever_changes_is_not_read_at_every_block(nvml: FakeNvml, opened: Open) -> None:
    """At most five times a second: the reading takes longer than a short block's calls."""
    telemetry = opened(step_ns=SECOND // 1000)
    seen = []
    for number in range(1, 400):
        telemetry.begin()
        nvml.power_limit_mw = number
        after = telemetry.end().after
        seen.append((after.at_ns, number if after.limits["power_limit_mw"] == number else None))
    read = [at_ns for at_ns, number in seen if number is not None]
    assert len(read) > 3
    assert all(SECOND / 5 <= later - earlier <= SECOND / 4 for earlier, later in pairwise(read))
    nvml.xids, nvml.compute = [31], [66]
    telemetry.begin()
    window = telemetry.end()
    assert (window.after.xids, window.after.strangers) == ((31,), 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"ecc": 1}, "ecc"), ({"power_limit_mw": 500_000}, "limits_changed"), ({"width": 8}, "pcie_width")],
)
@pytest.mark.parametrize("within", [True, False], ids=["in a block", "between two"])
def test_what_happens_around_short_blocks_far_apart_is_seen(
    nvml: FakeNvml, proc: Path, change: dict[str, int], reason: str, *, within: bool
) -> None:
    """Making inputs takes longer than a block, and longer than a reading stays fresh."""
    now = [SECOND]
    telemetry = NvmlTelemetry(nvml, own=lambda: frozenset({ME, 50}), proc=proc, poll_s=60.0, now_ns=lambda: now[0])
    found = []
    for number in range(6):
        if number == 3 and not within:
            vars(nvml).update(change)
        now[0] += 3 * SECOND // 10
        telemetry.begin()
        if number == 3 and within:
            vars(nvml).update(change)
        now[0] += SECOND // 20
        found.append(rule(telemetry.end(), None).reason)
        now[0] += 3 * SECOND // 10
    telemetry.close()
    assert found[:3] == [""] * 3
    assert reason in found[3:5]


def test_event_between_two_blocks_is_in_the_next_window(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    telemetry.end()
    nvml.ecc, nvml.xids = 1, [48]
    telemetry.begin()
    assert {rule(telemetry.end(), None).reason} <= {"ecc", "xid_48"}


def test_event_meanwhile_is_in_the_next_window(nvml: FakeNvml, opened: Open) -> None:
    """What the problem's own code does to the device is no fault of the block before."""

    def meanwhile() -> None:
        nvml.ecc, nvml.xids = 1, [48]

    telemetry = opened()
    telemetry.begin()
    assert rule(telemetry.end(meanwhile), None).action == VALID
    telemetry.begin()
    assert rule(telemetry.end(), None).reason in ("ecc", "xid_48")


@pytest.mark.parametrize("inherits", [True, False])
def test_counters_that_move_meanwhile_are_charged_to_nobody(nvml: FakeNvml, opened: Open, inherits: bool) -> None:
    def moves() -> None:
        nvml.counters[HW_THERMAL_NS] += 1_000_000

    telemetry = opened()
    telemetry.begin()
    if not inherits:  # once a counter has moved, every window reads its own first
        moves()
        telemetry.end()
        telemetry.begin()
    window = telemetry.end(moves)
    ruling = rule(window, None)
    assert window.inherited is inherits
    assert (ruling.action, ruling.charged) == ((VOID, False) if inherits else (VALID, False))


def test_xid_is_told_once(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    nvml.xids = [13, 43]
    assert telemetry.end().after.xids == (13, 43)
    telemetry.begin()
    window = telemetry.end()
    assert (window.before.xids, window.after.xids) == ((), ())


def test_flood_of_xids_does_not_hold_the_judge(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    nvml.xids = [13] * 1000
    assert 0 < len(telemetry.end().after.xids) < 100


def test_mask_is_polled_between_begin_and_end_only(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened(poll_s=0.01)
    telemetry.begin()
    nvml.mask = 0x8
    give_up = time.monotonic() + 10
    while nvml.calls["nvmlDeviceGetCurrentClocksEventReasons"] < 6 and time.monotonic() < give_up:
        time.sleep(0.005)
    nvml.mask = 0
    window = telemetry.end()
    assert len(window.polls) >= 2
    assert {poll.mask for poll in window.polls} <= {0, 0x8}
    assert rule(window, None).reason == "hw_slowdown"
    asked = nvml.calls["nvmlDeviceGetCurrentClocksEventReasons"]
    time.sleep(0.05)
    assert nvml.calls["nvmlDeviceGetCurrentClocksEventReasons"] == asked
    telemetry.begin()
    assert telemetry.end().polls == ()


def test_nobody_looks_while_a_clock_runs(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened(poll_s=0.001)
    with HANDS_OFF:
        telemetry.begin()
        time.sleep(0.05)
        assert telemetry.end().polls == ()
    telemetry.begin()
    give_up = time.monotonic() + 10
    asked = nvml.calls["nvmlDeviceGetCurrentClocksEventReasons"]
    while nvml.calls["nvmlDeviceGetCurrentClocksEventReasons"] < asked + 3 and time.monotonic() < give_up:
        time.sleep(0.005)
    assert telemetry.end().polls


@pytest.mark.parametrize("error", [FakeError(NOT_SUPPORTED), FakeError(UNKNOWN), OSError("no"), TypeError("odd")])
@pytest.mark.parametrize(
    ("function", "level"),
    [
        ("nvmlDeviceGetFieldValues", MASK_ONLY),
        ("nvmlDeviceGetClockInfo", MASK_ONLY),
        ("nvmlDeviceGetComputeRunningProcesses", FULL),  # the other list exists
        ("nvmlDeviceGetTemperature", FULL),
        ("nvmlDeviceGetPowerUsage", FULL),
        ("nvmlDeviceGetTotalEccErrors", FULL),
        ("nvmlDeviceGetPowerManagementLimit", FULL),
        ("nvmlDeviceGetEnforcedPowerLimit", FULL),
        ("nvmlDeviceGetCurrPcieLinkWidth", FULL),
        ("nvmlDeviceGetMaxPcieLinkWidth", FULL),
        ("nvmlEventSetCreate", FULL),
        ("nvmlDeviceRegisterEvents", FULL),
        ("nvmlEventSetWait_v2", FULL),
        ("nvmlDeviceGetCurrentClocksEventReasons", FULL),  # the older name exists
    ],
)
def test_whatever_one_function_throws_the_rest_is_read(
    nvml: FakeNvml, opened: Open, function: str, level: str, error: Exception
) -> None:
    nvml.broken[function] = error
    telemetry = opened()
    telemetry.begin()
    window = telemetry.end()
    assert telemetry.level == level
    assert rule(window, None).action == VALID
    assert window.after.mask == 0


def test_device_that_tells_nothing_has_level_none(nvml: FakeNvml, opened: Open) -> None:
    for name in dir(FakeNvml):
        if name.startswith("nvmlDeviceGet") and name != "nvmlDeviceGetHandleByIndex":
            nvml.broken[name] = FakeError(UNKNOWN)
    telemetry = opened()
    telemetry.begin()
    telemetry.end()
    assert telemetry.level == NONE
    assert telemetry.temperature_c() is None


def test_level_falls_in_a_run_and_does_not_rise(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    assert telemetry.level == FULL
    nvml.unsupported_counters = {270}
    telemetry.begin()
    telemetry.end()
    nvml.unsupported_counters = set()
    telemetry.begin()
    telemetry.end()
    assert telemetry.level == MASK_ONLY


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_counters_come_in_any_whole_type(nvml: FakeNvml, opened: Open, kind: int) -> None:
    nvml.value_type = kind
    telemetry = opened()
    telemetry.begin()
    assert telemetry.end().after.counters[74] == 1_000_000


def test_what_is_not_supported_is_not_asked_twice(nvml: FakeNvml, opened: Open) -> None:
    nvml.broken["nvmlDeviceGetPowerUsage"] = FakeError(NOT_SUPPORTED)
    telemetry = opened()
    for _ in range(3):
        telemetry.begin()
        telemetry.end()
    assert nvml.calls["nvmlDeviceGetPowerUsage"] == 1


def test_lost_gpu_sets_aside(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    nvml.broken["nvmlDeviceGetFieldValues"] = FakeError(LOST)
    assert rule(telemetry.end(), None).reason == "device_lost"


def test_own_processes_and_their_whole_group_are_no_strangers(nvml: FakeNvml, opened: Open) -> None:
    nvml.compute = [ME, 50, 51]
    telemetry = opened()
    telemetry.begin()
    assert telemetry.end().after.strangers == 0


def test_process_that_shares_the_judges_own_group_is_a_stranger(nvml: FakeNvml, opened: Open) -> None:
    nvml.compute = [ME, 66, 77]
    telemetry = opened()
    telemetry.begin()
    assert telemetry.end().after.strangers == 2


def test_stranger_for_a_moment_is_seen_by_a_poll(nvml: FakeNvml, opened: Open) -> None:
    telemetry = opened(poll_s=0.01)
    telemetry.begin()
    nvml.compute = [66]
    time.sleep(0.1)
    nvml.compute = []
    window = telemetry.end()
    assert window.after.strangers == 0
    assert rule(window, None).reason == "foreign_process"


def test_pids_of_another_namespace_say_nothing_and_lower_the_level(nvml: FakeNvml, opened: Open) -> None:
    nvml.compute = [424_242]
    telemetry = opened()
    telemetry.begin()
    window = telemetry.end()
    assert window.after.strangers is None
    assert (telemetry.level, rule(window, None).action) == (MASK_ONLY, VALID)


def test_close_ends_the_thread_and_nvml_even_in_a_block(nvml: FakeNvml, proc: Path) -> None:
    telemetry = NvmlTelemetry(nvml, own=frozenset, proc=proc, poll_s=0.01)
    telemetry.begin()
    telemetry.close()
    assert nvml.shut_down
    asked = dict(nvml.calls)
    time.sleep(0.05)
    assert nvml.calls == asked
