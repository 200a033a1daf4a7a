"""The plan of a host with several devices: cores and memory by NUMA node, and sentences for plans that cannot work."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.host import fleet
from runner.host.accelerators import building_cores, listed, share_out, spans
from runner.host.fleet import Accelerator, Node
from runner.judge.device.nvidia import pci_address

GIB = 1 << 30
TWO_NODES = [Node(0, tuple(range(24)), 512 * GIB), Node(1, tuple(range(24, 48)), 512 * GIB)]
EIGHT_GPUS = [Accelerator(number, "NVIDIA H200", number // 4) for number in range(8)]


def settings(**changes: Any) -> JudgeSettings:
    return JudgeSettings(**{"runner_hardware": "H200", "runner_fleet": "all", **changes})


def test_plan_gives_each_gpu_cores_of_its_node_and_leaves_the_first_free() -> None:
    seats = fleet.plan(settings(), EIGHT_GPUS, TWO_NODES)
    assert [(seat.number, seat.node, spans(seat.cores)) for seat in seats] == [
        (0, 0, "2-6"), (1, 0, "7-11"), (2, 0, "12-16"), (3, 0, "17-21"),
        (4, 1, "26-30"), (5, 1, "31-35"), (6, 1, "36-40"), (7, 1, "41-45"),
    ]  # fmt: skip
    assert {seat.memory_bytes for seat in seats} == {128 * GIB}


def test_plan_gives_all_runners_as_many_cores_as_the_tightest_node_has() -> None:
    """The number of cores is part of the timing epoch."""
    found = [Accelerator(0, "GPU", 0), Accelerator(1, "GPU", 0), Accelerator(2, "GPU", 1)]
    assert {len(seat.cores) for seat in fleet.plan(settings(), found, TWO_NODES)} == {11}
    wished = fleet.plan(settings(runner_fleet_cores=6, runner_fleet_spare=0), found, TWO_NODES)
    assert [spans(seat.cores) for seat in wished] == ["0-5", "6-11", "24-29"]


def test_plan_takes_the_host_as_one_node_where_the_kernel_knows_no_gpus_node() -> None:
    found = [Accelerator(0, "GPU", None), Accelerator(1, "GPU", 1)]
    seats = fleet.plan(settings(), found, TWO_NODES)
    assert [(seat.node, spans(seat.cores)) for seat in seats] == [(None, "2-24"), (None, "25-47")]
    assert {seat.memory_bytes for seat in seats} == {512 * GIB}


def test_plan_spreads_lanes_on_cpu_over_the_nodes() -> None:
    lanes = fleet.accelerators_of(settings(runner_hardware="cpu", runner_fleet="0,1,2"))
    seats = fleet.plan(settings(runner_hardware="cpu"), lanes, TWO_NODES)
    assert [(seat.number, seat.node) for seat in seats] == [(0, 0), (1, 1), (2, 0)]
    every = [core for seat in seats for core in seat.cores]
    assert len(every) == len(set(every)) == 33


def test_plan_shows_memory_below_the_limits_of_all_containers_of_a_job() -> None:
    small = [Node(0, tuple(range(24)), 40 * GIB)]
    [seat] = fleet.plan(settings(), EIGHT_GPUS[:1], small)
    assert seat.memory_bytes < seat.wants_bytes == 48 * GIB


@pytest.mark.parametrize(
    ("changes", "gpus", "words"),
    [
        ({"runner_fleet_cores": 6}, 4, "RUNNER_FLEET_CORES: 6: NUMA node 0 has 24 whole cores, 2 of them spare, which"),
        ({"runner_fleet_cores": 4}, 1, "RUNNER_FLEET_CORES: 4: a GPU's runner needs 5 cores; raise it, or set 0"),
        ({"runner_fleet_spare": 8}, 4, "leaves 4 for each of its 4 runners, and a runner needs 5; leave devices out"),
        ({"runner_fleet_spare": 100}, 1, "leaves 0 for each of its 1 runners"),
        ({"runner_hardware": "cpu", "runner_fleet_spare": 23}, 2, "leaves 1 for each of its 1 runners, and a runner"),
    ],
)
def test_plan_without_enough_cores_is_refused_with_a_way_out(changes: dict[str, Any], gpus: int, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        fleet.plan(settings(**changes), EIGHT_GPUS[:gpus], TWO_NODES)
    assert words in str(refused.value)
    assert ("RUNNER_FLEET_SPARE" in str(refused.value)) or "raise it" in str(refused.value)


def test_plan_without_enough_memory_is_refused() -> None:
    small = [Node(0, tuple(range(24)), 7 * GIB)]
    with pytest.raises(ConfigError, match=r"'all': NUMA node 0 has 3\.5 GiB of memory for each of its 2 runners; .*4"):
        fleet.plan(settings(), EIGHT_GPUS[:2], small)


def test_nodes_hold_one_thread_of_each_core_that_this_process_may_use() -> None:
    files = {
        f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list": f"{core % 4},{core % 4 + 4}"
        for core in range(8)
    }
    files |= {
        "/sys/devices/system/node/online": "0-1",
        "/sys/devices/system/node/node0/cpulist": "0-1,4-5",
        "/sys/devices/system/node/node1/cpulist": "2-3,6-7",
        "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       1024 kB\nNode 0 MemFree:         1 kB",
        "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       2048 kB",
    }
    read = lambda path: files.get(path, "")  # noqa: E731
    assert fleet.read_nodes(range(8), read) == [Node(0, (0, 1), 1 << 20), Node(1, (2, 3), 2 << 20)]
    assert fleet.read_nodes({1, 5, 6}, read) == [Node(0, (1,), 1 << 20), Node(1, (6,), 2 << 20)]
    assert fleet.read_nodes({0}, read) == [Node(0, (0,), 1 << 20)], "a node without a core of ours is none"


def test_neighbouring_threads_of_a_core_leave_judge_and_tenants_apart() -> None:
    read = {
        f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list": f"{core & ~1}-{core | 1}"
        for core in range(12)
    }
    [node] = fleet.read_nodes(range(12), lambda path: read.get(path, ""))
    assert node.cores == (0, 2, 4, 6, 8, 10)
    assert share_out(node.cores).tenant == (2, 4, 6, 8)


@pytest.mark.parametrize(
    ("available", "most", "spares"),
    [(16, 6, (12, 13, 14, 15)), (16, 3, ()), (9, 6, (5, 6, 7, 8)), (8, 6, ()), (2, 6, ())],
)
def test_spares_have_as_many_of_the_building_cores_as_a_tenant_or_none(
    available: int, most: int, spares: tuple[int, ...]
) -> None:
    cores = share_out(range(available), building_cores(range(available), most))
    assert cores.spares == spares
    assert not set(cores.spares) & {*cores.judge, *cores.tenant}


def test_kernel_without_numa_is_one_node() -> None:
    read = {"/proc/meminfo": "MemTotal:       16384 kB\nMemAvailable: 1 kB"}
    assert fleet.read_nodes({0, 1}, lambda path: read.get(path, "")) == [Node(0, (0, 1), 16 << 20)]


@pytest.mark.parametrize("text", ["0", "0-3", "1,3-4,9", ""])
def test_spans_is_the_kernels_form_of_core_numbers(text: str) -> None:
    assert spans(listed(text)) == text


@pytest.mark.parametrize("bus_id", ["00000000:65:00.0", b"0000:65:00.0"])
def test_pci_address_is_the_kernels(bus_id: str | bytes) -> None:
    assert pci_address(bus_id) == "0000:65:00.0"
    assert pci_address("00010000:B1:00.0") == "10000:b1:00.0"


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two GPUs, of which the kernel knows one's node."""
    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: "NVIDIA H200",
        nvmlDeviceGetPciInfo=lambda handle: SimpleNamespace(busId=f"00000000:6{handle}:00.0"),
    )
    nodes = {"/sys/bus/pci/devices/0000:60:00.0/numa_node": "-1", "/sys/bus/pci/devices/0000:61:00.0/numa_node": "1"}
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(fleet, "read", lambda path: nodes[path])


@pytest.mark.usefixtures("nvml")
def test_gpus_are_those_of_nvml_or_those_named() -> None:
    first, second = Accelerator(0, "NVIDIA H200", None), Accelerator(1, "NVIDIA H200", 1)
    assert fleet.accelerators_of(settings()) == [first, second]
    assert fleet.accelerators_of(settings(runner_fleet="1")) == [second]


@pytest.mark.usefixtures("nvml")
@pytest.mark.parametrize(
    ("hardware", "text", "words"),
    [
        ("H200", "", "this host has no fleet; set `all`"),
        ("H200", "0,2", "'0,2' names GPU 2, and NVML knows 2 here"),
        ("H200", "1,0,1", "'1,0,1' names 1 twice"),
        ("cpu", "all", "on cpu a host has no number of lanes"),
    ],
)
def test_devices_that_are_not_there_are_named(hardware: str, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match="RUNNER_FLEET: ") as refused:
        fleet.accelerators_of(settings(runner_hardware=hardware, runner_fleet=text))
    assert words in str(refused.value)


def test_host_without_nvml_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ConfigError, match="RUNNER_FLEET: 'all': NVML does not list the GPUs"):
        fleet.accelerators_of(settings())


def test_each_runner_has_its_state_its_gpu_and_its_helper(tmp_path: Path) -> None:
    here = settings(runner_state=tmp_path, runner_helper="/run/photofinish-helper/socket")
    [seat] = fleet.plan(here, EIGHT_GPUS[3:4], TWO_NODES)
    assert fleet.own_settings(here, seat) == {
        "RUNNER_FLEET": "",
        "RUNNER_GPU": "3",
        "RUNNER_STATE": str(tmp_path / "3"),
        "RUNNER_HELPER": "/run/photofinish-helper/3/socket",
    }


def test_host_is_named_by_its_operator_or_by_a_hash_of_its_id() -> None:
    files = {"/etc/machine-id": "0123456789abcdef0123456789abcdef"}  # pragma: allowlist secret
    named = fleet.host_id(lambda path: files.get(path, ""))
    assert len(named) == 16
    assert named not in files["/etc/machine-id"]
    assert fleet.host_id(lambda path: "") == ""
    assert fleet.place_of(settings(runner_host="rack-7", runner_gpu=3)).host == "rack-7"


def test_only_node_has_the_hosts_memory_where_its_own_figure_is_older() -> None:
    read = {
        f"{fleet.NODES}/online": "0",
        f"{fleet.NODES}/node0/cpulist": "0-1",
        f"{fleet.NODES}/node0/meminfo": "Node 0 MemTotal:       4096 kB",
        "/proc/meminfo": "MemTotal:       16384 kB",
    }
    assert fleet.read_nodes({0, 1}, lambda path: read.get(path, "")) == [Node(0, (0, 1), 16 << 20)]


def test_runners_for_several_gpus_are_no_fleet() -> None:
    with pytest.raises(ConfigError, match="RUNNER_GPUS: 2: a fleet has a runner for each GPU"):
        fleet.accelerators_of(settings(runner_gpus=2))
