"""Another make of accelerators is judged behind the seam alone: no driver of NVIDIA's is there or asked.

The make is a fake: its memory is the host's, and threads are its devices. Judge, containers and freezer are real.
"""

import io
import secrets
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import docker
import pytest

from runner.commands import local
from runner.config import JudgeSettings
from runner.daemon import canary
from runner.errors import ConfigError
from runner.evidence.sample import EVENT
from runner.host import accelerators, doctor, epochs, fleet
from runner.job.execute import execute
from runner.judge.data.room import PLACES
from runner.judge.device.make import Fit
from runner.judge.sides import tenant
from runner.judge.sides.tenant import Tenant
from runner.wire import Report
from tests.conftest import SANDBOX_IMAGE
from tests.runner.job.fake_make import FACTS, HARDWARE, FakeMake
from tests.runner.judge import two_devices
from tests.runner.judge.two_devices import TwoDevices

GOOD = "import torch\n\n\ndef custom_kernel(data):\n    return torch.add(*data[:2], out=data[2])\n"
RAISES_MEMORY = "import torch\n\n\ndef custom_kernel(data):\n    raise torch.OutOfMemoryError('none is left')\n"
WRONG = GOOD.replace("torch.add", "torch.sub")

Judge = Callable[[str, str], Report]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> FakeMake:
    """The host's only make. Whoever asks for another library finds none."""
    made = FakeMake()
    monkeypatch.setattr(accelerators, "MAKES", (made,))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "cuda", None)
    return made


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(runner_hardware=HARDWARE, runner_gpu=1, runner_state=tmp_path, runner_locks=tmp_path)


# -- in containers -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(docker_client: docker.DockerClient) -> Iterator[str]:
    """The sandbox image with the container's side of the fake make beside the harness."""
    files = {
        "Dockerfile": f"FROM {SANDBOX_IMAGE}\nCOPY thread_device.py /opt/photofinish/\n".encode(),
        "thread_device.py": Path(two_devices.__file__).with_name("thread_device.py").read_bytes(),
    }
    context, tag = io.BytesIO(), f"photofinish-fake-make:{secrets.token_hex(6)}"
    with tarfile.open(fileobj=context, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    context.seek(0)
    docker_client.images.build(fileobj=context, custom_context=True, tag=tag, rm=True)
    yield tag
    docker_client.images.remove(tag, force=True)


@pytest.fixture
def judged(make: FakeMake, settings: JudgeSettings, image: str, monkeypatch: pytest.MonkeyPatch) -> Judge:
    # A frozen container's threads stand still, unlike a device: a queued call waits in vain. So there are few of them.
    for name in ("OWN_WARM_CALLS", "OWN_ROUNDS"):
        monkeypatch.setattr(tenant, name, 1)
    monkeypatch.setattr(tenant, "OWN_CALLS", dict.fromkeys(tenant.OWN_CALLS, 1))
    problem = local.find_problem("vectoradd")
    problem = replace(problem, benchmarks=({**problem.benchmarks[-1], "size": 1_000_003},))

    def judge(source: str, mode: str) -> Report:
        job = local.job_from(problem, source, "a.py", mode, HARDWARE)
        return local.judge_here(job, settings.model_copy(update={"sandbox_image": image}), lambda event: None)

    return judge


@pytest.mark.docker
def test_a_ranked_job_on_another_make_is_checked_and_timed(make: FakeMake, judged: Judge) -> None:
    report = judged(GOOD, "ranked")
    evidence = report.evidence
    assert (report.outcome, report.message) in (("passed", ""), ("unmeasurable", report.message)), report.message
    assert (evidence["hardware"], evidence["clock"], evidence["left_out"]) == (HARDWARE, EVENT, [])
    assert evidence["fingerprint"].items() >= FACTS.items()
    assert report.epoch == accelerators.epoch(evidence["fingerprint"]) != ""
    assert all(check["good"] for check in evidence["checks"])
    (timing,) = evidence["timing"]
    assert timing["places"] == PLACES, "the data move as on a device"
    assert {"claim", "job_fit", "memory", "equipment", "facts", "telemetry"} <= set(make.asked)
    shots, gates = make.made.shots, make.made.gates
    assert len(shots) > 50
    assert all(shot.took_ns for shot in shots), "the judge's device is left waiting by no call"
    assert True in gates, "calls are queued, and found not to run while their container is frozen:"
    assert not timing["queued"]
    assert False in gates, "an order lets all others go"
    assert make.made.pages == {}, "no device may write where another allocation comes to lie"


@pytest.mark.docker
@pytest.mark.parametrize(
    ("source", "outcome", "reason"),
    [(WRONG, "wrong", "mismatch"), (RAISES_MEMORY, "out_of_memory", "allocation")],
    ids=["wrong", "out of memory"],
)
def test_a_submission_that_fails_on_another_make_gets_its_own_fault(
    make: FakeMake, judged: Judge, source: str, outcome: str, reason: str
) -> None:
    report = judged(source, "test")
    assert (report.outcome, report.reason) == (outcome, reason)
    assert ("strangers" in make.asked) == (reason == "allocation"), "others may have taken the device's memory"


@pytest.mark.docker
@pytest.mark.parametrize(("left", "outcome"), [(1 << 30, "out_of_memory"), (1 << 20, "infra_error")])
def test_the_baseline_is_called_in_the_place_of_a_submission_without_memory(
    judged: Judge, monkeypatch: pytest.MonkeyPatch, left: int, outcome: str
) -> None:
    made = Mock(wraps=Tenant.series)
    monkeypatch.setattr(Tenant, "series", lambda side, *given, **named: made(side, *given, **named))
    monkeypatch.setattr(TwoDevices, "is_shared", True)
    monkeypatch.setattr(TwoDevices, "free_bytes", lambda memory: 1 << 30)
    monkeypatch.setattr(TwoDevices, "unused_bytes", lambda memory: left)
    report = judged(RAISES_MEMORY, "ranked")
    assert report.outcome == outcome, report.evidence.get("operator")
    candidate, baseline = (call.args[0] for call in made.call_args_list[-2:])
    assert candidate is not baseline
    assert not candidate.container.alive()


# -- around a job --------------------------------------------------------------------------------------------------


def test_an_unfit_device_of_another_make_takes_no_job(make: FakeMake, settings: JudgeSettings) -> None:
    make.wrong = [Fit("partitions", False, "2", "`fake-smi --whole`.")]
    job = local.job_from(local.find_problem("vectoradd"), GOOD, "a.py", "ranked", HARDWARE)
    report = execute(job, settings, lambda event: None)
    assert (report.outcome, report.reason) == ("infra_error", "sandbox")
    assert "GPU 1 is not fit to judge: partitions: 2. `fake-smi --whole`." in report.evidence["operator"]
    assert "memory" not in make.asked, "nothing is made on it"
    (check,) = doctor.check_fitness(doctor.Host(), HARDWARE, 1)
    assert (check.result, check.remedy) == (doctor.UNFIT, "`fake-smi --whole`.")


@pytest.mark.usefixtures("make")
def test_the_host_knows_a_device_of_another_make(settings: JudgeSettings) -> None:
    assert accelerators.device_of(settings).name == "FAKE1-1"
    assert accelerators.fingerprint(HARDWARE, 1).items() >= FACTS.items()
    assert epochs.device_name(HARDWARE, FACTS) == FACTS["gpu"]
    assert canary.health_of(settings).temperature_c == 41.0
    assert doctor.device(settings).result == doctor.OK


def test_a_fleet_has_the_devices_of_another_make(
    make: FakeMake, settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "read", lambda path: {"0000:01:00.0": "1"}.get(path.split("/")[-2], "-1"))
    found = fleet.accelerators_of(settings.model_copy(update={"runner_fleet": "all"}))
    assert [(one.number, one.name, one.node) for one in found] == [(0, FACTS["gpu"], None), (1, FACTS["gpu"], 1)]


def test_a_host_without_any_make_is_named(
    make: FakeMake, settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "is_here", lambda: False)
    with pytest.raises(ConfigError, match="'FAKE1' needs a FAKE accelerator, and this host shows none"):
        accelerators.device_of(settings)
