"""Every page in a browser, wide and narrow, in both themes: it fits, is accessible and light, and its scripts run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command
from django.urls import resolve
from django.utils import timezone

from leaderboard.web.dataset.releases import publish_due
from tests.e2e.browser import Watched, chromium
from tests.web.live_site import live_site
from tests.web.page_table import MOST_BYTES, REFUSALS, Entry, entries, open_page, routes_with_pages, weight_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.web.showcase import Showcase

TOO_LONG = {"/docs/api"}  # axe reads it for a quarter of a minute; the other documents have its markup
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 390, "height": 844}


def test_every_page_has_an_entry() -> None:
    paths = {re.sub(r"\{\w+\}", "1", entry.address.partition("?")[0]) for entry in entries()} - set(REFUSALS)
    found = {resolve(path).route for path in paths}
    wanted = routes_with_pages()
    assert not wanted - found, "add to PAGES of tests/web/page_table.py who looks at these, or say in NO_PAGE why not"
    assert not found - wanted, "PAGES has these, and NO_PAGE or permission_table.py says that they are no pages"


@pytest.fixture
def showcase(transactional_db: None) -> Showcase:
    from tests.web.showcase import build

    return build()


@pytest.mark.browser
@pytest.mark.timeout(900)  # a minute alone on the machine
def test_pages_fit_are_accessible_light_and_calm(
    showcase: Showcase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Themes differ in colours alone, so an open page is checked in the dark theme for contrast."""
    settings.STATIC_ROOT = str(tmp_path)
    monkeypatch.setenv("STATIC_ROOT", str(tmp_path))  # of the site's process
    settings.DATASET_FOLDER = str(tmp_path / "datasets")
    monkeypatch.setenv("DATASET_FOLDER", settings.DATASET_FOLDER)
    assert publish_due(now=timezone.now())
    call_command("collectstatic", interactive=False, verbosity=0)
    faults = []
    with live_site() as site, chromium() as browser:
        pages: dict[str, Watched] = {}
        for entry in entries():
            if entry.who not in pages:
                context = browser.new_context(base_url=site.address, viewport=WIDE)
                context.add_cookies(showcase.cookies(entry.who, site.address))
                pages[entry.who] = Watched(context.new_page(), site.address)
            watched = pages[entry.who]
            watched.page.emulate_media(color_scheme="light")
            found = faults_of(watched, entry, showcase.keys)
            if entry.address not in TOO_LONG:
                found += axe_faults(watched.page, {})
                watched.page.emulate_media(color_scheme="dark")
                found += [f"dark: {fault}" for fault in axe_faults(watched.page, CONTRAST)]
            faults += [f"{entry.who} at {entry.address}: {fault}" for fault in found]
    assert not faults, "\n".join(faults)


def faults_of(watched: Watched, entry: Entry, keys: dict[str, Any]) -> list[str]:
    page = watched.page
    watched.complaints.clear()
    watched.elsewhere.clear()
    page.set_viewport_size(WIDE)
    faults = open_page(page, entry, keys)
    if (weight := weight_of(page)) > MOST_BYTES:
        faults.append(f"{weight:,} bytes")
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            faults.append(f"{over} px wider than {size['width']} px")
    complaints = [] if entry.address in REFUSALS else watched.complaints  # Chromium reports the status
    return [*faults, *complaints, *watched.elsewhere]


def axe_faults(page: Page, options: dict[str, Any]) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    run = "options => axe.run(options).then(found => found.violations)"
    return [
        f"{rule['id']} at {', '.join(' '.join(map(str, node['target'])) for node in rule['nodes'][:3])}"
        for rule in page.evaluate(run, {"resultTypes": ["violations"]} | options)
    ]
