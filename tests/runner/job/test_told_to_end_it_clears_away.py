"""Signals to `runner once` and similar commands: no container is left, and the exit code names the signal. The next
command removes leftovers of a killed command, and nothing of a process that may be alive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from runner.commands import local, main
from runner.job import cleanup
from sandbox import container
from sandbox.policy import LABEL
from tests.conftest import SANDBOX_IMAGE

if TYPE_CHECKING:
    import docker

KERNEL = str(local.LIBRARY / "kernels101" / "vectoradd" / "submissions" / "accepted" / "torch_out.py")
PATIENCE_S = 60
HEEDING = ("env", "--default-signal=INT")  # background jobs of a shell ignore Ctrl-C, and so would this process
TASK = """
files:
  - {name: reference.py, source: reference.py}
  - {name: submission.py, source: "@SUBMISSION@"}
lang: py
tests: [{size: 8, seed: 1}]
benchmarks: [{size: 8, seed: 2}]
templates: {Python: template.py}
"""
REFERENCE = """
def generate_input(size, seed):
    open("/tmp/spins", "w").close()
    while True:
        pass
def ref_kernel(data):
    return data
"""


@pytest.fixture
def endless(tmp_path: Path) -> str:
    """Problem whose input generator never ends."""
    folder = tmp_path / "endless"
    folder.mkdir()
    for name, text in (
        ("task.yml", TASK),
        ("reference.py", REFERENCE),
        ("template.py", "def custom_kernel(data):\n    return data\n"),
    ):
        (folder / name).write_text(text)
    return str(folder)


class Command:
    """The command as a person starts it, and the containers of its process."""

    def __init__(self, client: docker.DockerClient, locks: Path, *arguments: str) -> None:
        self._client = client
        environment = {
            **os.environ,
            "SANDBOX_IMAGE": SANDBOX_IMAGE,
            "RUNNER_HARDWARE": "cpu",
            "RUNNER_LOCKS": str(locks),
        }
        self.process = subprocess.Popen(
            [*HEEDING, sys.executable, "-m", "runner.commands.start", *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def owners(self) -> list[str]:
        mine = f"once{self.process.pid:x}s"
        return [owner for owner in container.owners(self._client) if owner.startswith(mine)]

    def containers(self) -> list[Any]:
        return [
            one
            for owner in self.owners()
            for one in self._client.containers.list(
                all=True, ignore_removed=True, filters={"label": f"{LABEL}={owner}"}
            )
        ]

    def wait_for(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not what():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def spins(self) -> bool:
        """Whether the command is in the problem's endless loop."""
        if os.geteuid() != 0:
            return len(self.containers()) == 2
        pids = [one.attrs["State"]["Pid"] for one in self.containers()]
        return any(pid and Path(f"/proc/{pid}/root/tmp/spins").exists() for pid in pids)

    def ended(self, *signals: int) -> tuple[int, str]:
        for number in signals:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        for owner in self.owners():
            container.reap(self._client, owner)


@pytest.fixture
def begin(docker_client: docker.DockerClient, tmp_path: Path) -> Iterator[Callable[..., Command]]:
    begun: list[Command] = []

    def begin(*arguments: str) -> Command:
        begun.append(Command(docker_client, tmp_path, *arguments))
        return begun[-1]

    yield begin
    for command in begun:
        command.close()


@pytest.mark.docker
@pytest.mark.slow
def test_a_problem_that_never_ends_leaves_no_container(begin: Callable[..., Command], endless: str) -> None:
    command = begin("verify", endless, "--only", "admission/")
    command.wait_for(command.spins)
    code, said = command.ended(signal.SIGTERM, signal.SIGTERM)  # as `timeout` sends it
    assert (code, command.containers()) == (143, [])
    assert said.strip() == "Ended by SIGTERM before it was done."


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_neither_does_one_ended_while_containers_are_made(
    begin: Callable[..., Command], number: int, exit_code: int
) -> None:
    command = begin("once", "vectoradd", KERNEL)
    command.wait_for(lambda: bool(command.owners()))
    code, said = command.ended(number)
    assert (code, command.containers()) == (exit_code, [])
    assert "Traceback" not in said


@pytest.mark.docker
@pytest.mark.slow
def test_what_a_killed_one_left_is_removed_by_the_next(begin: Callable[..., Command], endless: str) -> None:
    killed = begin("verify", endless, "--only", "admission/")
    killed.wait_for(killed.spins)
    begin("doctor").ended()
    assert len(killed.containers()) == 3, "it is alive"
    killed.ended(signal.SIGKILL)
    begin("doctor").ended()
    assert killed.containers() == []


# -- without a container --------------------------------------------------------------------------------------------


def told(monkeypatch: pytest.MonkeyPatch, number: int, *arguments: str) -> Any:
    """Run the command and send it this signal while it judges."""

    def judge(*given: Any) -> Any:
        os.kill(os.getpid(), number)
        time.sleep(PATIENCE_S)

    monkeypatch.setattr(cleanup, "reap_of_the_dead", lambda: 0)
    monkeypatch.setattr(local, "judge_here", judge)
    monkeypatch.setattr("runner.commands.bench.measure_ceilings", lambda *given, **named: judge())
    return CliRunner().invoke(main.app, list(arguments))


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
@pytest.mark.parametrize(
    "arguments",
    [
        ("once", "vectoradd", KERNEL),
        ("verify", "vectoradd"),
        ("confirm", "vectoradd", KERNEL, "--incumbent", KERNEL),
        ("bench",),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_each_command_ends_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], number: int, exit_code: int
) -> None:
    before = {one: signal.signal(one, signal.default_int_handler) for one in cleanup.SIGNALS}  # lest they end the tests
    try:
        result = told(monkeypatch, number, *arguments)
        assert {signal.getsignal(one) for one in cleanup.SIGNALS} == {signal.default_int_handler}, "not restored"
    finally:
        for one, was in before.items():
            signal.signal(one, was)
    assert result.exit_code == exit_code
    assert result.stderr.startswith("Ended by ")
    assert result.stdout == ""


def test_a_signal_that_is_ignored_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """nohup starts a command this way."""
    screen: Any = None
    monkeypatch.setattr(cleanup, "reap_of_the_dead", lambda: 0)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with cleanup.tidy(screen):
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_signal_cuts_nothing_short_and_a_late_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    told = cleanup._SignalHandler()
    for when, number in ((0.0, signal.SIGTERM), (20.0, signal.SIGHUP)):
        now = when
        with pytest.raises(cleanup.Terminated) as caught:
            told(number, None)
        assert caught.value.code == 128 + number
        now += cleanup.AGAIN_S - 1
        for one in cleanup.SIGNALS:
            told(one, None)
    now = 40.0
    with pytest.raises(KeyboardInterrupt):
        told(signal.SIGINT, None)


def test_only_a_process_that_is_gone_for_certain_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = cleanup.new_owner()
    assert len(mine) <= 32
    assert mine != cleanup.new_owner()
    assert not cleanup.is_of_the_dead(mine)
    done = subprocess.Popen(["true"])
    pid, started, here = done.pid, cleanup._started(done.pid), cleanup._here()
    gone = f"once{pid:x}s{started:x}h{here}n1"
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert not cleanup.is_of_the_dead(gone), "not waited for yet"
    done.wait()
    assert cleanup.is_of_the_dead(gone)
    assert cleanup.is_of_the_dead(f"once{os.getpid():x}s0h{here}n1"), "another process has its pid"
    assert not cleanup.is_of_the_dead(f"once{pid:x}s{started:x}h00000000n1"), "of another host"
    for name in ("once8b51dcce579b", "standby0011", "", "oncexsyhzn1", f"once{'f' * 20}s0h{here}n1"):
        assert not cleanup.is_of_the_dead(name)


def test_what_a_context_could_not_close_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    reaped: list[str] = []

    class Client:
        def close(self) -> None: ...

    monkeypatch.setattr(container, "connect", lambda timeout_s: Client())
    monkeypatch.setattr(container, "reap", lambda client, owner: reaped.append(owner))
    with cleanup.cleared("quiet"):
        pass
    with pytest.raises(ValueError, match="a bug"), cleanup.cleared("failed"):
        raise ValueError("a bug")
    for error in (cleanup.Terminated(signal.SIGTERM), KeyboardInterrupt()):
        with pytest.raises(type(error)), cleanup.cleared("told"):
            raise error
    assert reaped == ["told", "told"]
