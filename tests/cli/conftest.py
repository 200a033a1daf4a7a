"""Ada at her terminal: a fake site, a home of her own, and the command called as a shell would."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from leaderboard.cli.main import run
from tests.cli.fake_site import TOKEN, FakeSite


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Photofinish = Callable[..., Ended]


@pytest.fixture
def site() -> Iterator[FakeSite]:
    site = FakeSite()
    yield site
    site.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PHOTOFINISH_URL", "PHOTOFINISH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def photofinish(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Photofinish:
    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["photofinish", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert TOKEN not in out + err
        return Ended(int(ended.value.code or 0), out, err)

    return call


@pytest.fixture
def signed_in(site: FakeSite, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTOFINISH_URL", site.url)
    monkeypatch.setenv("PHOTOFINISH_TOKEN", TOKEN)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text("def custom_kernel(data):\n    return data\n", encoding="utf-8")
    return path
