"""A real site on the test database, for features beyond a test client (streams, browsers, several processes)."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import make_conninfo

START_S = 60  # long enough for a busy machine


class LiveSite:
    """A running site whose requests commit; tests need `transactional_db`."""

    def __init__(self, *command: str, **settings: str) -> None:
        self._command = command
        self._settings = settings
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        told = os.environ | {"DATABASE_URL": database_url(), "SITE_URL": self.address} | self._settings
        command = [sys.executable, "-m", *self._command, "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=told, cwd=Path(__file__).parents[2])
        wait_for(f"{self.address}/healthz", self.process)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)  # a process that starts on a busy machine ends first


@contextmanager
def live_site(application: str = "leaderboard.asgi:application") -> Iterator[LiveSite]:
    quiet = ("--log-level", "warning", "--timeout-graceful-shutdown", "1")
    with _running(LiveSite("uvicorn", application, *quiet)) as site:
        yield site


@contextmanager
def web_processes(**settings: str) -> Iterator[LiveSite]:
    """A site as operators start it, with these settings."""
    with _running(LiveSite("leaderboard.serve", **settings)) as site:
        yield site


@contextmanager
def _running(site: LiveSite) -> Iterator[LiveSite]:
    try:
        site.start()
        yield site
    finally:
        site.stop()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the site ended with status {process.returncode}"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{url} did not answer within {START_S} s")


def database_url() -> str:
    from django.db import connection

    known = connection.settings_dict
    parts = {name: known[name.upper()] for name in ("user", "password", "host", "port") if known[name.upper()]}
    return make_conninfo(dbname=known["NAME"], **parts)
