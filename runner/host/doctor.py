"""`runner doctor`: checks of a host's fitness to judge: engine, a real container under the real policy, device, host.

It judges no submission and leaves only an empty lock file behind. The result is a list of checks, each with its reason
and its remedy.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

import docker.errors

from runner import config
from runner.errors import ConfigError, DeviceBusy
from runner.host import accelerators, image_versions
from runner.host.container_checks import Engine, check_engine
from runner.host.host_checks import NOT_CERTIFIED, OK, UNFIT, WARNING, Check, Host, check_fitness, check_host, checked
from sandbox import container, policy
from sandbox.container import SandboxError

LEAST_DISK_BYTES: Final = 1_000_000_000


def examine(settings: config.JudgeSettings, host: Host, engine: Engine) -> Iterator[Check]:
    """Yield all checks in the order of the table, each as soon as it is known."""
    yield from check_device(settings)
    yield from check_engine(settings, host, engine)
    yield lock(settings)
    yield state(settings)
    yield from check_host(host)
    yield from check_fitness(host, settings.runner_hardware, settings.runner_gpu)


def is_fit(checks: list[Check], *, home: bool) -> bool:
    """Return whether the host is fit for a site; or for `home`, where a verdict need not be certified."""
    return not any(check.result == UNFIT or (check.result == NOT_CERTIFIED and not home) for check in checks)


def lock(settings: config.JudgeSettings) -> Check:
    """Check whether another runner is judging here."""
    why = "Two judges on one device measure each other."
    device = accelerators.Device(settings.runner_hardware, settings.runner_gpu)
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


def check_device(
    settings: config.JudgeSettings, here: Callable[[str, int], object] = accelerators.device_of
) -> Iterator[Check]:
    """Check the device. `here` raises ConfigError if this host has no such device."""
    why = "Without it nothing can be judged."
    try:
        here(settings.runner_hardware, settings.runner_gpu)
    except ConfigError as err:
        yield Check("device", UNFIT, str(err), why, "Load the driver (nvidia-smi must work), or set RUNNER_HARDWARE.")
        return
    yield Check("device", OK, settings.runner_hardware, why)


class DockerEngine:
    """The real Docker Engine."""

    def __init__(self, settings: config.JudgeSettings) -> None:
        self._settings = settings

    def info(self) -> dict[str, Any]:
        with closing(container.connect(timeout_s=20)) as client:
            try:
                return dict(client.info())
            except docker.errors.DockerException as err:
                raise SandboxError(f"it does not answer: {err}") from None

    def probe(self, cpus: str) -> dict[str, Any]:
        wanted = image_versions.probe_policy(self._settings, accelerators.gpu_of(self._settings), cpus)
        wanted = replace(wanted, command=(*wanted.command, policy.harness_folder(wanted.gpu)))
        with (
            closing(container.connect(timeout_s=60)) as client,
            container.Container(client, wanted, self._settings.runner_id) as box,
        ):
            box.start()
            return {**image_versions.await_line(box), **_try_freezer(box)}


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
