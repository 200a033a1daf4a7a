"""Versions of torch and of a device's libraries in containers: a part of the timing epoch that the host cannot report;
and of the languages for kernels, which competitors read.

A probe container under a tenant's policy reports them. Its report is kept for the image and the driver in
RUNNER_STATE/versions, which saves a container per job. If containers mount the host's own stack, which changes without
the image, the probe runs each time.
"""

import hashlib
import json
import logging
import re
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from runner import config
from runner.daemon.spool import write_durably
from runner.errors import ConfigError
from runner.host import accelerators, container_probe
from runner.wire import LANGUAGES
from sandbox import container, policy
from sandbox.container import SandboxError

log = logging.getLogger("runner.host.image_versions")

FOLDER: Final = "versions"
FORMAT: Final = 2  # of the kept files; another number asks every image anew
PROGRAM: Final = Path(container_probe.__file__).read_text()
PROBE_S: Final = 60.0  # from the start of a probe's container until its line
VERSION: Final = re.compile("[!-~]{1,64}")  # an untrusted image may print anything


def chosen_image(client: Any, settings: config.JudgeSettings) -> list[str]:
    """Return the image's id, then its digests in registries. Raises ConfigError for an image that the settings do not
    allow, SandboxError."""
    found, wanted = container.image_digests(client, settings.sandbox_image), settings.sandbox_image_digest
    if wanted and wanted not in found:
        remedy = "pull or build the image of that digest, or change the setting with the site's operators"
        text = f"{settings.sandbox_image} is another image ({', '.join(found)})"
        raise ConfigError(f"SANDBOX_IMAGE_DIGEST: {wanted!r}: {text}; {remedy}")
    return found


def versions_inside(
    client: Any, settings: config.JudgeSettings, *, gpu: policy.Gpu | None, cpus: str, driver: str
) -> dict[str, str]:
    """Return the versions by name: torch's, those of the hardware's make, and those of LANGUAGES that are there.

    Raises ConfigError if one of the first two cannot be read: there is then no epoch.
    """
    image = container.image_id(client, settings.sandbox_image)
    stack = "" if gpu is None else gpu.stack
    name = hashlib.sha256(json.dumps([FORMAT, image, stack, driver]).encode()).hexdigest()[:32]
    path = settings.runner_state / FOLDER / f"{name}.json"
    if stack != policy.HOST:
        with suppress(OSError, ValueError):
            known = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(known, dict):
                return {str(name): str(value) for name, value in known.items()}
    found = ask(client, settings, gpu, cpus)
    wanted = {"torch", *accelerators.make_of(settings.runner_hardware).versions}
    if missing := sorted(wanted - found.keys()):
        text = f"a container of it does not say its version of {' and '.join(missing)}, so its times belong to no epoch"
        raise ConfigError(f"SANDBOX_IMAGE: {settings.sandbox_image}: {text}; see `runner doctor`")
    if stack != policy.HOST:
        try:
            write_durably(path, json.dumps(found).encode())
        except OSError as err:
            log.warning("%s cannot be kept (%s): the next judge asks the image again", path, err)
    return found


def await_line(box: container.Container, limit_s: float = PROBE_S) -> dict[str, Any]:
    """Return the first line of JSON that a probe prints. Raises SandboxError."""
    give_up = time.monotonic() + limit_s
    while time.monotonic() < give_up:
        text = box.logs()["stdout"]
        if text.endswith("\n"):
            return _object(text)
        if not box.alive() and not box.logs()["stdout"]:
            raise SandboxError(f"it died at once: {box.logs()['stderr'][-500:] or box.wait_exit()}")
        time.sleep(0.02)
    raise SandboxError(f"it said nothing within {limit_s:g} s")


def probe_policy(settings: config.JudgeSettings, gpu: policy.Gpu | None, cpus: str) -> policy.Policy:
    """Return a tenant's policy with the probe as its program."""
    wanted = policy.tenant(settings.sandbox_image, accelerators.draw_uid(), cpus, gpu)
    return replace(wanted, command=(wanted.command[0], "-I", "-c", PROGRAM), kind="probe")


def ask(client: Any, settings: config.JudgeSettings, gpu: policy.Gpu | None, cpus: str) -> dict[str, str]:
    """Return the versions that a new container reports. Raises SandboxError."""
    with container.Container(client, probe_policy(settings, gpu, cpus), settings.runner_id) as box:
        box.start()
        found = {name: str(value) for name, value in await_line(box).items() if isinstance(value, str | int | float)}
    names = (*accelerators.version_names(), *LANGUAGES)
    return {name: found[name] for name in names if VERSION.fullmatch(found.get(name, ""))}


def _object(line: str) -> dict[str, Any]:
    """Return the probe's object. Raises SandboxError."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as err:
        raise SandboxError(f"the probe's line is no JSON: {err}") from None
    if not isinstance(found, dict):
        raise SandboxError("the probe's line is no JSON object")
    return found
