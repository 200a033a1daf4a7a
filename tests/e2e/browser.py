"""Debian's chromium for the browser tests, and a stand-in runner that speaks the real runner API."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
SCENES = [(scheme, width) for scheme in ("light", "dark") for width in (1400, 390)]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; without one the test fails where CI=true and is skipped at home."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        way_out = "there is no chromium: `apt-get install chromium`"
        if os.environ.get("CI") == "true":
            pytest.fail(way_out)
        pytest.skip(way_out)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Watched:
    """A page that records its requests and its errors."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.elsewhere: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda asked: self._note(asked.url, site))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, url: str, site: str) -> None:
        if not url.startswith((site, "data:")):
            self.elsewhere.append(url)

    def is_calm(self) -> None:
        """The page asked no foreign host, its policy blocked no request, and no script failed."""
        assert (self.elsewhere, self.complaints) == ([], [])

    def fits(self) -> None:
        """The page does not scroll sideways."""
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.evaluate(over) <= 0, f"{self.page.url} is wider than its window"

    def holds(self, cells: str) -> None:
        """The contents of these cells of a row end inside them, and each cell has its label."""
        over = "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth || !cell.dataset.label).length"
        assert self.page.locator(cells).evaluate_all(over) == 0


class Rex:
    """A runner with scripted results that speaks the real HTTP API."""

    def __init__(self, site: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=f"{site}/api/runner/v1",
            headers=headers,
            trust_env=False,
            event_hooks={"response": [_must_be_good]},
        )
        self._seq = 0

    def hello(self) -> None:
        self._http.post("/hello", json={"wire": 1, "hardware": "cpu", "fingerprint": {}})

    def claim(self) -> dict[str, Any]:
        answer = self._http.post("/claim", json={"hardware": "cpu"})
        assert answer.status_code == 200, "there was nothing to claim"
        self._seq = 0
        job: dict[str, Any] = answer.json()
        return job

    def say(self, job: dict[str, Any], **told: Any) -> None:
        self._seq += 1
        event = {"seq": self._seq, "kind": "state", "message": "", "data": {}} | told
        self._http.post(f"/attempts/{job['attempt_id']}/events", json={"token": job["token"], "events": [event]})

    def report(self, job: dict[str, Any], **told: Any) -> None:
        report = {"wire": 1, "attempt_id": job["attempt_id"], "token": job["token"]} | told
        self._http.post(f"/attempts/{job['attempt_id']}/report", json=report)

    def close(self) -> None:
        self._http.close()


def _must_be_good(response: httpx.Response) -> None:
    response.raise_for_status()
