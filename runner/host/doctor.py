"""`runner doctor`: checks of a host's fitness to judge: device, engine, a real container under the real policy, host.

It judges no submission and leaves only an empty lock file behind. Each check has the state found, its reason and its
remedy. A container is started with exactly the options of a tenant, and container_probe.py inside reports what it can
see and do: a requested limit that is missing is found here and not by a competitor. All checks look through `Host` and
`Engine`, which lets a test imitate any machine.
"""

import hashlib
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import docker.errors
from pydantic import BaseModel, Field, ValidationError

from runner import config
from runner.errors import ConfigError, DeviceBusy
from runner.evidence.schema import explained
from runner.host import accelerators, fleet, helper, image_versions
from runner.host.container_probe import MOST_DEVICES
from runner.judge.data.memory import SharedPages
from runner.judge.device.make import Fit
from runner.wire import LANGUAGES
from sandbox import container, policy, protocol
from sandbox.container import ImageMissing, SandboxError

OK: Final = "ok"
WARNING: Final = "warning"  # it can judge; figures are noisier or an error is possible
NOT_CERTIFIED: Final = "not certified"  # good enough at home, not for a site
UNFIT: Final = "unfit"  # it cannot judge

LEAST_ENGINE: Final = (20, 10)
LIMITS: Final = {"MemoryLimit": "memory", "SwapLimit": "swap", "PidsLimit": "processes", "CPUSet": "cores"}
SANDBOX: Final = Path(policy.__file__).parent
SLOW_FREEZE_US: Final = 2_000.0
START_S: Final = 60.0  # of a judge that only asks its helper
LEAST_DISK_BYTES: Final = 1_000_000_000
GOOD_CLOCKS: Final = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
COARSE_CLOCK_NS: Final = 1_000
SLOW_CLOCK_NS: Final = 2_000  # a read; clocks outside the kernel's fast path cost more
LEAST_MEMORY: Final = fleet.LEAST_MEMORY
GOOD_MEMORY: Final = fleet.CPU_MEMORY
BUSY_SHARE: Final = 0.5  # of the cores; a load beyond it is foreign work
NOISE: Final = ("pressure", "steal", "display", "throttling")  # of a device's fitness: more voids, no wrong times


@dataclass(frozen=True)
class Check:
    """Line of the table. `remedy` is empty if none is needed."""

    name: str
    result: str
    found: str
    why: str
    remedy: str = ""


def checked(name: str, good: bool, found: str, why: str, remedy: str, bad: str = UNFIT) -> Check:
    """Return a check, with the result `bad` and the remedy only if it is not good."""
    return Check(name, OK if good else bad, found, why, "" if good else remedy)


class Host:
    """This machine, as far as the checks look at it."""

    def read(self, path: str) -> str:
        return accelerators.read(path)

    def uid(self) -> int:
        return os.geteuid()

    def cores(self) -> Sequence[int]:
        return sorted(os.sched_getaffinity(0))

    def load(self) -> float:
        """Return the runnable threads, averaged over a minute."""
        return os.getloadavg()[0]

    def clock_ns(self) -> tuple[int, float]:
        """Return the smallest step seen of the judge's clock, and the cost of a read, in ns."""
        now, reads = time.monotonic_ns, 20_000
        began = now()
        seen = [now() for _ in range(reads)]
        cost = (seen[-1] - began) / reads
        steps = [later - earlier for earlier, later in pairwise(seen) if later > earlier]
        return min(steps, default=COARSE_CLOCK_NS * 1_000), cost

    def sealing(self) -> str:
        """Return the fault of sealing memory against later writers; empty if it works."""
        try:
            with closing(SharedPages("doctor", mmap.PAGESIZE, for_reading_only=True)) as page:
                page.map[:1] = b"x"  # the map from before stays writable
                with suppress(PermissionError):
                    mmap.mmap(page.fd, mmap.PAGESIZE).close()
                    return "a sealed page can still be mapped for writing"
        except (OSError, AttributeError) as err:
            return str(err)
        return ""

    def pidfd(self) -> str:
        """Return the fault of descriptors of processes; empty if they work."""
        try:
            os.close(os.pidfd_open(os.getpid()))
        except (OSError, AttributeError) as err:
            return str(err)
        return ""

    def accelerators(self, settings: config.JudgeSettings) -> list[fleet.Accelerator]:
        """Return the devices of the fleet. Raises ConfigError."""
        return fleet.accelerators_of(settings)

    def fit(self, hardware: str, gpu: int) -> list[Fit]:
        """Return the checks of the device itself."""
        return accelerators.make_of(hardware).host_fit(gpu)


class Engine:
    """The Docker Engine. Every method raises SandboxError with a remedy."""

    def __init__(self, settings: config.JudgeSettings) -> None:
        self._settings = settings

    def info(self) -> dict[str, Any]:
        with closing(container.connect(timeout_s=20)) as client:
            try:
                return dict(client.info())
            except docker.errors.DockerException as err:
                raise SandboxError(f"it does not answer: {err}") from None

    def image(self) -> str:
        """Return the image that a judge would use. Raises ConfigError if the settings name another image."""
        with closing(container.connect(timeout_s=20)) as client:
            return image_versions.chosen_image(client, self._settings)[0]

    def start_as(self, user: helper.JudgeUser) -> str:
        """Return why no judge of this user reaches the helper; empty if it does."""
        command = (sys.executable, "-m", "runner.job.judge_main", "--reap")
        environment = config.judge_environment("doctor")
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=START_S, **user.identity
            )
        except (OSError, subprocess.SubprocessError) as err:
            return str(err)
        return done.stderr.strip()[-300:] if done.returncode else ""

    def probe(self, cpus: str) -> dict[str, Any]:
        """Return the report of the program inside, with `freezer` ("" or the fault) and `freeze_us`."""
        make = accelerators.make_of(self._settings.runner_hardware)
        wanted = image_versions.probe_policy(self._settings, make.equipment(self._settings), cpus)
        wanted = replace(wanted, command=(*wanted.command, policy.harness_folder(wanted.gpu)))
        with (
            closing(container.connect(timeout_s=60)) as client,
            container.Container(client, wanted, self._settings.runner_id) as box,
        ):
            box.start()
            return {**powers_of(image_versions.await_line(box)), **_try_freezer(box)}


Texts = list[Annotated[str, Field(max_length=200)]]


class Powers(BaseModel):
    """Report of container_probe.py; an untrusted image may print anything."""

    uid: int
    no_new_privileges: Annotated[str, Field(max_length=20)]
    seccomp: Annotated[str, Field(max_length=20)]
    capabilities: Annotated[str, Field(pattern="^[0-9a-f]{1,32}$")]
    inet: int
    interfaces: Annotated[Texts, Field(max_length=100)]
    write_root: int
    write_tmp: int
    cpus: Annotated[str, Field(pattern="^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?){0,99}$")]
    protocol: int | None
    files: dict[str, str]
    torch: Annotated[str, Field(max_length=64)]
    bytecode: bool
    languages: Annotated[dict[str, Annotated[str, Field(pattern="^[!-~]{1,64}$")]], Field(max_length=32)]
    devices: Annotated[Texts, Field(max_length=MOST_DEVICES)]


def powers_of(line: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a probe. Raises SandboxError."""
    try:
        return Powers.model_validate(line).model_dump()
    except ValidationError as err:
        raise SandboxError(f"the probe's line does not fit: {explained(err, 'probe')}") from None


def _try_freezer(box: container.Container) -> dict[str, Any]:
    """Return the median time to freeze over some rounds, in µs."""
    if box.freezer is None:
        who = "this host" if os.geteuid() == 0 else "without root, this user"
        return {"freezer": f"{who} cannot freeze a container", "freeze_us": 0.0}
    took = []
    try:
        for _ in range(9):
            began = time.monotonic_ns()
            box.freeze()
            took.append((time.monotonic_ns() - began) / 1e3)
            box.thaw()
            time.sleep(0.002)
    except (OSError, TimeoutError) as err:
        return {"freezer": f"freezing failed: {err}", "freeze_us": 0.0}
    return {"freezer": "", "freeze_us": statistics.median(took)}


def examine(settings: config.JudgeSettings, host: Host, engine: Engine) -> Iterator[Check]:
    """Yield all checks in the order of the table, each as soon as it is known."""
    yield device(settings)
    yield from check_engine(settings, host, engine)
    yield lock(settings)
    yield state(settings)
    yield from check_host(host)
    own = accelerators.Device.of(settings)
    for gpu in range(own.index, own.index + own.count):
        for check in check_fitness(host, own.hardware, gpu):
            yield check if own.count == 1 else replace(check, name=f"{check.name} of GPU {gpu}")
    if settings.runner_fleet:
        yield check_fleet(settings, host)


def check_fleet(settings: config.JudgeSettings, host: Host) -> Check:
    """Check that each device of RUNNER_FLEET gets cores and memory of its own."""
    why = "The runners of one host must not disturb each other, and their timing epochs name the number of cores."
    try:
        seats = fleet.plan(settings, host.accelerators(settings), fleet.read_nodes(host.cores(), host.read))
    except ConfigError as err:
        return Check("fleet", UNFIT, str(err), why, "Correct the setting; `runner fleet --plan` prints the plan.")
    found = ", ".join(f"{seat.number} on cores {accelerators.spans(seat.cores)}" for seat in seats)
    small = any(seat.memory_bytes < seat.wants_bytes for seat in seats)
    found += f"; {min(seat.memory_bytes for seat in seats) / 2**30:.0f} GiB of memory each"
    remedy = f"{seats[0].wants_bytes >> 30} GiB hold a job whose containers all reach their limits; leave devices out."
    return checked("fleet", not small, found, why, remedy, WARNING)


def is_fit(checks: list[Check], *, home: bool) -> bool:
    """Return whether the host is fit for a site; or for `home`, where a verdict need not be certified."""
    return not any(check.result == UNFIT or (check.result == NOT_CERTIFIED and not home) for check in checks)


def device(settings: config.JudgeSettings) -> Check:
    why = "Without it nothing can be judged."
    try:
        accelerators.device_of(settings)
    except ConfigError as err:
        tool = accelerators.make_of(settings.runner_hardware).tool
        return Check("device", UNFIT, str(err), why, f"Load the driver ({tool} must work), or set RUNNER_HARDWARE.")
    return Check("device", OK, settings.runner_hardware, why)


def check_engine(settings: config.JudgeSettings, host: Host, engine: Engine) -> Iterator[Check]:
    """Check the engine. Stops at the first failure that makes the other checks impossible."""
    try:
        info = engine.info()
    except SandboxError as err:
        why = "Everything untrusted runs in its containers."
        remedy = "Start it (systemctl start docker), install it (docker.io), or set DOCKER_HOST."
        yield Check("Docker Engine", UNFIT, str(err), why, remedy)
        return
    yield from engine_facts(info)
    yield engine_users(info, host)
    yield judge_user(settings, host, engine)
    if settings.sandbox_image_digest:
        why = "A changed image changes times and walls; this host may use one image only."
        try:
            yield Check("image digest", OK, engine.image(), why)
        except (ConfigError, SandboxError) as err:
            yield Check("image digest", UNFIT, str(err), why, "Pull the image, or change SANDBOX_IMAGE_DIGEST.")
            return
    cpus = accelerators.cpuset(accelerators.share_out(host.cores()).tenant)
    make = accelerators.make_of(settings.runner_hardware)
    gpu_remedy = make.remedies.get(settings.runner_gpu_stack, "")
    try:
        seen = engine.probe(cpus)
    except SandboxError as err:
        why = "A submission runs in one with exactly these options."
        remedy = gpu_remedy or "See the engine's log (journalctl -u docker)."
        if isinstance(err, ImageMissing):
            remedy = f"Build it with `make image`, or set SANDBOX_IMAGE, which is {settings.sandbox_image}."
        yield Check("container", UNFIT, str(err), why, remedy)
        return
    yield harness(seen)
    yield from walls(seen, cpus)
    yield freezer(seen)
    why = "Containers cannot write bytecode. Without it each spends seconds compiling torch when it starts."
    remedy = "Run `python -m compileall` on the site-packages of the Python with torch."
    yield checked("bytecode of torch", seen["bytecode"], "there" if seen["bytecode"] else "none", why, remedy, WARNING)
    yield languages(seen)
    if not make.on_host:
        devices, why = make.nodes(seen["devices"]), "The container needs its one GPU, and must not see another."
        yield checked("GPU in a container", len(devices) == 1, ", ".join(devices) or "none", why, gpu_remedy)


def engine_facts(info: dict[str, Any]) -> Iterator[Check]:
    """Check the engine by its own report."""
    version = str(info.get("ServerVersion", "?"))
    why = "Older engines lack options of the sandbox."
    good = tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) >= LEAST_ENGINE
    found = f"{version}, cgroup v{info.get('CgroupVersion', '1')}" if good else version
    least = ".".join(map(str, LEAST_ENGINE))
    yield checked("Docker Engine", good, found, why, f"Install Docker Engine {least} or later.")

    missing = [name for key, name in LIMITS.items() if not info.get(key)]
    why = "A limit that the kernel does not know is dropped by the engine without a word."
    found = f"not for {', '.join(missing)}" if missing else ", ".join(LIMITS.values())
    remedy = "Enable the control groups at boot: cgroup_enable=memory swapaccount=1."
    yield checked("container limits", not missing, found, why, remedy)


def engine_users(info: dict[str, Any], host: Host) -> Check:
    """Check the users that the engine and its containers are on this host."""
    name, version = "users of the engine", str(info.get("CgroupVersion", "1"))
    features = {part for option in info.get("SecurityOptions") or () for part in option.split(",")}
    if not features & {"name=rootless", "name=userns"}:
        why = "A container's users are this host's: code that gets out as root is root. Rootless Docker differs."
        return Check(name, OK, f"root's engine, users not remapped, cgroup v{version}", why)
    why = "Code that gets out of a container has no rights on this host. A tenant's uid must be in the range."
    sizes = [line.rpartition(":")[2] for line in host.read("/etc/subuid").splitlines()]
    uids = max((int(size) for size in sizes if size.isdigit()), default=0)
    kind = "rootless" if "name=rootless" in features else "remapped"
    found = f"{kind}, {uids} uids, cgroup v{version}, driver {info.get('CgroupDriver', '?')}"
    if uids <= accelerators.UIDS[-1]:
        remedy = f"Give the engine's user {accelerators.UIDS[-1] + 1} uids and gids in /etc/subuid and /etc/subgid."
        return Check(name, UNFIT, found, why, remedy)
    if kind == "rootless" and (version != "2" or info.get("CgroupDriver") != "systemd"):
        remedy = "Boot with cgroup v2, and have systemd delegate cpu, cpuset, memory and pids to the engine's user."
        return Check(name, UNFIT, found, why, remedy)
    remedy = "The judge has not been tried on such an engine: have `runner once softmax` judge a sample first."
    return Check(name, WARNING, found, why, remedy)


def judge_user(settings: config.JudgeSettings, host: Host, engine: Engine) -> Check:
    """Check the user that reads what containers write."""
    name = "user of the judge"
    why = "A fault in the code that reads tenants' bytes has this user's rights; Docker's socket makes it root."
    remedy = "Start `runner helper` with these settings; let this user read the code and the Python of the runner."
    try:
        user = helper.judge_user(settings)
        fault = engine.start_as(user) if user else ""
    except ConfigError as err:
        return Check(name, UNFIT, str(err), why, "Correct the two settings.")
    if user is None:
        found = "root" if host.uid() == 0 else f"uid {host.uid()}"
        return Check(name, OK, f"{found}, with Docker's socket", why)
    found = f"uid {user.uid}, with the helper at {settings.runner_helper}"
    return checked(name, not fault, f"{found}: {fault}" if fault else found, why, remedy)


def harness(seen: dict[str, Any]) -> Check:
    ours = {path.name: digest(path) for path in inside_files()}
    why = "Judge and harness are two halves of one protocol and are built together."
    remedy = "Build the image of this checkout: make image"
    if seen["protocol"] != protocol.VERSION:
        found = f"the image speaks protocol {seen['protocol']}, this checkout {protocol.VERSION}"
        return Check("image", UNFIT, found, why, remedy)
    other = sorted(name for name, sha in ours.items() if seen["files"].get(name) != sha)
    if other:
        return Check("image", WARNING, f"protocol {protocol.VERSION}, but other {', '.join(other)}", why, remedy)
    torch = f"torch {seen['torch']}" if seen["torch"] else "no torch that can be named"
    return Check("image", OK, f"protocol {protocol.VERSION}, this checkout's harness, {torch}", why)


def inside_files() -> list[Path]:
    """Return the files of this checkout that are in an image."""
    inside = [path for path in sorted((SANDBOX / "inside").glob("*.py")) if path.name != "__init__.py"]
    return [*inside, SANDBOX / "protocol.py"]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def walls(seen: dict[str, Any], cpus: str) -> Iterator[Check]:
    """Check each wall of the sandbox by the report of the program inside."""
    remedy = "Use Docker Engine itself, not an emulation of it; look for what was dropped in `docker inspect`."

    holds, found = seen["no_new_privileges"] == "1", f"NoNewPrivs {seen['no_new_privileges']}"
    why = "A program with the setuid bit must not make a submission root."
    yield checked("no new privileges", holds, found, why, remedy)

    holds = seen["seccomp"] == "2" and seen["inet"] != 0
    found = f"mode {seen['seccomp']}, an internet socket is {'refused' if seen['inet'] else 'given'}"
    why = "Kernel calls that a submission does not need are the way out of a container."
    yield checked("seccomp", holds, found, why, remedy)

    holds = int(seen["capabilities"], 16) == 0 and seen["uid"] >= 1000
    found = f"{seen['capabilities'].lstrip('0') or 'none'}, uid {seen['uid']}"
    yield checked("capabilities", holds, found, "With a capability or as root, most walls have a door.", remedy)

    holds, found = seen["interfaces"] in ([], ["lo"]), ", ".join(seen["interfaces"]) or "none"
    yield checked("network", holds, found, "Nothing may be computed elsewhere, and nothing may leave.", remedy)

    holds = seen["write_root"] != 0 and seen["write_tmp"] == 0
    image, tmp = "read-only" if seen["write_root"] else "writable", "not writable" if seen["write_tmp"] else "writable"
    why = "Only /tmp, in memory and gone with the container, can be written."
    yield checked("file system", holds, f"the image is {image}, its /tmp is {tmp}", why, remedy)

    holds, found = accelerators.listed(seen["cpus"]) == accelerators.listed(cpus), f"{seen['cpus']}, asked for {cpus}"
    yield checked("cores of a tenant", holds, found, "A submission on the judge's core disturbs the clock.", remedy)


def freezer(seen: dict[str, Any]) -> Check:
    why = "Outside its calls a container must stand still, or it could work while no clock runs."
    if seen["freezer"]:
        remedy = "Run as root (or give this user the container's cgroup.freeze); at home this is fine."
        return Check("freezer", NOT_CERTIFIED, seen["freezer"], why, remedy)
    found, good = f"{seen['freeze_us']:.0f} µs to freeze", seen["freeze_us"] <= SLOW_FREEZE_US
    remedy = "Something keeps the kernel from stopping threads: look at the load."
    return checked("freezer", good, found, why, remedy, WARNING)


def languages(seen: dict[str, Any]) -> Check:
    """Name what kernels may be written in here, beside torch."""
    found = [f"{shown} {seen['languages'][name]}" for name, shown in LANGUAGES.items() if name in seen["languages"]]
    why = "Boards of this hardware list them for competitors."
    remedy = "Build an image with a C++ compiler (`make image`); docs/gpu-hosts.md has a layer of further languages."
    return checked("languages", bool(found), ", ".join(found) or "none but torch", why, remedy, WARNING)


def lock(settings: config.JudgeSettings) -> Check:
    """Check whether another runner is judging here."""
    why = "Two judges on one device measure each other."
    device = accelerators.Device.of(settings)
    try:
        with accelerators.DeviceLock(device, settings.runner_locks) as held:
            return Check("device lock", OK, f"{held.path} is free", why)
    except DeviceBusy as err:
        return Check("device lock", WARNING, str(err), why, "An idle runner lends it to commands; end a second runner.")
    except ConfigError as err:
        return Check("device lock", UNFIT, str(err), why, "Set RUNNER_LOCKS to a folder that all runners can write.")


def state(settings: config.JudgeSettings) -> Check:
    """Check the room for reports that wait until the site can be reached."""
    folder = settings.runner_state
    while not os.path.exists(folder):  # or it may not be read
        folder = folder.parent
    why = "A report is on disk before it is sent: a verdict must outlive a restart."
    if not folder.is_dir():
        return Check("state folder", UNFIT, f"{folder} is no folder", why, "Set RUNNER_STATE to one.")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check("state folder", UNFIT, f"{folder} cannot be written", why, "Set RUNNER_STATE to one that can.")
    free = shutil.disk_usage(folder).free
    remedy = "Free some, or set RUNNER_STATE to a larger disk."
    found = f"{free / 1e9:.1f} GB free in {folder}"
    return checked("state folder", free >= LEAST_DISK_BYTES, found, why, remedy, WARNING)


def check_host(host: Host) -> Iterator[Check]:
    yield from check_cores(host)
    yield from check_clock(host)
    yield from check_kernel(host)
    threads, cores = host.load(), len(host.cores())
    why = "Other people's work disturbs the times; what is disturbed is voided and repeated, or not ranked."
    remedy = "Stop what else runs here, or wait a minute and look again."
    yield checked("load", threads <= BUSY_SHARE * cores, f"load {threads:.2f} on {cores} cores", why, remedy, WARNING)


def check_cores(host: Host) -> Iterator[Check]:
    cores = host.cores()
    why = "The judge keeps a core for itself: on a shared one, its clock waits for the kernel that it measures."
    remedy = "Give this process at least two cores."
    yield checked("cores", len(cores) >= 2, f"{len(cores)} for this process", why, remedy)

    shared = accelerators.share_out(cores)
    near = [accelerators.threads(core, host.read) for core in shared.judge]
    both = sorted(set[int]().union(*near) & set(shared.tenant) - set(shared.judge))
    why = "Two threads of one core share its units: the judge's polling would slow the kernel that it times."
    found = "judge and tenants share no core"
    if both:
        found = f"the judge's core {shared.judge[0]} is a thread of the same core as {accelerators.cpuset(both)}"
    remedy = "Turn SMT off (echo off > /sys/devices/system/cpu/smt/control), or start with taskset on whole cores."
    yield checked("SMT siblings", not both, found, why, remedy, WARNING)

    path = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
    governors = {host.read(path.format(core)) for core in (*shared.judge, *shared.tenant)} - {""}
    found = "no governor to be seen, as on a virtual machine"
    if governors:
        found = f"governor {', '.join(sorted(governors))}"
    why = "A governor that saves power changes the clock rate between blocks."
    remedy = "cpupower frequency-set -g performance"
    yield checked("frequency", governors <= {"performance"}, found, why, remedy, WARNING)


def check_clock(host: Host) -> Iterator[Check]:
    found = host.read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown"
    why = "A clock that is read from a device (hpet, acpi_pm) costs microseconds a read and steps coarsely."
    remedy = "Find out why the kernel gave up on tsc (dmesg | grep -i clocksource); clocksource=tsc at boot."
    yield checked("clock source", found in GOOD_CLOCKS, found, why, remedy, NOT_CERTIFIED)

    step, cost = host.clock_ns()
    found, why = f"steps of {step} ns, {cost:.0f} ns a read", "What ranks is read from this clock."
    remedy = "See the clock source; under emulation no remedy is known."
    yield checked("clock", step <= COARSE_CLOCK_NS and cost <= SLOW_CLOCK_NS, found, why, remedy, NOT_CERTIFIED)


def check_kernel(host: Host) -> Iterator[Check]:
    lines = dict(line.split(":", 1) for line in host.read("/proc/meminfo").splitlines() if ":" in line)
    available = int(lines.get("MemAvailable", "0").split()[0]) * 1024
    why = "Containers, their arenas (memfd: memory, not /dev/shm) and the judge's copies lie in it, without swap."
    remedy = f"Free some: {GOOD_MEMORY >> 30} GiB hold a job whose containers all reach their limits."
    bad = WARNING if available >= LEAST_MEMORY else UNFIT
    yield checked("memory", available >= GOOD_MEMORY, f"{available / 2**30:.1f} GiB available", why, remedy, bad)

    swaps = host.read("/proc/swaps").splitlines()[1:]
    found = f"on: {', '.join(line.split()[0] for line in swaps)}" if swaps else "off"
    why = "Containers get none, but the judge's own memory could be swapped out in the middle of a call."
    yield checked("swap", not swaps, found, why, "swapoff -a", WARNING)

    wrong = host.sealing()
    why = "A page from judge to tenant must not become writable for the tenant (F_SEAL_FUTURE_WRITE, Linux 5.1)."
    remedy = "Use Linux 5.1 or later, on the machine itself."
    yield checked("sealed memory", not wrong, wrong or "memfd and its seals work", why, remedy)

    wrong = host.pidfd()
    why = "The judge watches and kills containers by descriptors that cannot come to mean another process (Linux 5.3)."
    yield checked("pidfd", not wrong, wrong or "works", why, "Use Linux 5.3 or later, on the machine itself.")


def check_fitness(host: Host, hardware: str, gpu: int) -> Iterator[Check]:
    """Check the judge's view of its device, and disturbances of the device."""
    why = "A time ranks only with evidence that its device ran as it should, and for nobody else."
    for fit in host.fit(hardware, gpu):
        bad = WARNING if fit.name in NOISE else UNFIT
        yield Check(fit.name, OK if fit.ok else bad, fit.found, why, fit.remedy)
