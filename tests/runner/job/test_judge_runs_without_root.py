"""A whole job by a judge that is not root, started as the daemon starts it, with `runner helper` beside it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner import config
from runner.commands.local import find_problem
from runner.daemon.judge_handle import JudgeProcess
from runner.daemon.worker import Daemon
from runner.errors import ConfigError
from runner.host import doctor, helper
from runner.wire import Job
from sandbox.policy import LABEL
from tests.runner.fake_site import FakeSite

if TYPE_CHECKING:
    import docker

IMAGE = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
UID = 12_345
SUBMISSION = "def custom_kernel(data):\n    x, out = data\n    out.copy_(x.softmax(-1))\n    return out\n"
WRONG = "def custom_kernel(data):\n    return data[1]\n"
PATIENCE_S = 60
WAITS = (
    sys.executable,
    "-c",
    "import json, os, sys\n"
    "ready = {'fingerprint': {}, 'epoch': str(os.geteuid()), 'images': []}\n"
    "print(json.dumps({'ready': ready}), flush=True)\n"
    "sys.stdin.read()\n",
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[config.JudgeSettings]:
    folder = Path(tempfile.mkdtemp(prefix="rootless-"))
    folder.chmod(0o711)  # pytest's own folders are closed to other users
    told = {
        "RUNNER_HELPER": str(folder / "socket"),
        "RUNNER_JUDGE_USER": str(UID),
        "RUNNER_STATE": str(folder / "state"),
        "RUNNER_LOCKS": str(folder / "locks"),
        "SANDBOX_IMAGE": IMAGE,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    yield config.load_judge()
    shutil.rmtree(folder)


@pytest.fixture
def served(settings: config.JudgeSettings, docker_client: docker.DockerClient) -> Iterator[str]:
    """`runner helper`; the label of its containers."""
    assert settings.runner_helper is not None
    process = subprocess.Popen([sys.executable, "-m", "runner.commands.start", "helper"])
    deadline = time.monotonic() + PATIENCE_S
    while not settings.runner_helper.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    owner = helper.rules_of(settings, helper.JudgeUser(UID, UID)).owner
    yield owner
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    assert not settings.runner_helper.exists()
    assert containers(docker_client, owner) == []


def containers(client: docker.DockerClient, owner: str) -> list[Any]:
    return list(client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL}={owner}"}))


def uids_of(judge: JudgeProcess) -> tuple[set[str], str]:
    """Return the uids of a judge's process, and its groups."""
    assert judge._process is not None
    status = Path(f"/proc/{judge._process.pid}/status").read_text()
    return set(status.split("\nUid:")[1].split("\n")[0].split()), status.split("\nGroups:")[1].split("\n")[0].strip()


@as_root
@pytest.mark.docker
@pytest.mark.slow
def test_judge_without_root_judges_a_whole_job(
    settings: config.JudgeSettings, served: str, docker_client: docker.DockerClient
) -> None:
    user, problem = helper.judge_user(settings), find_problem("softmax")
    problem = replace(
        problem, tests=problem.tests[:1], benchmarks=problem.benchmarks[-1:], fuzz=None, ranked_timeout_s=40.0
    )
    assert user is not None
    job = Job("a1", 1, 600, "cpu", "test", "s1", "kernel.py", SUBMISSION, problem.to_bundle(), problem.digest)
    for mode, source, outcomes in (
        ("test", SUBMISSION, {"passed"}),
        ("test", WRONG, {"wrong"}),
        ("ranked", SUBMISSION, {"passed", "unmeasurable"}),  # the latter on a busy machine
    ):
        judge = JudgeProcess(
            (sys.executable, "-m", "runner.job.judge_main"),
            config.judge_environment(secrets.token_hex(6)) | user.environment(settings),
            limit_s=600,
            grace_s=10,
            identity=user.identity,
        )
        judge.prepare(180)
        assert uids_of(judge) == ({str(UID)}, "")
        assert len(containers(docker_client, served)) == 3
        report = judge.run(replace(job, source=source, mode=mode), lambda event: None)
        assert judge.finish()
        assert report.outcome in outcomes, report
        assert report.evidence["certified"] is True
        assert containers(docker_client, served) == []
    versions = settings.runner_state / "judge" / "versions"
    assert [path.stat().st_uid for path in versions.iterdir()] == [UID], "the second and third judge needed no probe"


@as_root
@pytest.mark.docker
def test_doctor_starts_a_judge_as_that_user(settings: config.JudgeSettings, served: str) -> None:
    check = doctor.judge_user(settings, doctor.Host(), doctor.Engine(settings))
    assert (check.result, check.found) == (doctor.OK, f"uid {UID}, with the helper at {settings.runner_helper}")


@as_root
def test_doctor_says_that_the_helper_is_missing(settings: config.JudgeSettings) -> None:
    check = doctor.judge_user(settings, doctor.Host(), doctor.Engine(settings))
    assert check.result == doctor.UNFIT
    assert "no helper answers" in check.found


@as_root
def test_daemon_starts_its_judge_as_that_user(
    settings: config.JudgeSettings, site: FakeSite, start: Callable[..., Daemon]
) -> None:
    daemon = start(runner_helper=settings.runner_helper, runner_judge_user=str(UID), runner_judge_command=WAITS)
    judge = daemon._prepared()
    assert uids_of(judge) == ({str(UID)}, "")
    assert judge.host.epoch == str(UID)
    assert daemon._environment["RUNNER_HELPER"] == str(settings.runner_helper)


@as_root
def test_judges_folder_is_all_that_it_sees_of_the_state(settings: config.JudgeSettings) -> None:
    state = settings.runner_state
    (state / "spool").mkdir(mode=0o700, parents=True)
    (state / "spool" / "a1.json").write_text("secret")
    (state / "ceilings").mkdir()
    (state / "ceilings" / "e.json").write_text("fast")
    user = helper.judge_user(settings)
    assert user is not None
    environment = user.environment(settings)
    code = (
        "import os, pathlib\n"
        "own = pathlib.Path(os.environ['RUNNER_STATE'])\n"
        "print((own / 'ceilings/e.json').read_text())\n"
        "(own / 'versions/v.json').write_text('v')\n"
        "for path in (own / 'x', own.parent / 'x', own / 'ceilings/x'):\n"
        "    try: path.write_text('x')\n"
        "    except PermissionError: print('closed')\n"
        "try: (own.parent / 'spool/a1.json').read_text()\n"
        "except PermissionError: print('closed')\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, **user.identity
    )
    assert said.stdout.split() == ["fast", *["closed"] * 4], said.stderr


@pytest.mark.parametrize(
    ("user", "socket", "says"),
    [
        ("12345", None, "go together"),
        ("", "/run/helper", "go together"),
        ("0", "/run/helper", "another user"),
        ("root", "/run/helper", "another user"),
        ("200000", "/run/helper", "another user"),
        ("9" * 40, "/run/helper", "another user"),
        ("no-such-user", "/run/helper", "useradd"),
    ],
)
def test_judge_user_that_makes_no_sense_is_refused(user: str, socket: str | None, says: str) -> None:
    settings = config.JudgeSettings(runner_judge_user=user, runner_helper=socket)
    with pytest.raises(ConfigError, match=says):
        helper.judge_user(settings)


def test_without_the_settings_the_judge_is_its_daemons_user(monkeypatch: pytest.MonkeyPatch) -> None:
    assert helper.judge_user(config.JudgeSettings()) is None
    monkeypatch.setenv("RUNNER_HELPER", "")
    assert helper.judge_user(config.load_judge()) is None
