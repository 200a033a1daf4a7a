"""Plan of a host with several devices: one runner for each, with cores and memory of the device's NUMA node.

    accelerators_of(settings) -> list      the GPUs that RUNNER_FLEET names, or lanes on `cpu`
    read_nodes(available) -> list          the NUMA nodes, with the cores that this process may use
    plan(settings, found, nodes) -> list   a seat for each device; pure
    members(settings, seats) -> list       each seat with its token and its daemon's settings

Always true of a plan: no two runners share a physical core, and a runner gets one thread of each of its cores. The
judge and its tenants therefore share no core, either. All runners of a plan have the same number of cores, because that
number is part of their timing epoch. Every function raises ConfigError for a host that cannot work like this.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NoReturn

from runner import config
from runner.errors import ConfigError
from runner.host.accelerators import MOST_TENANT_CORES, Read, listed, make_of, read, spans, threads
from runner.wire import Place
from sandbox import policy

NODES: Final = "/sys/devices/system/node"
CPU_LEAST_CORES: Final = 2  # a judge's and a tenant's
GPU_LEAST_CORES: Final = 1 + MOST_TENANT_CORES
LEAST_MEMORY: Final = 4 << 30  # of a runner; below it no job is sure to fit
GPU_MEMORY: Final = 3 * policy.GPU_MEMORY_BYTES  # two tenants and an oracle, each at its limit
CPU_MEMORY: Final = 10 << 30  # the same on `cpu`, with their arenas and the judge's own
IN_A_FILE: Final = {"RUNNER_TOKEN", "RUNNER_HARDWARE", "PHOTOFINISH_URL"}  # of an enrolment


@dataclass(frozen=True)
class Accelerator:
    """GPU, or lane on `cpu`. `node`: its NUMA node; None: the kernel does not know, or any node will do."""

    number: int
    name: str
    node: int | None = None


@dataclass(frozen=True)
class Node:
    """NUMA node. `cores`: one thread of each of its physical cores, in rising order. Without a number: the whole
    host."""

    number: int | None
    cores: tuple[int, ...]
    memory_bytes: int

    def __str__(self) -> str:
        return "this host" if self.number is None else f"NUMA node {self.number}"


@dataclass(frozen=True)
class Seat:
    """Runner of a plan."""

    number: int
    name: str
    node: int | None
    cores: tuple[int, ...]
    memory_bytes: int
    wants_bytes: int  # with less, a job whose containers all reach their limits does not fit


@dataclass(frozen=True)
class Member:
    """Runner of a fleet that can be started."""

    seat: Seat
    settings: config.DaemonSettings
    environment: dict[str, str] = field(repr=False)  # with its token


def accelerators_of(settings: config.JudgeSettings) -> list[Accelerator]:
    """Return the devices that RUNNER_FLEET names."""
    text = settings.runner_fleet
    if not text:
        raise ConfigError("RUNNER_FLEET: '': this host has no fleet; set `all`, or numbers of GPUs such as 0,1,3")
    numbers = [int(part) for part in text.split(",")] if text != "all" else []
    if twice := [number for number, count in Counter(numbers).items() if count > 1]:
        raise ConfigError(f"RUNNER_FLEET: {text!r} names {twice[0]} twice; a device has one runner")
    if settings.runner_gpus > 1:
        text = "a fleet has a runner for each GPU; a runner for several is started by itself, without RUNNER_FLEET"
        raise ConfigError(f"RUNNER_GPUS: {settings.runner_gpus}: {text}")
    make = make_of(settings.runner_hardware)
    if make.on_host and not numbers:
        text = "'all': on cpu a host has no number of lanes; name them, such as 0,1, or set RUNNER_HARDWARE"
        raise ConfigError(f"RUNNER_FLEET: {text} to the kind of its GPUs")
    nodes = {one: read(f"/sys/bus/pci/devices/{one.pci}/numa_node") if one.pci else "" for one in make.find(numbers)}
    return [Accelerator(one.number, one.name, int(node) if node.isdecimal() else None) for one, node in nodes.items()]


def read_nodes(available: Collection[int], read: Read = read) -> list[Node]:
    """Return the NUMA nodes in which this process may use cores."""
    whole: list[int] = []
    taken: set[int] = set()
    for core in sorted(available):
        if core not in taken:
            whole.append(core)
        taken |= threads(core, read)
    found, online = [], sorted(listed(read(f"{NODES}/online")))
    for number in online:
        cores = listed(read(f"{NODES}/node{number}/cpulist"))
        if mine := tuple(core for core in whole if core in cores):
            found.append(Node(number, mine, _memory(read(f"{NODES}/node{number}/meminfo"))))
    host = _memory(read("/proc/meminfo"))
    if len(found) == len(online) == 1:  # the host; some virtual machines tell a node's memory as it was before it grew
        return [replace(found[0], memory_bytes=max(host, found[0].memory_bytes))]
    return found or [Node(0, tuple(whole), host)]  # a kernel without NUMA


def _memory(meminfo: str) -> int:
    """Return MemTotal of /proc/meminfo or of a node's meminfo, whose lines begin with the node."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name.split()[-1:] == ["MemTotal"]:
            return int(value.split()[0]) * 1024
    return 0


def plan(settings: config.JudgeSettings, found: Sequence[Accelerator], nodes: Sequence[Node]) -> list[Seat]:
    """Return a seat for each device, in the order of their numbers."""
    on_cpu = make_of(settings.runner_hardware).on_host
    if on_cpu:
        placed = {one.number: nodes[index % len(nodes)] for index, one in enumerate(found)}
    else:
        by_number = {node.number: node for node in nodes}
        if any(one.node not in by_number for one in found):  # as on a virtual machine: then all cores are one node's
            everywhere = tuple(sorted(core for node in nodes for core in node.cores))
            whole = Node(None, everywhere, sum(node.memory_bytes for node in nodes))
            placed = {one.number: whole for one in found}
        else:
            placed = {one.number: by_number[one.node] for one in found if one.node is not None}
    users = Counter(node.number for node in placed.values())
    share = _share(settings, list(placed.values()), users)
    free = {node.number: list(node.cores[settings.runner_fleet_spare :]) for node in placed.values()}
    seats = []
    for one in sorted(found, key=lambda one: one.number):
        node = placed[one.number]
        cores, free[node.number] = free[node.number][:share], free[node.number][share:]
        memory = node.memory_bytes // users[node.number]
        if memory < LEAST_MEMORY:
            text = f"{node} has {memory / 2**30:.1f} GiB of memory for each of its {users[node.number]} runners"
            remedy = f"a runner needs {LEAST_MEMORY >> 30}; leave devices out, or give the host more memory"
            raise ConfigError(f"RUNNER_FLEET: {settings.runner_fleet!r}: {text}; {remedy}")
        wanted = CPU_MEMORY if on_cpu else GPU_MEMORY
        seats.append(Seat(one.number, one.name, node.number, tuple(cores), memory, wanted))
    return seats


def _share(settings: config.JudgeSettings, nodes: Sequence[Node], users: Counter[int | None]) -> int:
    """Return the number of cores of each runner."""
    spare, wanted = settings.runner_fleet_spare, settings.runner_fleet_cores
    on_cpu = make_of(settings.runner_hardware).on_host
    least = CPU_LEAST_CORES if on_cpu else GPU_LEAST_CORES
    if on_cpu and wanted:
        least = 1  # the operator's choice: for tries of a fleet on a small machine
    room = {node.number: max(len(node.cores) - spare, 0) // users[node.number] for node in nodes}
    tight = min(nodes, key=lambda node: room[node.number])
    here = f"{tight} has {len(tight.cores)} whole cores, {spare} of them spare, which leaves {room[tight.number]} for "
    here += f"each of its {users[tight.number]} runners"
    if wanted and wanted < least:
        raise ConfigError(f"RUNNER_FLEET_CORES: {wanted}: a GPU's runner needs {least} cores; raise it, or set 0")
    if wanted > room[tight.number]:
        remedy = "lower it or RUNNER_FLEET_SPARE, or leave devices out of RUNNER_FLEET"
        raise ConfigError(f"RUNNER_FLEET_CORES: {wanted}: {here}; {remedy}")
    if room[tight.number] < least:
        remedy = "leave devices out, or lower RUNNER_FLEET_SPARE"
        raise ConfigError(f"RUNNER_FLEET: {settings.runner_fleet!r}: {here}, and a runner needs {least}; {remedy}")
    return wanted or room[tight.number]


def plan_here(settings: config.JudgeSettings) -> list[Seat]:
    """Return the plan of this host."""
    return plan(settings, accelerators_of(settings), read_nodes(os.sched_getaffinity(0)))


def members(settings: config.JudgeSettings, seats: Sequence[Seat]) -> list[Member]:
    """Return each seat with its daemon's checked settings. Each has a token file of its own."""
    found: list[Member] = []
    for seat in seats:
        path = settings.runner_fleet_tokens / f"{seat.number}.env"
        values = _enrolled(path, seat) | own_settings(settings, seat)
        given = {name.lower(): value for name, value in values.items()}
        member = Member(seat, config.load(**given), config.daemon_environment(**values))
        if make_of(member.settings.runner_hardware) is not make_of(settings.runner_hardware):
            kinds = f"{member.settings.runner_hardware!r} in {path}, {settings.runner_hardware!r} in the environment"
            raise ConfigError(f"RUNNER_HARDWARE: {kinds}; a fleet has GPUs or lanes on cpu, not both")
        for other in found:
            if other.settings.runner_token == member.settings.runner_token:
                text = f"{other.seat.number} and {seat.number} have the same token; enrol each of them"
                raise ConfigError(f"RUNNER_FLEET_TOKENS: {settings.runner_fleet_tokens}: {text}")
        found.append(member)
    return found


def own_settings(settings: config.JudgeSettings, seat: Seat) -> dict[str, str]:
    """Return the variables of a seat. Lanes on `cpu` are one device, so that each has locks of its own."""
    own = {"RUNNER_FLEET": "", "RUNNER_GPU": str(seat.number)}
    own["RUNNER_STATE"] = str(settings.runner_state / str(seat.number))
    if make_of(settings.runner_hardware).on_host:
        own["RUNNER_LOCKS"] = str(settings.runner_locks / f"lane-{seat.number}")
    if settings.runner_helper:  # one helper serves one device
        helper = settings.runner_helper
        own["RUNNER_HELPER"] = str(helper.parent / str(seat.number) / helper.name)
    return own


def _enrolled(path: Path, seat: Seat) -> dict[str, str]:
    """Return the variables of a token file. Their values appear in no error."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        remedy = f"`runner fleet --only {seat.number} runner enrol URL CODE --file {path}` writes it"
        text = f"{path}: {why}; {remedy}, or leave {seat.number} out of RUNNER_FLEET"
        raise ConfigError(f"RUNNER_FLEET_TOKENS: {text}") from None
    if mode & 0o077:
        raise ConfigError(f"RUNNER_FLEET_TOKENS: {path} has mode {mode & 0o777:o}; it holds a token: chmod 600")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    if len(found) != len(lines) or "RUNNER_TOKEN" not in found or found.keys() - IN_A_FILE:
        allowed = ", ".join(sorted(IN_A_FILE))
        raise ConfigError(f"RUNNER_FLEET_TOKENS: {path} needs RUNNER_TOKEN, and may have {allowed} alone, once each")
    return found


def become(settings: config.JudgeSettings, seats: Sequence[Seat], number: int, command: Sequence[str]) -> NoReturn:
    """Become a command such as `runner bench`, with the settings and on the cores of a seat."""
    seat = next((seat for seat in seats if seat.number == number), None)
    if seat is None:
        raise ConfigError(f"--only: {number}: RUNNER_FLEET is {settings.runner_fleet!r}; name a device of the fleet")
    os.sched_setaffinity(0, seat.cores)
    try:
        os.execvpe(command[0], list(command), config.daemon_environment(**own_settings(settings, seat)))  # noqa: S606
    except OSError as error:
        raise ConfigError(f"--only: {command[0]!r} cannot be started: {error.strerror}; name a program") from None


def place_of(settings: config.JudgeSettings, read: Read = read) -> Place:
    """Return the place of this process's runner in its host, for the host's page."""
    cores = os.sched_getaffinity(0)
    nodes = read_nodes(cores, read)
    node = nodes[0].number if len(nodes) == 1 else None
    return Place(settings.runner_host or host_id(read), settings.runner_gpu, spans(cores), node)


def host_id(read: Read = read) -> str:
    """Return a name of this host that reveals nothing of it: in a container the kernel's, which lasts until a boot."""
    known = read("/etc/machine-id") or read("/proc/sys/kernel/random/boot_id")
    return hashlib.sha256(f"photofinish host {known}".encode()).hexdigest()[:16] if known else ""
