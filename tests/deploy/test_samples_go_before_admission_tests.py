"""`make up` queues the samples while the runner prepares itself, so that its first claim finds them."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy import samples, up
from deploy.parties import CHECKOUT, myself
from deploy.site import Site

QUEUED = {"id": 1, "outcome": None, "status": "queued"}


class FakeSupervisor:
    """Its runner listens once the samples were sent, or at once where it ran before."""

    def __init__(self, done: list[str], *, ran: bool) -> None:
        self._done = done
        self._pid = "7" if ran else ""

    def log(self, name: str) -> bytes:
        return b""

    def pid(self, name: str) -> str:
        return self._pid

    def apply(self, programs: list[Any]) -> None:
        self._done.append("started")
        self._pid = "7"

    def log_since(self, name: str, offset: int) -> str:
        self._done.append("waited for the runner")
        return '"listening"'


@pytest.mark.parametrize("ran", [False, True])
def test_samples_are_sent_before_the_runner_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: bool
) -> None:
    site = Site(tmp_path, CHECKOUT, tmp_path / "python", myself(), 8000)
    site.secrets.mkdir()
    (site.secrets / "sample-tokens.json").write_text(json.dumps({"ada": "a token"}))
    for file in (site.env_file, site.runner_env_file):
        file.touch()
    done: list[str] = []
    for name in ("write_runner_environment", "wait_for_health"):
        monkeypatch.setattr(up, name, lambda *given: None)
    monkeypatch.setattr(samples, "_find", lambda *given: None)
    monkeypatch.setattr(samples, "_send", lambda site, sample, tokens: done.append(sample.account))
    supervisor: Any = FakeSupervisor(done, ran=ran)
    up._start(site, supervisor, [], "redis://nowhere", "an image")
    assert done[:3] == ["started", "ada", "ada"]
    assert set(done[3:]) == (set() if ran else {"waited for the runner"})


def test_nothing_is_sent_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path, CHECKOUT, tmp_path / "python", myself(), 8000)
    sent: list[str] = []
    monkeypatch.setattr(samples, "_find", lambda site, sample, tokens: QUEUED if sample.path.name in sent else None)
    monkeypatch.setattr(samples, "_send", lambda site, sample, tokens: sent.append(sample.path.name))
    planned = samples.plan(CHECKOUT / samples.LIBRARY)
    assert samples.send_missing(site, planned, {"ada": "a token"})
    assert not samples.send_missing(site, planned, {"ada": "a token"})
    assert len(sent) == 2
