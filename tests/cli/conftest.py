"""Ada at her terminal: a fake site, a home of her own, and the command called as a shell would."""

import os
import pty
import subprocess
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
Terminal = Callable[..., tuple[int, str]]


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


@pytest.fixture
def terminal(home: Path) -> Terminal:
    """Run the command on a real terminal of that many columns; return its exit code and all its output."""

    def call(columns: int, *arguments: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "leaderboard.cli.start", *arguments],
            stdout=theirs,
            stderr=theirs,
            stdin=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)},
        )
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # a pty reports the closed end this way
                break
            if not chunk:
                break
            seen += chunk
        os.close(ours)
        return process.wait(10), seen.decode()

    return call
