"""Rex's host: a state folder, a fake site, a fake judge, and a daemon between them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.config import DaemonSettings
from runner.daemon.client import SiteClient
from runner.daemon.spool import Spool
from runner.daemon.worker import Daemon
from runner.host.accelerators import epoch
from tests.runner.fake_site import TOKEN, FakeSite

HOST: dict[str, str | int] = {"hardware": "cpu", "cpus": 2, "memory_bytes": 1 << 34, "torch": "2.11.0"}
READY = {"fingerprint": HOST, "epoch": epoch(HOST), "images": [f"sha256:{'1' * 64}"]}
FAKE_JUDGE = (sys.executable, str(Path(__file__).with_name("fake_judge.py")), json.dumps(READY))


@pytest.fixture
def site() -> Iterator[FakeSite]:
    site = FakeSite()
    yield site
    site.close()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("RUNNER_STATE", str(folder))
    monkeypatch.setenv("RUNNER_TOKEN", TOKEN)
    return folder


@pytest.fixture
def start(site: FakeSite, state: Path) -> Iterator[Callable[..., Daemon]]:
    """Make a daemon that has not begun: a test calls `judge_until_idle` or runs it in a thread."""
    clients: list[SiteClient] = []
    daemons: list[Daemon] = []

    def make(**changes: Any) -> Daemon:
        known = {
            "photofinish_url": site.url,
            "runner_token": TOKEN,
            "broker_url": os.environ["BROKER_URL"],
            "runner_state": state,
            "runner_locks": state.parent / f"locks{len(daemons)}",  # each as on its own host
            "runner_judge_command": FAKE_JUDGE,
            "runner_judge_grace_s": 2.0,
            "runner_standby": 0,
        }
        settings = DaemonSettings(**{**known, **changes})
        clients.append(SiteClient(settings.photofinish_url, settings.runner_token.get_secret_value()))
        daemons.append(Daemon(settings, clients[-1], Spool(state, settings.runner_spool_bytes)))
        return daemons[-1]

    yield make
    for daemon in daemons:
        daemon.stop()
        daemon.close()
    for client in clients:
        client.close()


@pytest.fixture
def launch(site: FakeSite, state: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the daemon as its own process, as an operator would."""
    started = []

    def begin(**changes: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PHOTOFINISH_URL": site.url,
            "RUNNER_TOKEN": TOKEN,
            "RUNNER_LOCKS": str(tmp_path / "locks"),
            "RUNNER_JUDGE_COMMAND": json.dumps(FAKE_JUDGE),
            "RUNNER_JUDGE_GRACE_S": "2",
            "RUNNER_STANDBY": "0",
            "LOG_LEVEL": "DEBUG",
            **changes,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "runner.daemon.worker"], env=environment, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
