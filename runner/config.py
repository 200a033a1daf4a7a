"""The runner's settings, read once from the environment. No other module of the runner reads os.environ.

`DaemonSettings` holds the site's token and the broker's account. `JudgeSettings` is all that the judge process may
know, and `judge_environment` is its whole environment; neither contains a secret. No secret appears in a log or an
error.
"""

import json
import os
import sys
import tempfile
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from runner.broker import IN_THE_CLEAR, check_broker, scheme_of, shown
from runner.errors import ConfigError
from runner.wire import DIGEST

# Variables that a judge needs to find its programs, Docker and its accelerator. All other variables stay behind.
PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "LOG_LEVEL"),
    *("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
    *("DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "DOCKER_CONTEXT"),
    *(
        "SANDBOX_IMAGE",
        "SANDBOX_IMAGE_DIGEST",
        "RUNNER_HARDWARE",
        "RUNNER_HELPER",
        "RUNNER_STATE",
        "RUNNER_PREPARED_S",
        "RUNNER_LEAVE_OUT",
        "RUNNER_COUNTERS",
    ),
    *("RUNNER_GPU", "RUNNER_GPUS", "RUNNER_GPU_STACK", "RUNNER_GPU_INTERPRETER", "RUNNER_GPU_LIBRARY_PATH"),
)


SAID_CHARS: Final = 80


def _site_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected an address such as https://photofinish.example")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("expected an address without account, query or fragment")
    return value.rstrip("/")


def _proxy(value: SecretStr) -> SecretStr:
    parts = urlsplit(value.get_secret_value())
    if value.get_secret_value() and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError("expected an address such as http://proxy.example:3128")
    return value


def _command(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("expected a JSON list of a program and its arguments") from None


def _folder(value: object) -> object:
    if value == "":
        raise ValueError("expected a folder")
    return value


Folder = Annotated[Path, BeforeValidator(_folder)]
Command = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_command), Field(min_length=1)]
Hardware = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, populate_by_name=True)


class JudgeSettings(_Settings):
    """Settings that the judge process may know. A field without a description is not for operators."""

    sandbox_image: str = Field(default="photofinish-sandbox:latest", description="image of the containers")
    sandbox_image_digest: str = Field(
        default="",
        pattern=rf"^({DIGEST})?$",
        description="`sha256:…`: the only image that may be used, by id or by digest in a registry; without it the "
        "image of that name, whatever it is",
    )
    runner_hardware: Hardware = Field(default="cpu", description="hardware that it judges on")
    runner_state: Folder = Field(
        default_factory=lambda: Path.home() / ".local" / "state" / "photofinish-runner",
        description="folder of the spool, refused reports, the name of its containers, whether the device is fit; "
        "without it `~/.local/state/photofinish-runner`",
    )
    runner_locks: Folder = Field(
        default_factory=lambda: Path("/run/lock" if os.access("/run/lock", os.W_OK) else tempfile.gettempdir()),
        description="folder of the device locks, one for all runners of a host: one runner holds a device; without it "
        "`/run/lock` or the temporary folder",
    )
    runner_judge_user: str = Field(
        default="",
        max_length=64,
        description="name or number of the user that the judge runs as, instead of the daemon's own: "
        "[judge-without-root](judge-without-root.md)",
    )
    runner_helper: Annotated[Path | None, BeforeValidator(lambda value: value or None)] = Field(
        default=None, description="socket of `runner helper`, through which that judge has its containers"
    )
    runner_gpu: int = Field(
        default=0,
        ge=0,
        le=255,
        description="`nvidia-smi`'s number of the GPU: one runner each, with its own cores and its own `RUNNER_STATE`, "
        "as `runner fleet` gives them",
    )
    runner_gpus: int = Field(
        default=1,
        ge=1,
        le=8,
        description="GPUs from `RUNNER_GPU` on that this runner judges on together: a problem for several GPUs "
        "(`n_gpus`) needs as many; on `cpu` any number is judged",
    )
    runner_gpu_stack: str = Field(
        default="toolkit",
        pattern=r"^(toolkit|cdi|host)$",
        description="source of CUDA in a GPU's containers: [gpu-hosts](gpu-hosts.md#2-where-containers-have-cuda-from)",
    )
    runner_gpu_interpreter: str = Field(default="/opt/venv/bin/python", description="the Python with torch there")
    runner_gpu_library_path: str = Field(default="", description="its `LD_LIBRARY_PATH`")
    runner_counters: str = Field(
        default="",
        pattern=r"^(open|perfmon)?$",
        description="whether profiles read the GPU's performance counters: [gpu-hosts](gpu-hosts.md#profiles); "
        "without it they do not",
    )
    runner_host: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_-]{0,64}$",
        description="name under which the site's page groups the runners of this host; without it a hash of its "
        "`/etc/machine-id`",
    )
    runner_fleet: str = Field(
        default="",
        pattern=r"^(all|\d{1,3}(,\d{1,3})*)?$",
        description="devices of `runner fleet`: `all`, or numbers of GPUs such as `0,1,3`; on `cpu` numbers of lanes: "
        "[gpu-hosts](gpu-hosts.md#several-gpus)",
    )
    runner_fleet_tokens: Folder = Field(
        default=Path("/etc/photofinish/fleet"),
        description="folder of a fleet's tokens: `0.env` is the file that `runner enrol` wrote for GPU 0",
    )
    runner_fleet_cores: int = Field(
        default=0,
        ge=0,
        le=4_096,
        description="whole cores of each runner of a fleet; 0: the same share for all, as large as it can be. The "
        "number is part of the timing epoch",
    )
    runner_fleet_spare: int = Field(
        default=2,
        ge=0,
        le=4_096,
        description="whole cores of each NUMA node that a fleet leaves to Docker and the system",
    )
    # Steps of a call, for experiments: runner/judge/data/call.py.
    runner_leave_out: str = Field(default="", max_length=100)
    runner_prepared_s: float = Field(
        default=3_600.0, ge=1, description="containers that waited longer for a job are replaced"
    )
    runner_id: str = Field(default="once", pattern=r"^[a-z0-9]{1,40}$")  # label of this judge's containers
    log_level: str = Field(
        default="INFO", pattern=r"^(DEBUG|INFO|WARNING|ERROR)$", description="least level of a line in the log"
    )


def show_only(variable: str, device: str) -> None:
    """Let a vendor's driver show this process only this device. `variable`: the driver's own for that."""
    os.environ[variable] = device


class SiteSettings(JudgeSettings):
    """The way to the site, for a host that has no token yet."""

    photofinish_url: Annotated[str, AfterValidator(_site_url)] = Field(description="the site: https, or this machine")
    runner_insecure: bool = Field(
        default=False,
        description="1: a token over plain http, or the broker's password over `redis://` or `amqp://`, to another "
        "machine, inside a private network",
    )
    runner_ca_file: Path | None = Field(
        default=None,
        description="certificates (PEM) to trust instead of the usual ones, for a site with a private authority",
    )
    runner_proxy: Annotated[SecretStr, AfterValidator(_proxy)] = Field(
        default=SecretStr(""),
        description="`http://…` or `https://…`: the proxy to the site; proxies in the environment do not count",
    )


class DaemonSettings(SiteSettings):
    """Settings of the daemon; each field is the environment variable of the same name in capitals."""

    runner_token: SecretStr = Field(min_length=8, description="`pfr_…`, from `runner enrol` or `manage create_runner`")
    broker_url: SecretStr = Field(
        default=SecretStr(""),
        description="`redis://`, `rediss://`, `unix://` or `amqps://` of the site's broker; the account needs the "
        "queues `gpu.*` only. Without it, the site holds a call back until there is work",
    )
    broker_ca_file: str = Field(
        default="",
        description="PEM file of a private authority for `rediss://` or `amqps://`, trusted beside the usual ones",
    )
    runner_drain_s: float = Field(
        default=40.0,
        ge=0,
        le=86_400,
        description="from SIGTERM until an unfinished attempt is handed back; below the service manager's own limit",
    )
    runner_poll_s: float = Field(
        default=60.0, ge=0.1, le=3_600, description="claims this often even without a doorbell"
    )
    runner_standby: int = Field(
        default=2,
        ge=0,
        le=4,
        description="judges for tests that wait on `cpu`, each with two containers and some 400 MB of memory, beside "
        "the judge for timed work; on a GPU, containers that import torch ahead, while the only judge stays for "
        "several jobs that never rank; 0: each job has a judge of its own",
    )
    runner_build_cores: int = Field(
        default=6,
        ge=0,
        le=64,
        description="on a GPU, cores on which extensions and Triton kernels of the next submissions are built while "
        "another is judged, as far as there are cores beside the judge's and a tenant's: a build for every two cores, "
        "at most four, each with up to 8 GiB of memory; 0: none is built. On four of them, tenants' containers "
        "import torch ahead",
    )
    runner_judge_limit_s: float = Field(
        default=1_800.0,
        ge=1,
        le=86_400,
        description="wall-clock limit of a run; a confirmation or admission test has several",
    )
    runner_judge_grace_s: float = Field(default=10.0, ge=0.1, le=60, description="from SIGTERM to SIGKILL")
    runner_spool_bytes: int = Field(default=256_000_000, ge=17_000_000, description="most that may wait on disk")
    runner_judge_command: Command = (sys.executable, "-m", "runner.job.judge_main")  # for tests
    runner_build_command: Command = (sys.executable, "-m", "runner.job.build")  # for tests


SettingsT = TypeVar("SettingsT", bound=_Settings)


def _load(kind: type[SettingsT], **given: str) -> SettingsT:
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = "_".join(str(part) for part in first["loc"][:1]).upper() or "environment"
        found = [value for key, value in os.environ.items() if key.upper() == name]
        found = [given[name.lower()]] if name.lower() in given else found
        may_be_shown = name.lower() in JudgeSettings.model_fields and len(found) == 1  # otherwise it may be a secret
        said = f" {found[0][:SAID_CHARS]!r}:" if may_be_shown else ""
        raise ConfigError(f"{name}:{said} {first['msg']}; set it in this runner's environment") from None


def load(**given: str) -> DaemonSettings:
    """Return the daemon's settings; `given` goes before the environment. Raises ConfigError with the variable's name,
    and with its value only if a judge may also know it."""
    settings = _load(DaemonSettings, **given)
    _check_private(settings)
    if url := settings.broker_url.get_secret_value():
        try:
            check_broker(url, settings.broker_ca_file)
        except ValueError as error:
            raise ConfigError(f"{error}; a runner without BROKER_URL waits for work over HTTP") from None
        in_the_clear = scheme_of(url) in IN_THE_CLEAR and not _is_loopback(urlsplit(url).hostname or "")
        if in_the_clear and not settings.runner_insecure:
            raise ConfigError(
                f"BROKER_URL: {shown(url)!r}: the password would travel in the clear; use rediss:// or amqps://, a "
                "tunnel that ends on 127.0.0.1, or RUNNER_INSECURE=1 where the network between runner and broker is "
                "yours alone"
            )
    return settings


def load_site(url: str) -> SiteSettings:
    """Return the way to the site at this address, without reading any token. Raises ConfigError."""
    settings = _load(SiteSettings, photofinish_url=url)
    _check_private(settings)
    return settings


def _check_private(settings: SiteSettings) -> None:
    if not (settings.runner_insecure or is_private(settings.photofinish_url)):
        raise ConfigError(
            "PHOTOFINISH_URL: the token would travel in the clear over http; use https, or RUNNER_INSECURE=1 where the "
            "network between runner and site is yours alone"
        )


def load_judge() -> JudgeSettings:
    """Return the settings of a judge process, without reading any token."""
    return _load(JudgeSettings)


def is_private(url: str) -> bool:
    """Return whether data sent to `url` can be read on no wire: https, or this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def daemon_environment(**changes: str) -> dict[str, str]:
    """Return the environment of a daemon of a fleet: this process's own, with changes."""
    return {**os.environ, **changes}


def judge_environment(runner_id: str) -> dict[str, str]:
    """Return the whole environment of the judge process: no token, no broker, only the variables named above."""
    known = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**known, "RUNNER_ID": runner_id}
