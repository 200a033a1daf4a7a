"""A newcomer in a real browser: from signing up over an upload and a live verdict to a ranked entry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.browser import SCENES, Rex, Watched, chromium
from tests.runner.judge.suspects import steady
from tests.web.live_site import LiveSite, live_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PASSWORD = "hurdle-Rail-99"
KERNEL = "def custom_kernel(data):\n    x, out = data\n    return out\n"
PASSED: dict[str, Any] = {
    "outcome": "passed",
    "score_us": 1870.4,
    "ratio": 0.62,
    "half_width": 0.012,
    "evidence": steady(0.62),
    "cases": [{"name": "cols=4096 rows=512", "public": True, "measured_us": 1870.4, "baseline_us": 3016.0}],
}


@pytest.fixture
def stage(transactional_db: None):
    """Kernels 101 from its folder, olga to review."""
    from django.core.management import call_command

    from leaderboard.accounts.models import User

    call_command(
        "import_problems",
        "problems/library/kernels101.yaml",
        *("--hardware", "cpu", "--admission", "none", "--publish"),
        verbosity=0,
    )
    return User.objects.create_superuser("olga", password=PASSWORD)


@pytest.fixture
def server(stage) -> Iterator[LiveSite]:
    with live_site() as running:
        yield running


@pytest.fixture
def site(server: LiveSite) -> str:
    return server.address


@pytest.fixture
def rex(stage, site) -> Iterator[Rex]:
    from django.utils import timezone

    from leaderboard.judging.runners import create_runner

    _, token = create_runner(name="rex", hardware="cpu", now=timezone.now())
    runner = Rex(site, token)
    runner.hello()
    yield runner
    runner.close()


@pytest.fixture
def chrome(rex: Rex) -> Iterator[Browser]:
    """The browser comes last, because Playwright's loop then runs in this thread and Django's ORM refuses to."""
    with chromium() as browser:
        yield browser


def open_page(chrome: Browser, site: str, **wanted: Any) -> Watched:
    page = chrome.new_context(base_url=site, **wanted).new_page()
    page.set_default_timeout(10_000)
    return Watched(page, site)


def sign_up(watched: Watched, name: str) -> None:
    page = watched.page
    page.goto("/sign-up")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    page.wait_for_url("**/welcome")


def sign_in(watched: Watched, name: str) -> None:
    page = watched.page
    page.goto("/sign-in")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")


@pytest.mark.parametrize(("scheme", "width"), SCENES)
def test_from_sign_up_to_a_ranked_entry(chrome, site, rex, tmp_path: Path, scheme: str, width: int) -> None:
    kernel = tmp_path / "fast.py"
    kernel.write_text(KERNEL)
    watched = open_page(chrome, site, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = watched.page
    sign_up(watched, "ada")
    watched.fits()

    page.goto("/")
    page.get_by_role("link", name="Row softmax").click()
    page.get_by_role("heading", name="Row softmax").wait_for()
    assert page.locator("math").count() > 0
    watched.fits()
    page.get_by_role("link", name="Submit a kernel").first.click()
    page.get_by_label("Your file").set_input_files(kernel)
    page.get_by_text("fast.py is in the editor below.").wait_for()
    assert page.get_by_role("textbox", name="Code").inner_text().rstrip() == KERNEL.rstrip()
    page.get_by_text("Ranked", exact=True).click()
    watched.fits()
    page.get_by_role("button", name="Send it to the judge").click()

    page.get_by_text("Waiting for a free runner.").wait_for()
    page.evaluate("window.sameDocument = true")
    job = rex.claim()
    assert (job["source"], job["filename"]) == (KERNEL, "fast.py")
    page.get_by_text("Taken by runner rex").wait_for()
    rex.say(job, state="building", message="Loading the file")
    page.get_by_text("Loading the file").wait_for()
    rex.say(job, kind="progress", message="Public cases", data={"done": 3, "total": 14})
    page.get_by_text("3 / 14").wait_for()
    rex.say(job, state="timing")
    page.locator('li[data-state="timing"][aria-current="step"]').wait_for()
    assert page.title().startswith("Timing · submission ")
    watched.fits()
    rex.report(job, **PASSED)
    page.get_by_role("heading", name="Passed").wait_for()
    assert page.evaluate("window.sameDocument"), "the verdict came without loading the page again"
    page.get_by_text("Rank 1 on").wait_for()
    assert page.title().startswith("Passed · submission ")
    watched.fits()

    page.get_by_role("link", name="the board", exact=True).click()
    row = page.locator("tr.own")
    row.wait_for()
    text = row.inner_text()
    assert "ada" in text
    assert "1.870\u202fms" in text
    assert "1.613×" in text
    watched.fits()
    watched.holds("tr.own td.extra")
    watched.is_calm()


def test_a_wrong_kernel_is_told_why(chrome, site, rex) -> None:
    watched = open_page(chrome, site)
    page = watched.page
    sign_up(watched, "ada")
    page.goto("/boards/vectoradd/submit")
    page.get_by_role("link", name="Python starter").click()
    assert "custom_kernel" in page.get_by_role("textbox", name="Code").inner_text()
    page.get_by_role("button", name="Send it to the judge").click()
    page.get_by_text("Waiting for a free runner.").wait_for()
    rex.report(rex.claim(), outcome="wrong", reason="nan", message="Case “size=1023”: expected 0.5, got nan at [1022].")
    page.get_by_role("heading", name="Wrong result").wait_for()
    page.get_by_text("expected 0.5, got nan at [1022]").wait_for()
    page.get_by_text("What to try.").wait_for()
    watched.is_calm()


def test_a_file_that_is_too_large_is_named_at_once(chrome, site, tmp_path: Path) -> None:
    kernel = tmp_path / "big.py"
    kernel.write_bytes(b"#" * 2_000_000)
    watched = open_page(chrome, site)
    sign_up(watched, "ada")
    watched.page.goto("/boards/softmax/submit")
    watched.page.get_by_label("Your file").set_input_files(kernel)
    watched.page.get_by_text("big.py has 2,000,000 bytes; a submission has at most 1,000,000.").wait_for()
    watched.is_calm()
    kernel.write_bytes(b"#" * 30_000_000)
    watched.page.get_by_label("Your file").set_input_files(kernel)
    watched.page.get_by_role("button", name="Send it to the judge").click()
    watched.page.get_by_role("heading", name="Too large").wait_for()


def test_a_held_result_waits_for_olga(chrome, site, rex) -> None:
    watched = open_page(chrome, site)
    page = watched.page
    sign_up(watched, "ada")
    page.goto("/boards/softmax/submit?mode=ranked")
    page.get_by_label("Code", exact=True).fill(KERNEL)
    page.get_by_role("button", name="Send it to the judge").click()
    page.get_by_text("Waiting for a free runner.").wait_for()
    rex.report(rex.claim(), **(PASSED | {"ratio": 0.1, "evidence": steady(0.1)}))
    page.get_by_role("heading", name="Passed, under review").wait_for()
    page.goto("/boards/softmax/cpu")
    page.get_by_text("Nobody has crossed the line on cpu yet").wait_for()

    reviewer = open_page(chrome, site)
    sign_in(reviewer, "olga")
    reviewer.page.goto("/review")
    reviewer.page.locator("td.name a").press("Enter")
    form = reviewer.page.locator('form[data-act="clear"]')
    reviewer.page.locator("summary", has_text="Clear").click()
    form.get_by_label("Reason", exact=True).fill("Read it: a real single-pass kernel.")
    form.get_by_role("button").click()
    reviewer.page.get_by_text("Cleared: submission").wait_for()
    page.reload()
    page.locator("tr.own").wait_for()
    watched.is_calm()
    reviewer.is_calm()


def test_works_without_javascript(chrome, site, rex) -> None:
    watched = open_page(chrome, site, java_script_enabled=False)
    page = watched.page
    sign_up(watched, "ada")
    page.goto("/boards/softmax")
    page.get_by_role("heading", name="Reference").wait_for()
    page.goto("/boards/softmax/submit")
    page.get_by_label("Code", exact=True).fill(KERNEL)
    page.get_by_role("button", name="Send it to the judge").click()
    page.get_by_text("This page reloads every 3 seconds.").wait_for()
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page.content()
    rex.report(rex.claim(), outcome="passed")
    page.reload()  # this chromium obeys no refresh inside noscript while a debugger holds its scripts back
    page.get_by_role("heading", name="Passed").wait_for()


def test_the_theme_is_remembered(chrome, site) -> None:
    watched = open_page(chrome, site, color_scheme="light")
    page = watched.page
    colour = "getComputedStyle(document.body).backgroundColor"
    page.goto("/")
    light = page.evaluate(colour)
    page.get_by_role("button", name="Switch to the dark theme").click()
    dark = page.evaluate(colour)
    assert dark != light
    page.goto("/boards")
    assert page.evaluate(colour) == dark
    page.get_by_role("button", name="Switch to the light theme").click()
    assert page.evaluate(colour) == light
    watched.is_calm()


def test_a_lost_server_is_found_again(chrome, server, site, rex) -> None:
    """The site restarts in the middle of a stream; the browser resumes after the last event it saw."""
    watched = open_page(chrome, site)
    page = watched.page
    page.set_default_timeout(20_000)
    sign_up(watched, "ada")
    page.goto("/boards/softmax/submit")
    page.get_by_label("Code", exact=True).fill(KERNEL)
    page.get_by_role("button", name="Send it to the judge").click()
    page.get_by_text("Waiting for a free runner.").wait_for()
    job = rex.claim()
    page.get_by_text("Taken by runner rex").wait_for()
    server.stop()
    page.get_by_text("Reconnecting").wait_for()
    server.start()
    rex.report(job, outcome="build_error", reason="syntax", message="line 3: invalid syntax")
    page.get_by_role("heading", name="It did not load").wait_for()
