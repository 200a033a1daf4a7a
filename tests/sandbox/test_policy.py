"""Each option of a container on its own: the Docker settings that a policy turns into."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import policy


@pytest.fixture
def options() -> dict[str, Any]:
    made = policy.tenant("image:1", uid=234_567, cpus="1")
    return policy.container_options(made, socket_folder=Path("/somewhere/door"), owner="rex")


def test_it_has_no_network(options: dict[str, Any]) -> None:
    assert options["network_mode"] == "none"


def test_its_root_is_read_only(options: dict[str, Any]) -> None:
    assert options["read_only"] is True


def test_its_tmp_is_executable_and_limited_in_size(options: dict[str, Any]) -> None:
    assert list(options["tmpfs"]) == ["/tmp"]
    words = options["tmpfs"]["/tmp"].split(",")
    assert "exec" in words
    assert "noexec" not in words
    assert f"size={512 << 20}" in words


def test_it_has_no_capability(options: dict[str, Any]) -> None:
    assert options["cap_drop"] == ["ALL"]
    assert "cap_add" not in options
    assert options["privileged"] is False


def test_it_cannot_gain_privileges(options: dict[str, Any]) -> None:
    assert "no-new-privileges:true" in options["security_opt"]


def test_its_system_calls_are_our_list(options: dict[str, Any]) -> None:
    (text,) = [item.removeprefix("seccomp=") for item in options["security_opt"] if item.startswith("seccomp=")]
    profile = json.loads(text)
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    plainly = {name for rule in profile["syscalls"] if "args" not in rule for name in rule["names"]}
    for name in ("ptrace", "mount", "unshare", "setns", "bpf", "perf_event_open", "keyctl", "userfaultfd", "socket",
                 "io_uring_setup", "process_vm_readv", "kexec_load", "open_by_handle_at", "pidfd_getfd", "splice",
                 "readahead", "madvise", "fcntl", "prctl", "setrlimit", "prlimit64"):  # fmt: skip
        assert name not in plainly


def test_its_sockets_are_unix_sockets(options: dict[str, Any]) -> None:
    profile = json.loads(policy.SECCOMP_PROFILE)
    (rule,) = [rule for rule in profile["syscalls"] if "socket" in rule["names"]]
    assert rule["args"] == [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]


def test_its_processes_are_counted(options: dict[str, Any]) -> None:
    assert options["pids_limit"] == 128


def test_its_memory_is_limited_and_swap_is_off(options: dict[str, Any]) -> None:
    assert options["mem_limit"] == options["memswap_limit"] == 2048 << 20


def test_it_runs_on_the_cores_it_is_given(options: dict[str, Any]) -> None:
    assert options["cpuset_cpus"] == "1"


def test_it_has_a_uid_of_its_own(options: dict[str, Any]) -> None:
    assert options["user"] == "234567:234567"


def test_a_system_uid_is_refused() -> None:
    with pytest.raises(ValueError, match="uid 0"):
        policy.tenant("image:1", uid=0, cpus="1")


def test_its_environment_is_path_home_language_and_user(options: dict[str, Any]) -> None:
    assert set(options["environment"]) == {"PATH", "HOME", "LANG", "USER"}


def test_its_shared_memory_is_private(options: dict[str, Any]) -> None:
    assert options["ipc_mode"] == "private"


def test_nothing_of_the_host_is_mounted_but_the_socket_folder(options: dict[str, Any]) -> None:
    assert options["volumes"] == {"/somewhere/door": {"bind": "/run/judge", "mode": "ro"}}
    assert "devices" not in options


def test_its_output_goes_to_no_log(options: dict[str, Any]) -> None:
    assert options["log_config"] == {"type": "none"}


def test_it_leaves_no_core_and_opens_few_files(options: dict[str, Any]) -> None:
    """The core limit is one byte: with 0 the kernel still pipes a crash into the host's helper, if the host has one."""
    for which in ("soft", "hard"):
        limits = {limit["name"]: limit[which] for limit in options["ulimits"]}
        assert limits == {"nofile": 1024, "core": 1, "fsize": 512 << 20}


def allowed_values(name: str) -> set[int]:
    rules = [rule for rule in json.loads(policy.SECCOMP_PROFILE)["syscalls"] if name in rule["names"]]
    assert all(len(rule["args"]) == 1 and rule["args"][0]["op"] == "SCMP_CMP_EQ" for rule in rules)
    return {rule["args"][0]["value"] for rule in rules}


@pytest.mark.parametrize("name", ["setrlimit", "prlimit64"])
def test_its_core_limit_cannot_be_changed(name: str) -> None:
    assert allowed_values(name) == set(range(16)) - {4}


def test_it_gives_no_advice_that_others_would_work_on() -> None:
    """WILLNEED, REMOVE, MERGEABLE, COLD, PAGEOUT, COLLAPSE; of files WILLNEED and DONTNEED."""
    assert not allowed_values("madvise") & {3, 9, 12, 13, 20, 21, 25, 100, 101}
    assert not allowed_values("fadvise64") & {3, 4}


def test_it_takes_no_record_locks_or_leases() -> None:
    """SETLK, SETLKW, SETOWN, SETSIG, OFD_SETLK, OFD_SETLKW, SETLEASE, NOTIFY: the kernel charges locks to no control
    group."""
    assert not allowed_values("fcntl") & {6, 7, 8, 10, 37, 38, 1024, 1026}


def test_it_sets_no_option_that_reaches_beyond_itself() -> None:
    """PR_SCHED_CORE, PR_SET_MEMORY_MERGE, PR_SET_SECCOMP, PR_SET_MM, PR_SET_SPECULATION_CTRL."""
    assert not allowed_values("prctl") & {62, 67, 22, 35, 53}


def test_it_carries_its_owner_as_a_label(options: dict[str, Any]) -> None:
    assert options["labels"] == {"photofinish.runner": "rex"}


GPU = policy.Gpu(
    policy.TOOLKIT,
    device_ids=("GPU-aa",),
    cdi_kind="fake.example/gpu",
    nodes=("/dev/fake0", "/dev/fakectl"),
    programs="/opt/fake/bin",
    interpreter="/opt/stack/bin/python3",
)


@pytest.fixture
def gpu_options() -> dict[str, Any]:
    gpu = replace(GPU, stack=policy.HOST, library_path="/usr/local/nvidia/lib64")
    made = policy.tenant("image:1", uid=234_567, cpus="1", gpu=gpu)
    return policy.container_options(made, socket_folder=Path("/somewhere/door"), owner="rex")


def test_a_gpu_comes_with_its_device_nodes_alone(gpu_options: dict[str, Any]) -> None:
    assert gpu_options["devices"] == ["/dev/fake0:/dev/fake0:rw", "/dev/fakectl:/dev/fakectl:rw"]


def test_the_hosts_stack_is_mounted_read_only(gpu_options: dict[str, Any]) -> None:
    modes = {folder: mount["mode"] for folder, mount in gpu_options["volumes"].items()}
    assert set(modes.values()) == {"ro"}
    assert {"/usr", "/opt"} < set(modes)
    assert not {"/root", "/home", "/var", "/run", "/"} & set(modes)


@pytest.mark.parametrize(
    ("stack", "request_"),
    [
        (policy.TOOLKIT, {"device_ids": ["GPU-aa"], "capabilities": [["gpu"]]}),
        (policy.CDI, {"driver": "cdi", "device_ids": ["fake.example/gpu=GPU-aa"]}),
    ],
)
def test_with_the_toolkit_nothing_of_the_host_is_mounted(stack: str, request_: dict[str, Any]) -> None:
    made = policy.tenant("image:1", uid=234_567, cpus="1", gpu=replace(GPU, stack=stack))
    options = policy.container_options(made, socket_folder=Path("/somewhere/door"), owner="rex")
    assert list(options["volumes"]) == ["/somewhere/door"]
    assert "devices" not in options
    assert options["device_requests"] == [request_]
    assert made.command[-1] == policy.HARNESS, "in the image's own place"
    path = options["environment"]["PATH"].split(":")
    assert path[:2] == ["/opt/stack/bin", "/opt/fake/bin"], "ninja lies beside Python, where torch looks for it"


def test_a_gpu_takes_nothing_of_the_rest_away(options: dict[str, Any], gpu_options: dict[str, Any]) -> None:
    for name in ("network_mode", "read_only", "cap_drop", "security_opt", "ipc_mode", "user", "log_config"):
        assert gpu_options[name] == options[name]


@pytest.mark.parametrize("stack", [policy.HOST, policy.TOOLKIT, policy.CDI])
def test_builder_has_the_limits_of_a_tenant_less_memory_and_no_device(stack: str) -> None:
    gpu = policy.Gpu(stack, "GPU-1", "nvidia.com/gpu", ("/dev/nvidia0",), "/usr/local/cuda/bin")
    tenant, builder = policy.tenant("image", 200_000, "1", gpu), policy.builder("image", 200_000, "1", gpu)
    options = policy.container_options(builder, socket_folder=Path("/tmp/socket"), owner="rex")
    assert not options.get("devices")
    assert "device_requests" not in options
    assert builder.command[-1].endswith(Path(policy.BUILDER).name)
    shown = replace(builder, command=tenant.command, gpu=tenant.gpu, kind=tenant.kind)
    assert shown == replace(tenant, memory_bytes=8 << 30)


@pytest.mark.parametrize(("make", "program"), [(policy.profiler, policy.PROFILER), (policy.compiler, policy.COMPILER)])
def test_profiler_and_compiler_have_the_limits_of_a_tenant_but_memory(make: Any, program: str) -> None:
    tenant, options = (
        policy.container_options(role("image:1", 234_567, "1"), socket_folder=Path("/door"), owner="rex")
        for role in (policy.tenant, make)
    )
    changed = {name for name, value in options.items() if value != tenant[name]}
    assert changed == {"command", "mem_limit", "memswap_limit"}
    assert options["command"][-1] == program


@pytest.mark.parametrize(("permission", "user"), [("", "234567"), ("open", "234567"), ("perfmon", "0")])
def test_counters_permission_is_one_capability(permission: str, user: str) -> None:
    made = policy.counters(permission, "image:1", 234_567, "1")
    options = policy.container_options(made, socket_folder=Path("/door"), owner="rex")
    assert options.get("cap_add") == ([permission.upper()] if user == "0" else None)
    assert (options["cap_drop"], options["user"]) == (["ALL"], f"{user}:{user}")
    assert "no-new-privileges:true" in options["security_opt"]


def test_counters_come_with_named_pipes_and_locks_that_lock_nothing() -> None:
    ours, theirs = (
        json.loads(made.seccomp)
        for made in (policy.tenant("image:1", 234_567, "1"), policy.counters("open", "image:1", 234_567, "1"))
    )
    more = [rule for rule in theirs["syscalls"] if rule not in ours["syscalls"]]
    assert more == list(policy.COUNTERS_RULES)
    assert [(rule["names"], rule["action"], rule.get("errnoRet")) for rule in more] == [
        (["mknodat"], "SCMP_ACT_ALLOW", None),
        (["fcntl"], "SCMP_ACT_ERRNO", 0),
        (["fcntl"], "SCMP_ACT_ERRNO", 0),
    ]
    assert {**theirs, "syscalls": ours["syscalls"]} == ours


def test_only_ranks_have_loopback_and_pass_descriptors() -> None:
    one = policy.tenant("image:1", uid=234_567, cpus="1")
    both = policy.of_ranks(2, policy.tenant)("image:1", uid=234_567, cpus="1")
    added = [rule for rule in json.loads(both.seccomp)["syscalls"] if rule not in json.loads(one.seccomp)["syscalls"]]
    assert [(rule["names"], [arg["value"] for arg in rule.get("args", [])]) for rule in added] == [
        (["socket"], [2]),
        (["socket"], [16]),
        (["sendmsg"], []),
    ]
    assert (both.memory_bytes - both.shm_bytes, both.pids) == (2 * one.memory_bytes, 2 * one.pids)
    assert both.kind == "tenant-2"
    options = policy.container_options(both, socket_folder=Path("/somewhere/door"), owner="rex")
    assert (options["network_mode"], options["shm_size"]) == ("none", both.shm_bytes)
    assert policy.of_ranks(1, policy.tenant) is policy.tenant
