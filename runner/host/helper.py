"""The judge's own user, and `runner helper`, which makes the containers of a judge that runs as that user.

Owns RUNNER_STATE/judge, which is all that this user sees of the state: versions, which it writes, and a link to the
ceilings, which it reads. What the helper makes comes from the settings of its own process; sandbox/helper.py has the
protocol.
"""

import contextlib
import hashlib
import os
import pwd
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from runner import config
from runner.errors import ConfigError, RunnerError
from runner.host import accelerators, epochs, image_versions
from sandbox import policy
from sandbox.container import SandboxError
from sandbox.helper import Helper, Rules

FOLDER: Final = "judge"


@dataclass(frozen=True)
class JudgeUser:
    """User that is not root and no container's."""

    uid: int
    gid: int

    @property
    def identity(self) -> dict[str, Any]:
        """User and groups for subprocess.Popen; without supplementary groups, such as Docker's."""
        return {"user": self.uid, "group": self.gid, "extra_groups": ()}

    def environment(self, settings: config.JudgeSettings) -> dict[str, str]:
        """Return variables of the judge, and make its folder. Raises ConfigError."""
        state = settings.runner_state
        folder = state / FOLDER
        versions, ceilings = folder / image_versions.FOLDER, folder / epochs.FOLDER
        try:
            versions.mkdir(parents=True, exist_ok=True)
            os.chown(versions, self.uid, self.gid)
            versions.chmod(0o700)
            for one in (state, folder):  # to go through; spool and name keep their own modes
                one.chmod(0o711)
            if not ceilings.is_symlink():
                ceilings.symlink_to(f"../{epochs.FOLDER}")
        except OSError as error:
            raise ConfigError(f"RUNNER_STATE: cannot make {folder} for the judge: {error.strerror}") from None
        return {"RUNNER_STATE": str(folder), "HOME": str(folder)}


def judge_user(settings: config.JudgeSettings) -> JudgeUser | None:
    """Return the user that the settings name for the judge, None if it is to run as its daemon does. Raises
    ConfigError."""
    name = settings.runner_judge_user
    if not name and settings.runner_helper is None:
        return None
    if not name or settings.runner_helper is None:
        raise ConfigError("RUNNER_JUDGE_USER and RUNNER_HELPER go together; set both or neither")
    try:
        known = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
        uid, gid = known.pw_uid, known.pw_gid
    except (KeyError, OverflowError):
        if not name.isdecimal():
            raise ConfigError(f"RUNNER_JUDGE_USER: no user {name!r} on this host; make it with useradd") from None
        uid = gid = int(name)
    if not 0 < uid < 2**31 or gid == 0 or uid in accelerators.UIDS:
        raise ConfigError(f"RUNNER_JUDGE_USER: {name!r} is root, no user's number or a container's; name another user")
    if os.geteuid() != 0:
        raise ConfigError(f"RUNNER_JUDGE_USER: {name!r}: only root can act for another user; start this as root")
    return JudgeUser(uid, gid)


def rules_of(settings: config.JudgeSettings, user: JudgeUser) -> Rules:
    """Return all that this host's helper makes. Raises ConfigError."""
    make = accelerators.make_of(settings.runner_hardware)
    gpu = make.equipment(settings)
    several = range(2, accelerators.most_ranks(settings.runner_hardware, settings.runner_gpus) + 1)

    def role(of: Callable[..., policy.Policy], ranks: int = 1) -> Callable[[str, str], policy.Policy]:
        equipment = gpu if ranks == 1 else make.equipment(settings, ranks)
        return lambda image, cpus: of(image, accelerators.draw_uid(), cpus, equipment)

    def probe(image: str, cpus: str) -> policy.Policy:
        return image_versions.probe_policy(settings.model_copy(update={"sandbox_image": image}), gpu, cpus)

    def digests(client: Any) -> list[str]:
        try:
            return image_versions.chosen_image(client, settings)
        except ConfigError as err:
            raise SandboxError(str(err)) from None

    return Rules(
        uid=user.uid,
        owner="helper" + hashlib.sha256(str(settings.runner_helper).encode()).hexdigest()[:16],
        policies={
            "tenant": role(policy.tenant),
            "oracle": role(policy.oracle),
            **{f"tenant-{ranks}": role(policy.of_ranks(ranks, policy.tenant), ranks) for ranks in several},
            **{f"oracle-{ranks}": role(policy.of_ranks(ranks, policy.oracle), ranks) for ranks in several},
            "profiler": role(policy.profiler),
            "compiler": role(policy.compiler),
            "builder": role(policy.builder),
            "counters": role(partial(policy.counters, settings.runner_counters)),
            "probe": probe,
        },
        digests=digests,
    )


def serve(settings: config.JudgeSettings) -> None:
    """Serve until a signal; then every container is gone. Raises RunnerError."""
    user = judge_user(settings)
    if user is None or settings.runner_helper is None:
        raise ConfigError("RUNNER_HELPER: names no socket; set it and RUNNER_JUDGE_USER, for the runner, too")
    device = accelerators.device_of(settings)
    with accelerators.DeviceLock(device, settings.runner_locks, "helper"):  # the device's only helper
        try:
            with contextlib.closing(Helper(settings.runner_helper, rules_of(settings, user))) as helper:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, lambda *_: sys.exit(0))
                helper.serve()
        except (SandboxError, OSError) as err:
            raise RunnerError(f"RUNNER_HELPER: {settings.runner_helper}: {err}") from None
