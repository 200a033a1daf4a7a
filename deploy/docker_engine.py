"""The Docker engine: find it, else install and start it where we may. Standard library only.

Safe to run again. Where it may not act, one sentence names the remedy.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from deploy.console import SetupError, captured, is_soon, note
from deploy.parties import is_root

PACKAGES: Final = ("docker.io", "iptables")  # with their recommended packages, cgroupfs-mount among them
START_TIMEOUT_S: Final = 60.0
LOCK_S: Final = 300  # wait for another apt
LOG: Final = Path("/var/log/photofinish-dockerd.log")
SYSTEM_FOLDERS: Final = ":/usr/local/sbin:/usr/sbin:/sbin"  # of dockerd; Debian leaves them out of a user's PATH


def ensure_docker() -> None:
    """Return when the engine answers us. Raises SetupError with the remedy otherwise."""
    if (problem := engine_problem()) == "":
        note("the Docker engine answers")
        return
    if os.environ.get("DOCKER_HOST"):
        raise SetupError(f"DOCKER_HOST is set, but the engine there does not answer: {problem}")
    hint = ""
    if not _is_closed(problem):
        if shutil.which("dockerd", path=os.environ.get("PATH", "") + SYSTEM_FOLDERS) is None:
            install_packages(PACKAGES)
        hint = _start_engine()
        is_soon(lambda: (now := engine_problem()) == "" or _is_closed(now), START_TIMEOUT_S)
        problem = engine_problem()
    if _is_closed(problem):  # also right after the installation: the group has no members yet
        raise SetupError("the Docker engine runs, but not for you: sudo usermod -aG docker $USER, then sign in again")
    if problem:
        raise SetupError(f"the Docker engine does not answer after {START_TIMEOUT_S:.0f} s: {problem}; {hint}")
    note("the Docker engine was started")


def _is_closed(problem: str) -> bool:
    """Return whether an engine runs that this user may not use."""
    return "permission denied" in problem.lower()


def engine_problem() -> str:
    """Return the reason why the engine cannot be used, in its client's words; "" if it can."""
    if shutil.which("docker") is None:
        return "the docker command is not installed"
    done = captured(["docker", "version", "--format", "{{.Server.Version}}"])
    return "" if done.returncode == 0 else done.stderr.strip() or "no answer"


def install_packages(names: list[str] | tuple[str, ...]) -> None:
    """Run apt-get install on Debian or Ubuntu if we may. Raises SetupError that names the packages otherwise."""
    prefix = privilege_prefix()
    if shutil.which("apt-get") is None or prefix is None:
        wanted = " ".join(names)
        raise SetupError(f"please install {wanted} (as root: apt-get install {wanted}), then run again")
    note(f"apt-get install {' '.join(names)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    update = captured([*prefix, "apt-get", "update", "-q"], env=environment)
    patient = ["-o", f"DPkg::Lock::Timeout={LOCK_S}"]
    done = captured([*prefix, "apt-get", *patient, "install", "-q", "-y", *names], env=environment)
    if done.returncode:
        hint = "" if update.returncode == 0 else " (apt-get update failed as well: is there a network?)"
        raise SetupError(f"apt-get install {' '.join(names)} failed{hint}: {done.stderr.strip()[-800:]}")


def privilege_prefix() -> list[str] | None:
    """Return the prefix of a command that runs it as root: empty, `sudo -n`, or None when we may not."""
    if is_root():
        return []
    sudo = ["sudo", "-n"]
    return sudo if shutil.which("sudo") and captured([*sudo, "true"]).returncode == 0 else None


def _start_engine() -> str:
    """Start the engine; return a phrase that names the place of its log."""
    prefix = privilege_prefix()
    if prefix is None:
        raise SetupError("the Docker engine does not run and we may not start it: sudo systemctl start docker")
    if Path("/run/systemd/system").is_dir():
        captured([*prefix, "systemctl", "start", "docker"])
        return "see `journalctl -u docker`"
    mount = shutil.which("cgroupfs-mount")
    if mount and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        captured([*prefix, mount])
    log = LOG if is_root() else Path("/dev/null")
    with log.open("ab") as output:
        command, nothing = [*prefix, "dockerd"], subprocess.DEVNULL
        subprocess.Popen(command, stdin=nothing, stdout=output, stderr=output, start_new_session=True, cwd="/")
    return f"see {LOG}" if is_root() else "`sudo dockerd` shows why"
