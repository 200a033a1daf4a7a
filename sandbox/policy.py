"""Limits of a container: a frozen value, and a pure function from it to Docker's options.

Every limit of the sandbox stands here, once. For each option one test pins its contents
(tests/sandbox/test_policy.py); tests/attacks shows that the limits hold.

Pure.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

MIB: Final = 1 << 20

SOCKET_FOLDER: Final = "/run/judge"  # the only part of the host that a container sees, but for a GPU's stack
HARNESS: Final = "/opt/photofinish/harness.py"
PROFILER: Final = "/opt/photofinish/profiler.py"
COMPILER: Final = "/opt/photofinish/inductor.py"
BUILDER: Final = "/opt/photofinish/builder.py"
ORACLE: Final = "/opt/photofinish/oracle.py"
INTERPRETER: Final = "/opt/venv/bin/python"
PYTHON: Final = (INTERPRETER, "-I", "-u")  # isolated; unbuffered, since containers end by a kill
PERFMON: Final = "perfmon"  # the capability that lets a container read counters
LABEL: Final = "photofinish.runner"  # its value is the owner, so that an owner reaps only its own containers

CORE_BYTES: Final = 1  # the kernel's value for no core dump, not even to a helper; with 0 the host's helper starts
ENVIRONMENT: Final = {
    "HOME": "/tmp",  # noqa: S108  inside the container
    "LANG": "C.UTF-8",
    "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
    "USER": "sandbox",  # torch's compiler asks for the user's name, which no /etc/passwd has
}
SECCOMP_PROFILE: Final = Path(__file__).with_name("seccomp.json").read_text()
# Nsight Compute makes named pipes and locks a file. The call succeeds and locks nothing: a container's locks could fill
# the host's memory.
_PIPES: Final = {"index": 2, "value": 0o170000, "valueTwo": 0o010000, "op": "SCMP_CMP_MASKED_EQ"}  # of the mode
# Of ranks: NCCL and gloo meet over loopback, ask which interfaces there are (netlink), and pass descriptors on.
RANKS_RULES: Final = (
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}]},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 16, "op": "SCMP_CMP_EQ"}]},
    {"names": ["sendmsg"], "action": "SCMP_ACT_ALLOW"},
)
COUNTERS_RULES: Final = (
    {"names": ["mknodat"], "action": "SCMP_ACT_ALLOW", "args": [_PIPES]},
    *(
        {
            "names": ["fcntl"],
            "action": "SCMP_ACT_ERRNO",
            "errnoRet": 0,
            "args": [{"index": 1, "value": value, "op": "SCMP_CMP_EQ"}],
        }
        for value in (6, 7)  # F_SETLK, F_SETLKW
    ),
)

TOOLKIT, CDI, HOST = "toolkit", "cdi", "host"  # source of the vendor's stack of a GPU's containers: Gpu


@dataclass(frozen=True)
class Gpu:
    """A GPU in a container, and the source of its vendor's stack.

    Either the image has the stack but for the driver. Docker hands over the driver as the vendor's container toolkit
    directs, by the toolkit's hook (`toolkit`) or by a specification that it wrote (`cdi`, Container Device Interface;
    Engine 25 and later). Or the `host`'s own folders are mounted read-only into an image of empty mount points.
    """

    stack: str
    device_ids: tuple[str, ...]  # as the toolkit knows them
    cdi_kind: str
    nodes: tuple[str, ...]  # files in /dev, for the host's stack
    programs: str  # folder of the vendor's compiler
    interpreter: str = INTERPRETER  # a Python with torch, in the image or the mounted stack
    library_path: str = ""  # LD_LIBRARY_PATH
    host_folders: tuple[str, ...] = ("/usr", "/opt", "/etc/ld.so.cache", "/etc/alternatives")


@dataclass(frozen=True)
class Policy:
    """Limits of one container. `cpus` is a Docker cpuset like "1" or "1-3"."""

    image: str
    command: tuple[str, ...]
    uid: int
    cpus: str
    memory_bytes: int = 2048 * MIB  # swap is off: this is the whole memory, tmpfs included
    tmpfs_bytes: int = 512 * MIB  # /tmp, executable: extensions are compiled and loaded there
    shm_bytes: int = 16 * MIB  # /dev/shm
    pids: int = 128
    open_files: int = 1024
    file_bytes: int = 512 * MIB
    gpu: Gpu | None = None
    kind: str = "tenant"  # all that a helper lets the judge choose, beside the cores
    capability: str = ""  # the only one; Docker gives it to root alone
    seccomp: str = SECCOMP_PROFILE

    def __post_init__(self) -> None:
        if self.uid < 1000 and not (self.capability and self.uid == 0):
            raise ValueError(f"uid {self.uid}: a container gets a uid of its own, never a system one")
        if self.tmpfs_bytes >= self.memory_bytes:
            raise ValueError("tmpfs_bytes must be below memory_bytes: the tmpfs is charged to the container")


def tenant(image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
    """Return the policy for the container of a submission, or of the baseline that it is compared with."""
    return _with_gpu(Policy(image=image, command=(*PYTHON, HARNESS), uid=uid, cpus=cpus), gpu)


def of_ranks(ranks: int, role: Callable[..., Policy]) -> Callable[..., Policy]:
    """Return the role with the memory and processes of so many ranks, and shared memory for their messages."""

    def made(image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
        one = role(image, uid, cpus, gpu)
        kind, shm_bytes = f"{one.kind}-{ranks}", ranks * RANK_SHM_BYTES
        seccomp = json.loads(one.seccomp)
        seccomp["syscalls"] += RANKS_RULES
        return replace(
            one,
            memory_bytes=ranks * one.memory_bytes + shm_bytes,
            pids=ranks * one.pids,
            shm_bytes=shm_bytes,
            kind=kind,
            seccomp=json.dumps(seccomp),
        )

    return made if ranks > 1 else role


def oracle(image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
    """Return the policy for the container of a problem's own code."""
    command = (*PYTHON, ORACLE)
    made = Policy(image, command, uid, cpus, memory_bytes=4096 * MIB, kind="oracle")
    return _with_gpu(made, gpu)


def profiler(image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
    """Return the policy for the container of a submission under the profiler of PyTorch."""
    made = Policy(image, (*PYTHON, PROFILER), uid, cpus, memory_bytes=4096 * MIB, kind="profiler")
    return _with_gpu(made, gpu)


def compiler(image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
    """Return the policy for the container of a problem's Model under torch.compile."""
    made = Policy(image, (*PYTHON, COMPILER), uid, cpus, memory_bytes=4096 * MIB, kind="compiler")
    return _with_gpu(made, gpu)


def builder(image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
    """Return the policy for the container that builds a submission ahead: a tenant's with less memory and no device."""
    made = _with_gpu(Policy(image, (*PYTHON, BUILDER), uid, cpus, kind="builder"), gpu)
    made = replace(made, memory_bytes=min(made.memory_bytes, BUILDER_MEMORY_BYTES))
    if made.gpu is None or made.gpu.stack != HOST:  # the image has the stack
        return replace(made, gpu=None)
    return replace(made, gpu=replace(made.gpu, nodes=()))


def counters(permission: str, image: str, uid: int, cpus: str, gpu: Gpu | None = None) -> Policy:
    """Return the policy for the container of a submission under Nsight Compute.

    `permission`: RUNNER_COUNTERS. With PERFMON, root in this container has that capability, and no other.
    """
    seccomp = json.loads(SECCOMP_PROFILE)
    seccomp["syscalls"] += COUNTERS_RULES
    made = replace(profiler(image, uid, cpus, gpu), kind="counters", seccomp=json.dumps(seccomp))
    return replace(made, uid=0, capability=permission.upper()) if permission == PERFMON else made


RANK_SHM_BYTES: Final = 256 * MIB  # of NCCL and gloo
GPU_MEMORY_BYTES: Final = 16 << 30  # of the host; a context on the device alone needs some
BUILDER_MEMORY_BYTES: Final = 8 << 30  # beside a job, up to five times (runner/daemon/ahead.py)
GPU_TMPFS_BYTES: Final = 2 << 30
GPU_HARNESS_FOLDER: Final = "/photofinish"  # in the image of mount points; /opt is the host's there


def _with_gpu(policy: Policy, gpu: Gpu | None) -> Policy:
    """Return the same policy with the GPU, if there is one, and the memory that its stack needs on the host."""
    if gpu is None:
        return policy
    program = f"{harness_folder(gpu)}/{Path(policy.command[-1]).name}"
    return replace(
        policy,
        gpu=gpu,
        command=(gpu.interpreter, *PYTHON[1:], program),
        memory_bytes=GPU_MEMORY_BYTES,
        tmpfs_bytes=GPU_TMPFS_BYTES,
        pids=256,
    )


def harness_folder(gpu: Gpu | None) -> str:
    """Return the folder of the harness in the image that goes with this GPU."""
    return GPU_HARNESS_FOLDER if gpu is not None and gpu.stack == HOST else str(Path(HARNESS).parent)


def container_options(policy: Policy, *, socket_folder: Path, owner: str) -> dict[str, Any]:
    """Return keyword arguments for the Docker SDK's `containers.create`.

    The environment is exactly PATH, HOME, LANG, USER and the image's own variables. There is no log driver, since
    output is read by attach.
    """
    options: dict[str, Any] = {
        "image": policy.image,
        "command": list(policy.command),
        "detach": True,
        "stdin_open": False,
        "tty": False,
        "hostname": "sandbox",
        "user": f"{policy.uid}:{policy.uid}",
        "working_dir": "/tmp",  # noqa: S108  inside the container
        "environment": dict(ENVIRONMENT),
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": {"/tmp": f"rw,exec,nosuid,nodev,size={policy.tmpfs_bytes},mode=1777"},  # noqa: S108
        "shm_size": policy.shm_bytes,
        "volumes": {str(socket_folder): {"bind": SOCKET_FOLDER, "mode": "ro"}},
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true", f"seccomp={policy.seccomp}"],
        "privileged": False,
        "cpuset_cpus": policy.cpus,
        "mem_limit": policy.memory_bytes,
        "memswap_limit": policy.memory_bytes,
        "pids_limit": policy.pids,
        "ulimits": [
            {"name": "nofile", "soft": policy.open_files, "hard": policy.open_files},
            {"name": "core", "soft": CORE_BYTES, "hard": CORE_BYTES},
            {"name": "fsize", "soft": policy.file_bytes, "hard": policy.file_bytes},
        ],
        "log_config": {"type": "none"},
        "labels": {LABEL: owner},
        "auto_remove": False,
    }
    if policy.capability:
        options["cap_add"] = [policy.capability]
    if policy.gpu is None:
        return options
    gpu = policy.gpu
    options["environment"]["PATH"] = f"{Path(gpu.interpreter).parent}:{gpu.programs}:/usr/local/bin:/usr/bin:/bin"
    if gpu.library_path:
        options["environment"]["LD_LIBRARY_PATH"] = gpu.library_path
    if gpu.stack == TOOLKIT:
        options["device_requests"] = [{"device_ids": [*gpu.device_ids], "capabilities": [["gpu"]]}]
    elif gpu.stack == CDI:
        options["device_requests"] = [
            {"driver": "cdi", "device_ids": [f"{gpu.cdi_kind}={one}" for one in gpu.device_ids]}
        ]
    else:
        options["devices"] = [f"{name}:{name}:rw" for name in gpu.nodes]
        options["volumes"] |= {folder: {"bind": folder, "mode": "ro"} for folder in gpu.host_folders}
    return options
