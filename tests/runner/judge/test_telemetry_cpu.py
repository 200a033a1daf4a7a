"""A host's values of its cores arrive in the readings; a missing value lowers the level and never raises."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.evidence.throttle import FULL, MASK_ONLY, NONE, VALID, VOID, Window, rule
from runner.judge.device.processor import HostFolders
from runner.judge.device.telemetry import CpuTelemetry
from tests.runner.judge.fake_host import MS, FakeHost

Open = Callable[..., CpuTelemetry]
TENANT = 4711


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    host = FakeHost(tmp_path)
    host.cpuacct("", 1_000_000, 2_000_000)
    host.cpuacct("docker/a", 0, 500_000)
    host.group(TENANT, "2:cpuacct:/docker/a\n0::/docker/a\n")
    return host


@pytest.fixture
def opened(host: FakeHost) -> Iterator[Open]:
    """Telemetry of a judge that keeps to core 0, on any test machine; time advances only by `window`'s argument."""
    made = []
    affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(affinity)})

    def make(own: frozenset[int] = frozenset({TENANT}), **changes: object) -> CpuTelemetry:
        made.append(CpuTelemetry(own=lambda: own, folders=host.folders, now_ns=Steps(100 * MS), **changes))
        return made[-1]

    yield make
    os.sched_setaffinity(0, affinity)
    for telemetry in made:
        telemetry.close()


class Steps:
    """Clock that advances by one step per reading."""

    def __init__(self, step_ns: int) -> None:
        self.now, self.step_ns = 0, step_ns

    def __call__(self) -> int:
        self.now += self.step_ns
        return self.now


def grown_ms(window: Window) -> list[float]:
    """Foreign time by core in ms."""
    return [
        (after - before) / MS for before, after in zip(window.before.foreign_ns, window.after.foreign_ns, strict=True)
    ]


def test_virtual_machine_has_load_and_pressure_and_no_heat(host: FakeHost, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    after = telemetry.end().after
    assert (telemetry.level, after.cores) == (MASK_ONLY, 2)
    assert (after.steal_ns, after.waited_ns, after.clock_mhz, after.throttled_ns) == (0, 10 * MS, None, None)
    assert telemetry.temperature_c() is None


def test_work_of_our_containers_is_not_foreign(host: FakeHost, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    host.cpuacct("", 1_000_000, 2_000_090)
    host.cpuacct("docker/a", 0, 500_090)
    host.waited(80)
    window = telemetry.end()
    assert grown_ms(window)[1] == pytest.approx(0)
    assert rule(window, None).action == VALID


def test_work_of_others_is_known_by_core(host: FakeHost, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    host.cpuacct("", 1_000_000, 2_000_090)
    host.cpuacct("docker/a", 0, 500_020)
    host.waited(60)
    window = telemetry.end()
    assert grown_ms(window)[1] == pytest.approx(70)
    assert (rule(window, None).action, rule(window, None).reason) == (VOID, "foreign_load")


def test_judges_own_work_is_taken_off_its_core(host: FakeHost, opened: Open) -> None:
    telemetry = opened()
    (judge,) = os.sched_getaffinity(0)
    if judge > 1:
        pytest.skip("the fake host has two cores, and this test may use neither")
    telemetry.begin()
    sum(range(300_000))
    spent = grown_ms(telemetry.end())
    assert spent[judge] < 0  # the fake total did not move, the judge's own clock did
    assert spent[1 - judge] == 0


def test_container_that_ended_keeps_what_it_used(host: FakeHost, opened: Open) -> None:
    telemetry = opened()
    telemetry.begin()
    (host.folders.proc / str(TENANT) / "cgroup").unlink()
    window = telemetry.end()
    assert grown_ms(window)[1] == pytest.approx(0)


def test_process_without_a_group_of_its_own_is_counted_by_its_clock(host: FakeHost, opened: Open) -> None:
    host.group(os.getppid(), "2:cpuacct:/\n0::/\n")
    telemetry = opened(own=frozenset({os.getppid()}))
    telemetry.begin()
    assert telemetry.end().after.foreign_ns[1] < 2_000_000 * MS


def test_steal_is_counted_on_our_cores_only(host: FakeHost, opened: Open) -> None:
    both, second = opened(), opened(cores=[1])
    both.begin()
    second.begin()
    host.stat(core=0, column=7, ticks=5)
    assert rule(both.end(), None).reason == "steal"
    assert rule(second.end(), None).action == VALID


def test_version_two_is_summed_over_groups(host: FakeHost, opened: Open) -> None:
    (host.folders.cgroup / "cpuacct/cpuacct.usage_percpu").unlink()
    host.group("self", "0::/user.slice/session\n")
    host.group(TENANT, "0::/system.slice/docker-a.scope\n")
    for group, ms in (("system.slice", 900), ("system.slice/docker-a.scope", 400), ("user.slice", 100)):
        host.v2(group, ms)
    telemetry = opened()
    telemetry.begin()
    host.v2("system.slice", 1_070)
    host.v2("system.slice/docker-a.scope", 500)
    host.waited(50)
    window = telemetry.end()
    assert len(window.after.foreign_ns) == 1
    assert grown_ms(window)[0] == pytest.approx(70, abs=10)
    assert window.after.foreign_grain_ns == 0


def test_ticks_are_the_last_resort_and_carry_a_grain(host: FakeHost, opened: Open) -> None:
    (host.folders.cgroup / "cpuacct/cpuacct.usage_percpu").unlink()
    telemetry = opened(own=frozenset())
    telemetry.begin()
    host.stat(core=1, column=0, ticks=4)
    host.waited(100)
    window = telemetry.end()
    assert grown_ms(window)[0] == pytest.approx(40, abs=10)
    assert window.after.foreign_grain_ns == 30 * MS
    assert rule(window, None).action == VALID


def test_bare_machine_tells_clock_and_heat(host: FakeHost, opened: Open) -> None:
    for core, khz in ((0, 3_600_000), (1, 1_200_000)):
        host.core(core, "cpufreq/scaling_cur_freq", f"{khz}\n")
        host.core(core, "thermal_throttle/core_throttle_total_time_ms", "7\n")
        host.core(core, "thermal_throttle/package_throttle_total_time_ms", "20\n")
    host.zone(0, "x86_pkg_temp", "71000\n")
    host.zone(1, "iwlwifi_1", "99000\n")
    telemetry = opened()
    telemetry.begin()
    after = telemetry.end().after
    assert telemetry.level == FULL
    assert (after.clock_mhz, after.throttled_ns, telemetry.temperature_c()) == (3600.0, 34 * MS, 71.0)


def test_frequency_that_is_no_number_is_none(host: FakeHost, opened: Open) -> None:
    host.core(0, "cpufreq/scaling_cur_freq", "<unknown>\n")
    telemetry = opened()
    assert telemetry.level == MASK_ONLY


def test_load_that_only_others_wait_for_is_no_disturbance(host: FakeHost, opened: Open) -> None:
    host.our_waiting(judge=0, docker_a=0)
    telemetry = opened()
    telemetry.begin()
    host.cpuacct("", 1_000_000, 2_000_090)
    host.waited(100)
    host.our_waiting(judge=2, docker_a=5)
    window = telemetry.end()
    assert window.after.waited_ns == 7 * MS
    assert rule(window, None).action == VALID


def test_load_that_our_container_waited_for_voids(host: FakeHost, opened: Open) -> None:
    host.our_waiting(judge=0, docker_a=0)
    telemetry = opened()
    telemetry.begin()
    host.cpuacct("", 1_000_000, 2_000_090)
    host.our_waiting(judge=10, docker_a=40)
    ruling = rule(telemetry.end(), None)
    assert (ruling.reason, ruling.figures["foreign_share"]) == ("foreign_load", pytest.approx(0.5))


def test_without_pressure_foreign_work_alone_decides(host: FakeHost, opened: Open) -> None:
    (host.folders.proc / "pressure/cpu").unlink()
    telemetry = opened()
    telemetry.begin()
    host.cpuacct("", 1_000_000, 2_000_070)
    assert rule(telemetry.end(), None).reason == "foreign_load"


def test_host_that_tells_nothing_has_level_none(tmp_path: Path) -> None:
    empty = HostFolders(tmp_path / "proc", tmp_path / "sys", tmp_path / "cgroup")
    telemetry = CpuTelemetry(own=frozenset, folders=empty)
    telemetry.begin()
    window = telemetry.end()
    telemetry.close()
    assert (telemetry.level, rule(window, None).action) == (NONE, VALID)


def test_this_very_host_is_read(opened: Open) -> None:
    telemetry = CpuTelemetry(own=lambda: frozenset({os.getpid()}))
    telemetry.begin()
    window = telemetry.end()
    telemetry.close()
    assert telemetry.level in (MASK_ONLY, FULL)
    assert window.after.at_ns > window.before.at_ns
    assert window.after.foreign_ns
