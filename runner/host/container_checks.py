"""Checks of the engine and of a real container, which decide whether this host can judge. Part of `runner doctor`.

A container is started with exactly the options of a tenant, and container_probe.py inside reports what it can see and
do: a requested limit that is missing is found here and not by a competitor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from runner import config
from runner.host import accelerators
from runner.host.host_checks import NOT_CERTIFIED, OK, UNFIT, WARNING, Check, Host, checked, listed
from sandbox import policy, protocol
from sandbox.container import ImageMissing, SandboxError

LEAST_ENGINE: Final = (20, 10)
SLOW_FREEZE_US: Final = 2_000.0
LIMITS: Final = {"MemoryLimit": "memory", "SwapLimit": "swap", "PidsLimit": "processes", "CPUSet": "cores"}
SANDBOX: Final = Path(policy.__file__).parent


class Engine(Protocol):
    """Container engine as the checks see it. Every method raises SandboxError with a remedy."""

    def info(self) -> dict[str, Any]: ...
    def probe(self, cpus: str) -> dict[str, Any]:
        """Return the report of the program inside, with `freezer` ("" or the fault) and `freeze_us`."""


def check_engine(settings: config.JudgeSettings, host: Host, engine: Engine) -> Iterator[Check]:
    """Check the engine. Stops at the first failure that makes the other checks impossible."""
    try:
        info = engine.info()
    except SandboxError as err:
        yield Check("Docker Engine", UNFIT, str(err), "Everything untrusted runs in its containers.", ENGINE_REMEDY)
        return
    yield engine_version(info)
    yield engine_limits(info)
    cpus = accelerators.cpuset(accelerators.share_out(host.cores()).tenant)
    try:
        seen = engine.probe(cpus)
    except SandboxError as err:
        why = "A submission runs in one with exactly these options."
        remedy = "See the engine's log (journalctl -u docker)."
        if isinstance(err, ImageMissing):
            remedy = f"Build it with `make image`, or set SANDBOX_IMAGE, which is {settings.sandbox_image}."
        elif settings.runner_hardware != "cpu":
            remedy = _gpu_remedy(settings)
        yield Check("container", UNFIT, str(err), why, remedy)
        return
    yield harness(seen)
    yield from walls(seen, cpus)
    yield freezer(seen)
    if settings.runner_hardware != "cpu":
        yield device_nodes(seen, settings)


ENGINE_REMEDY: Final = "Start it (systemctl start docker), install it (docker.io), or set DOCKER_HOST."


def engine_version(info: dict[str, Any]) -> Check:
    version = str(info.get("ServerVersion", "?"))
    why = "Older engines lack options of the sandbox."
    good = tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) >= LEAST_ENGINE
    found = f"{version}, cgroup v{info.get('CgroupVersion', '1')}" if good else version
    least = ".".join(map(str, LEAST_ENGINE))
    return checked("Docker Engine", good, found, why, f"Install Docker Engine {least} or later.")


def engine_limits(info: dict[str, Any]) -> Check:
    missing = [name for key, name in LIMITS.items() if not info.get(key)]
    why = "A limit that the kernel does not know is dropped by the engine without a word."
    found = f"not for {', '.join(missing)}" if missing else ", ".join(LIMITS.values())
    remedy = "Enable the control groups at boot: cgroup_enable=memory swapaccount=1."
    return checked("container limits", not missing, found, why, remedy)


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
    for name, holds, found, why in (
        (
            "no new privileges",
            seen["no_new_privileges"] == "1",
            f"NoNewPrivs {seen['no_new_privileges']}",
            "A program with the setuid bit must not make a submission root.",
        ),
        (
            "seccomp",
            seen["seccomp"] == "2" and seen["inet"] != 0,
            f"mode {seen['seccomp']}, an internet socket is {'refused' if seen['inet'] else 'given'}",
            "Kernel calls that a submission does not need are the way out of a container.",
        ),
        (
            "capabilities",
            int(seen["capabilities"], 16) == 0 and seen["uid"] >= 1000,
            f"{seen['capabilities'].lstrip('0') or 'none'}, uid {seen['uid']}",
            "With a capability or as root, most walls have a door.",
        ),
        (
            "network",
            seen["interfaces"] in ([], ["lo"]),
            ", ".join(seen["interfaces"]) or "none",
            "Nothing may be computed elsewhere, and nothing may leave.",
        ),
        (
            "file system",
            seen["write_root"] != 0 and seen["write_tmp"] == 0,
            f"the image is {'read-only' if seen['write_root'] else 'writable'}, "
            f"its /tmp {'is not writable' if seen['write_tmp'] else 'is writable'}",
            "Only /tmp, in memory and gone with the container, can be written.",
        ),
        (
            "cores of a tenant",
            listed(seen["cpus"]) == listed(cpus),
            f"{seen['cpus']}, asked for {cpus}",
            "A submission on the judge's core disturbs the clock.",
        ),
    ):
        yield checked(name, holds, found, why, remedy)


def freezer(seen: dict[str, Any]) -> Check:
    why = "Outside its calls a container must stand still, or it could work while no clock runs."
    if seen["freezer"]:
        remedy = "Run as root (or give this user the container's cgroup.freeze); at home this is fine."
        return Check("freezer", NOT_CERTIFIED, seen["freezer"], why, remedy)
    found, good = f"{seen['freeze_us']:.0f} µs to freeze", seen["freeze_us"] <= SLOW_FREEZE_US
    remedy = "Something keeps the kernel from stopping threads: look at the load."
    return checked("freezer", good, found, why, remedy, WARNING)


def device_nodes(seen: dict[str, Any], settings: config.JudgeSettings) -> Check:
    found = ", ".join(seen["nvidia"]) or "none"
    why = "The container needs its one GPU, and must not see another."
    devices = [name for name in seen["nvidia"] if name.removeprefix("/dev/nvidia").isdigit()]
    return checked("GPU in a container", len(devices) == 1, found, why, _gpu_remedy(settings))


def _gpu_remedy(settings: config.JudgeSettings) -> str:
    if settings.runner_gpu_stack == policy.TOOLKIT:
        return "Install nvidia-container-toolkit and restart Docker; or mount the host's stack: RUNNER_GPU_STACK=host."
    if settings.runner_gpu_stack == policy.CDI:
        return (
            "Have the NVIDIA container toolkit name the GPUs (nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml) "
            "and Docker read that (Engine 25 or later, features.cdi in its daemon.json); or RUNNER_GPU_STACK=toolkit."
        )
    return "Load the driver and make its device nodes (nvidia-smi, nvidia-modprobe -u), then look again."
