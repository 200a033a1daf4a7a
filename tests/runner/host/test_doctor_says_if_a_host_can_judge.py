"""`runner doctor` on invented machines: each fault is found and shown with its reason and a remedy."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.commands import main
from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.host import accelerators, doctor
from runner.host.doctor import NOT_CERTIFIED, OK, UNFIT, WARNING, Check
from runner.judge.device.make import Fit
from sandbox import protocol
from sandbox.container import DockerMissing, ImageMissing, SandboxError
from tests.conftest import SANDBOX_IMAGE

CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
GOOD_FILES = {
    CLOCK: "tsc",
    "/proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 31457280 kB",
    "/proc/swaps": "Filename",
}
GOOD_INFO = {
    "ServerVersion": "28.1.0",
    "CgroupVersion": "2",
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
    "CPUSet": True,
}
GOOD_SEEN = {
    "uid": 200_001,
    "no_new_privileges": "1",
    "seccomp": "2",
    "capabilities": "0000000000000000",
    "inet": 1,
    "interfaces": ["lo"],
    "write_root": 30,
    "write_tmp": 0,
    "cpus": "1-3",
    "protocol": protocol.VERSION,
    "files": {path.name: doctor.digest(path) for path in doctor.inside_files()},
    "torch": "2.11.0",
    "bytecode": True,
    "languages": {"gxx": "12.2.0", "triton": "3.6.0"},
    "devices": [],
    "freezer": "",
    "freeze_us": 40.0,
}


class MadeUpHost(doctor.Host):
    def __init__(self, files: dict[str, str] | None = None, **facts: Any) -> None:
        self.files = GOOD_FILES | (files or {})
        self.facts = facts

    def read(self, path: str) -> str:
        return self.files.get(path, "")

    def uid(self) -> int:
        return int(self.facts.get("uid", 0))

    def cores(self) -> Sequence[int]:
        found: Sequence[int] = self.facts.get("cores", [0, 1, 2, 3])
        return found

    def load(self) -> float:
        return float(self.facts.get("load", 0.1))

    def clock_ns(self) -> tuple[int, float]:
        step, cost = self.facts.get("clock", (40, 60.0))
        return step, cost

    def sealing(self) -> str:
        return str(self.facts.get("sealing", ""))

    def pidfd(self) -> str:
        return str(self.facts.get("pidfd", ""))

    def fit(self, hardware: str, gpu: int) -> list[Fit]:
        found: list[Fit] = self.facts.get("fit", [Fit("telemetry", True, "full")])
        return found


class MadeUpEngine(doctor.Engine):
    def __init__(
        self,
        info: dict[str, Any] | SandboxError | None = None,
        seen: dict[str, Any] | SandboxError | None = None,
    ) -> None:
        self._info, self._seen = info or {}, seen or {}

    def info(self) -> dict[str, Any]:
        if isinstance(self._info, SandboxError):
            raise self._info
        return GOOD_INFO | self._info

    def probe(self, cpus: str) -> dict[str, Any]:
        if isinstance(self._seen, SandboxError):
            raise self._seen
        return GOOD_SEEN | self._seen


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(runner_hardware="cpu", runner_locks=tmp_path, runner_state=tmp_path / "not" / "yet")


def of_host(host: MadeUpHost) -> dict[str, Check]:
    return {check.name: check for check in doctor.check_host(host)}


def of_engine(settings: JudgeSettings, engine: MadeUpEngine) -> dict[str, Check]:
    return {check.name: check for check in doctor.check_engine(settings, MadeUpHost(), engine)}


def test_a_good_host_is_fit(settings: JudgeSettings) -> None:
    found = list(doctor.examine(settings, MadeUpHost(), MadeUpEngine()))
    assert [check for check in found if check.result != OK] == []
    assert len({check.name for check in found}) == len(found) >= 20
    assert doctor.is_fit(found, home=False)


@pytest.mark.parametrize(
    ("host", "name", "result", "says"),
    [
        (MadeUpHost(cores=[5]), "cores", UNFIT, "1 for this process"),
        (
            MadeUpHost({"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,2"}),
            "SMT siblings",
            WARNING,
            "as 2",
        ),
        (
            MadeUpHost({"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave"}),
            "frequency",
            WARNING,
            "powersave",
        ),
        (MadeUpHost({CLOCK: "hpet"}), "clock source", NOT_CERTIFIED, "hpet"),
        (MadeUpHost({CLOCK: ""}), "clock source", NOT_CERTIFIED, "unknown"),
        (MadeUpHost(clock=(1_000_000, 40.0)), "clock", NOT_CERTIFIED, "steps of 1000000 ns"),
        (MadeUpHost(clock=(40, 5_000.0)), "clock", NOT_CERTIFIED, "5000 ns a read"),
        (MadeUpHost({"/proc/meminfo": "MemAvailable: 6291456 kB"}), "memory", WARNING, "6.0 GiB"),
        (MadeUpHost({"/proc/meminfo": "MemAvailable: 1048576 kB"}), "memory", UNFIT, "1.0 GiB"),
        (MadeUpHost({"/proc/meminfo": ""}), "memory", UNFIT, "0.0 GiB"),
        (MadeUpHost({"/proc/swaps": "Filename Type\n/swapfile file 1 0 -2"}), "swap", WARNING, "/swapfile"),
        (MadeUpHost(sealing="Invalid argument"), "sealed memory", UNFIT, "Invalid argument"),
        (MadeUpHost(pidfd="Function not implemented"), "pidfd", UNFIT, "not implemented"),
        (MadeUpHost(load=3.2), "load", WARNING, "3.20 on 4 cores"),
    ],
)
def test_what_is_wrong_with_a_machine_is_found(host: MadeUpHost, name: str, result: str, says: str) -> None:
    check = of_host(host)[name]
    assert check.result == result
    assert says in check.found
    assert check.why
    assert check.remedy


def test_siblings_among_the_tenants_are_no_fault() -> None:
    files = {
        f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list": pair
        for core, pair in [(0, "0,64"), (1, "1-2"), (2, "1-2")]
    }
    assert of_host(MadeUpHost(files))["SMT siblings"].result == OK


@pytest.mark.parametrize(
    ("engine", "name", "result"),
    [
        (MadeUpEngine(info={"ServerVersion": "19.03.5"}), "Docker Engine", UNFIT),
        (MadeUpEngine(info={"SwapLimit": False}), "container limits", UNFIT),
        (MadeUpEngine(seen={"protocol": protocol.VERSION + 1}), "image", UNFIT),
        (MadeUpEngine(seen={"protocol": None}), "image", UNFIT),
        (MadeUpEngine(seen={"files": {}}), "image", WARNING),
        (MadeUpEngine(seen={"no_new_privileges": "0"}), "no new privileges", UNFIT),
        (MadeUpEngine(seen={"seccomp": "0"}), "seccomp", UNFIT),
        (MadeUpEngine(seen={"inet": 0}), "seccomp", UNFIT),
        (MadeUpEngine(seen={"capabilities": "00000000a80425fb"}), "capabilities", UNFIT),
        (MadeUpEngine(seen={"uid": 0}), "capabilities", UNFIT),
        (MadeUpEngine(seen={"interfaces": ["lo", "eth0"]}), "network", UNFIT),
        (MadeUpEngine(seen={"write_root": 0}), "file system", UNFIT),
        (MadeUpEngine(seen={"write_tmp": 30}), "file system", UNFIT),
        (MadeUpEngine(seen={"cpus": "0-3"}), "cores of a tenant", UNFIT),
        (MadeUpEngine(seen={"freezer": "this host cannot"}), "freezer", NOT_CERTIFIED),
        (MadeUpEngine(seen={"freeze_us": 90_000.0}), "freezer", WARNING),
        (MadeUpEngine(seen={"languages": {}}), "languages", WARNING),
        (MadeUpEngine(seen={"bytecode": False}), "bytecode of torch", WARNING),
        (MadeUpEngine(seen={"interfaces": []}), "network", OK),
    ],
)
def test_a_wall_that_is_missing_is_found(settings: JudgeSettings, engine: MadeUpEngine, name: str, result: str) -> None:
    check = of_engine(settings, engine)[name]
    assert check.result == result
    assert bool(check.remedy) == (result != OK)


ROOTLESS = {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless", "name=cgroupns"]}
REMAPPED = {"SecurityOptions": ["name=seccomp,profile=default", "name=userns"]}
FEW, ENOUGH = "dockremap:100000:65536", "dockremap:100000:65536\nada:200000:1000000"


@pytest.mark.parametrize(
    ("info", "subuid", "result", "says"),
    [
        ({}, "", OK, "root's engine, users not remapped, cgroup v2"),
        (REMAPPED, FEW, UNFIT, "remapped, 65536 uids"),
        (REMAPPED, ENOUGH, WARNING, "remapped, 1000000 uids, cgroup v2"),
        (ROOTLESS | {"CgroupDriver": "systemd"}, "", UNFIT, "rootless, 0 uids"),
        (ROOTLESS | {"CgroupDriver": "systemd"}, ENOUGH, WARNING, "rootless, 1000000 uids, cgroup v2, driver systemd"),
        (ROOTLESS | {"CgroupDriver": "none", "CgroupVersion": "1"}, ENOUGH, UNFIT, "cgroup v1, driver none"),
    ],
)
def test_users_of_the_engine_are_recognised(info: dict[str, Any], subuid: str, result: str, says: str) -> None:
    check = doctor.engine_users(GOOD_INFO | info, MadeUpHost({"/etc/subuid": subuid}))
    assert check.result == result
    assert says in check.found
    assert bool(check.remedy) == (result != OK)


def test_the_judges_user_is_named() -> None:
    settings, engine = JudgeSettings(), MadeUpEngine()
    assert doctor.judge_user(settings, MadeUpHost(uid=0), engine).found == "root, with Docker's socket"
    assert doctor.judge_user(settings, MadeUpHost(uid=1000), engine).found == "uid 1000, with Docker's socket"


@pytest.mark.parametrize(
    ("fault", "result", "found"),
    [
        ("", OK, "uid 12345, with the helper at /run/h/socket"),
        ("no helper answers", UNFIT, "uid 12345, with the helper at /run/h/socket: no helper answers"),
    ],
)
def test_judge_with_a_user_of_its_own_is_named(
    monkeypatch: pytest.MonkeyPatch, fault: str, result: str, found: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    engine = MadeUpEngine()
    monkeypatch.setattr(engine, "start_as", lambda user: fault)
    settings = JudgeSettings(runner_judge_user="12345", runner_helper="/run/h/socket")
    check = doctor.judge_user(settings, MadeUpHost(), engine)
    assert (check.result, check.found, bool(check.remedy)) == (result, found, bool(fault))


def test_user_without_a_helper_makes_a_host_unfit() -> None:
    check = doctor.judge_user(JudgeSettings(runner_judge_user="12345"), MadeUpHost(), MadeUpEngine())
    assert (check.result, check.found) == (
        UNFIT,
        "RUNNER_JUDGE_USER and RUNNER_HELPER go together; set both or neither",
    )


def test_without_an_engine_nothing_inside_is_claimed(settings: JudgeSettings) -> None:
    found = of_engine(settings, MadeUpEngine(info=DockerMissing("no engine")))
    assert list(found) == ["Docker Engine"]
    assert found["Docker Engine"].result == UNFIT


def test_a_missing_image_says_how_to_build_it(settings: JudgeSettings) -> None:
    found = of_engine(settings, MadeUpEngine(seen=ImageMissing("no image 'x'")))
    assert found["container"].result == UNFIT
    assert "make image" in found["container"].remedy


@pytest.mark.parametrize("nodes", [[], ["/dev/nvidiactl"], ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]])
def test_a_container_sees_its_gpu_and_no_other(settings: JudgeSettings, nodes: list[str]) -> None:
    on_gpu = settings.model_copy(update={"runner_hardware": "H200"})
    found = of_engine(on_gpu, MadeUpEngine(seen={"devices": nodes}))["GPU in a container"]
    assert found.result == UNFIT
    assert "toolkit" in found.remedy
    by_cdi = on_gpu.model_copy(update={"runner_gpu_stack": "cdi"})
    assert (
        "nvidia-ctk cdi generate"
        in of_engine(by_cdi, MadeUpEngine(seen={"devices": nodes}))["GPU in a container"].remedy
    )
    alone = of_engine(on_gpu, MadeUpEngine(seen={"devices": ["/dev/nvidia3", "/dev/nvidiactl"]}))
    assert alone["GPU in a container"].result == OK


def test_a_host_without_the_device_is_unfit(settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(settings: JudgeSettings) -> None:
        raise ConfigError(f"{settings.runner_hardware!r} needs a GPU")

    monkeypatch.setattr(accelerators, "device_of", refuse)
    found = doctor.device(settings.model_copy(update={"runner_hardware": "H200"}))
    assert (found.name, found.result) == ("device", UNFIT)


def test_a_device_in_use_is_said(settings: JudgeSettings) -> None:
    with accelerators.DeviceLock(accelerators.Device("cpu", 0), settings.runner_locks):
        assert doctor.lock(settings).result == WARNING
    assert doctor.lock(settings).result == OK


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
def test_a_state_folder_that_is_a_file_is_unfit(settings: JudgeSettings, tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("a report would have to lie in here")
    found = doctor.state(settings.model_copy(update={"runner_state": file / below}))
    assert (found.result, found.found) == (UNFIT, f"{file} is no folder")
    assert doctor.state(settings).result != UNFIT


def test_without_certificates_it_is_fit_for_home_only() -> None:
    checks = [Check("freezer", NOT_CERTIFIED, "no root", "why", "sudo")]
    assert not doctor.is_fit(checks, home=False)
    assert doctor.is_fit(checks, home=True)
    assert not doctor.is_fit([*checks, Check("cores", UNFIT, "1", "why", "more")], home=True)


def test_the_clock_and_the_kernel_of_this_machine_are_read() -> None:
    host = doctor.Host()
    step, cost = host.clock_ns()
    assert 0 < step < 1e9
    assert 0 < cost < 1e6
    assert (host.sealing(), host.pidfd()) == ("", "")


@pytest.mark.docker
def test_the_sandbox_of_this_machine_has_all_its_walls(settings: JudgeSettings) -> None:
    settings = settings.model_copy(update={"sandbox_image": SANDBOX_IMAGE})
    engine = doctor.Engine(settings)
    found = {check.name: check for check in doctor.check_engine(settings, doctor.Host(), engine)}
    assert {name: check.found for name, check in found.items() if check.result == UNFIT} == {}
    assert {"seccomp", "network", "freezer"} <= set(found)
    assert found["languages"].found.startswith("C++ (g++) 12.")
    assert found["bytecode of torch"].found == "there"


def test_the_command_says_it_for_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setenv("RUNNER_LOCKS", str(tmp_path))
    result = CliRunner().invoke(main.app, ["doctor", "--json"])
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert said["fit"] is False
    assert [check["result"] for check in said["checks"] if check["name"] == "Docker Engine"] == ["unfit"]


def test_the_command_says_it_for_people(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setenv("RUNNER_LOCKS", str(tmp_path))
    result = CliRunner().invoke(main.app, ["doctor"])
    assert result.exit_code == 1
    assert "Not fit to judge." in result.stdout
    assert "systemctl start docker" in result.stdout


def test_device_that_is_not_fit_is_named_with_its_remedy() -> None:
    host = MadeUpHost(fit=[Fit("MIG", False, "on", "turn it off"), Fit("steal", False, "9 %", "ask for cores")])
    mig, steal = doctor.check_fitness(host, "H200", 0)
    assert (mig.result, mig.found, mig.remedy) == (UNFIT, "on", "turn it off")
    assert steal.result == WARNING


def test_doctor_checks_each_gpu_of_a_runner(settings: JudgeSettings) -> None:
    class TwoGpus(MadeUpHost):
        def fit(self, hardware: str, gpu: int) -> list[Fit]:
            return [Fit("MIG", gpu == 2, "off" if gpu == 2 else "on", "turn it off")]

    several = settings.model_copy(update={"runner_hardware": "H200", "runner_gpu": 2, "runner_gpus": 2})
    found = [check for check in doctor.examine(several, TwoGpus(), MadeUpEngine()) if "MIG" in check.name]
    assert [(check.name, check.result) for check in found] == [("MIG of GPU 2", OK), ("MIG of GPU 3", UNFIT)]


def test_this_hosts_own_device_is_looked_at() -> None:
    found = {check.name: check for check in doctor.check_fitness(doctor.Host(), "cpu", 0)}
    assert found["telemetry"].found
    assert found["steal"].found


def test_gpu_that_does_not_answer_is_unfit() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this host has a GPU")
    (nvml,) = doctor.check_fitness(doctor.Host(), "H200", 0)
    assert (nvml.name, nvml.result) == ("NVML", UNFIT)
    assert nvml.remedy


@pytest.mark.parametrize(
    ("lanes", "cores", "result", "words"),
    [
        ("0,1", 8, OK, "0 on cores 2-4, 1 on cores 5-7; 16 GiB of memory each"),
        ("0,1,2,3", 12, WARNING, "3 on cores 8-9; 8 GiB of memory each"),
        ("0,1,2,3", 8, UNFIT, "leaves 1 for each of its 4 runners"),
    ],
)
def test_doctor_checks_the_plan_of_a_fleet(
    settings: JudgeSettings, lanes: str, cores: int, result: str, words: str
) -> None:
    wanted, host = settings.model_copy(update={"runner_fleet": lanes}), MadeUpHost(cores=range(cores))
    [found] = [check for check in doctor.examine(wanted, host, MadeUpEngine()) if check.name == "fleet"]
    assert found.result == result
    assert words in found.found
