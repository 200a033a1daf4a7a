"""The submit page in a real browser: editor, drafts, markers, the verdict beside the code; and without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.browser import Watched, chromium
from tests.web.live_site import live_site
from tests.web.submissions.test_live_page_polls_without_a_stream import judge_elsewhere
from tests.web.submissions.test_workbench import give_starters
from tests.web.test_slow_pages_starve_nobody import cookies_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

ADDRESS = "/boards/softmax/submit"
MESSAGE = 'Traceback:\n  File "submission.py", line 2, in custom_kernel\nValueError: odd'


@pytest.fixture
def stage(transactional_db: None):
    from django.utils import timezone

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    give_starters(Python="def custom_kernel(data):\n    return data\n")
    return stage


def open_page(browser: Browser, site: str, cookies: dict[str, str], **wanted: Any) -> Watched:
    context = browser.new_context(base_url=site, viewport={"width": 1400, "height": 900}, **wanted)
    context.add_cookies([{"name": name, "value": value, "url": site} for name, value in cookies.items()])
    page = context.new_page()
    page.set_default_timeout(20_000)
    return Watched(page, site)


def newest(stage) -> Any:
    """Return the newest submission, read in a thread of its own: Playwright's loop runs in this one."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    def read() -> Any:
        try:
            return stage.ada.submissions.latest("pk")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(read).result()


def test_code_is_written_sent_and_mended_in_the_editor(stage) -> None:
    cookies = cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        watched = open_page(browser, site.address, cookies)
        page = watched.page
        page.goto(ADDRESS)
        page.get_by_role("link", name="Python starter").click()
        code = page.get_by_role("textbox", name="Code")
        assert code.inner_text().startswith("def custom_kernel")

        code.press("Control+Home")
        code.press("Tab")
        assert code.inner_text().startswith("    def custom_kernel"), "Tab indents"
        page.get_by_text("Line 1: unexpected indent").wait_for()
        assert page.locator(".cm-lint-marker-error").count() == 1
        code.press("Escape")
        code.press("Tab")
        assert not code.evaluate("element => element === element.getRootNode().activeElement"), "Escape lets Tab leave"
        page.reload()
        page.get_by_text("Your draft, saved").wait_for()
        assert code.inner_text().startswith("    def custom_kernel")

        page.get_by_role("button", name="Send it to the judge").click()
        page.get_by_text("Python cannot read line 1, column 4: unexpected indent.").wait_for()
        code.press("Control+Home")
        code.press("Shift+Tab")
        code.press("Control+Enter")
        page.locator("#pane .lane-list").wait_for()
        first = newest(stage)
        assert page.url.endswith(ADDRESS), "the editor stays"
        judge_elsewhere(stage, first, outcome="runtime_error", message=MESSAGE)
        page.get_by_role("heading", name="It failed while running").wait_for()
        assert page.locator(".cm-lint-marker-warning").count() == 1

        page.locator("#pane").get_by_role("button", name="Send ranked").click()
        page.locator("#pane").get_by_text("ranked", exact=True).wait_for()
        assert newest(stage).mode == "ranked"
        assert code.inner_text().startswith("def custom_kernel")

        code.press("Control+f")
        page.get_by_role("textbox", name="Find").wait_for()
        watched.fits()
        watched.complaints = [said for said in watched.complaints if "status of 400" not in said]  # the refused code
        watched.is_calm()


def test_without_javascript_the_page_is_a_plain_form(stage) -> None:
    cookies = cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        page = open_page(browser, site.address, cookies, java_script_enabled=False).page
        page.goto(ADDRESS)
        page.get_by_role("link", name="Python starter").click()
        code = page.get_by_label("Code", exact=True)
        assert code.input_value().startswith("def custom_kernel")
        code.fill("def custom_kernel(data):\n    return data  # by hand\n")
        page.get_by_role("button", name="Send it to the judge").click()
        page.wait_for_url("**/submissions/*")
    assert stage.ada.submissions.get().source.endswith("# by hand\n")


def test_a_file_unticks_the_remix_and_the_draft_keeps_the_box(stage) -> None:
    original = stage.submit(stage.ada)
    cookies = cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        watched = open_page(browser, site.address, cookies)
        page = watched.page
        page.goto(f"{ADDRESS}?remix={original.pk}")
        box = page.get_by_role("checkbox", name=f"Remix of submission {original.pk}")
        assert box.is_checked()
        file = {"name": "own.py", "mimeType": "text/x-python", "buffer": b"OWN = 1\n"}
        page.get_by_label("Your file").set_input_files(file)
        page.get_by_text("own.py is in the editor below.").wait_for()
        assert not box.is_checked()
        page.get_by_text("Draft saved").wait_for()

        with page.expect_response("**/draft"):
            box.check()
        page.goto(ADDRESS)
        page.get_by_text("Your draft, saved").wait_for()
        assert page.get_by_role("textbox", name="Code").inner_text().startswith("OWN = 1")
        assert box.is_checked()
        with page.expect_response("**/draft"):
            box.uncheck()
        page.goto(ADDRESS)
        page.get_by_text("Your draft, saved").wait_for()
        assert box.count() == 0
        watched.is_calm()


def test_edits_before_a_refused_send_are_in_the_draft(stage) -> None:
    cookies = cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        for width, code in ((1400, "wide = (\n"), (800, "narrow = (\n")):
            page = open_page(browser, site.address, cookies).page
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(ADDRESS)
            editor = page.get_by_role("textbox", name="Code")
            editor.fill(code)
            editor.press("Control+Enter")
            page.get_by_text("Python cannot read line").wait_for()
            page.get_by_text("Draft saved").wait_for()
            page.goto(ADDRESS)
            page.get_by_text("Your draft, saved").wait_for()
            assert editor.inner_text().startswith(code.strip())

        page = open_page(browser, site.address, cookies).page
        page.goto(ADDRESS)
        page.route(f"**{ADDRESS}", lambda route: route.abort())
        editor = page.get_by_role("textbox", name="Code")
        editor.fill("unanswered = 1\n")
        editor.press("Control+Enter")
        page.get_by_text("The site does not answer").wait_for()
        page.get_by_text("Draft saved").wait_for()
        assert page.get_by_text("The site does not answer").is_visible()


def test_code_sent_while_signed_out_stays_and_goes_after_signing_in_again(stage) -> None:
    cookies = cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        page = open_page(browser, site.address, cookies).page
        page.goto(ADDRESS)
        page.context.clear_cookies(name="sessionid")
        editor = page.get_by_role("textbox", name="Code")
        editor.fill("precious = 1\n")
        editor.press("Control+Enter")
        page.locator("#form-notice").get_by_text("you are signed out; sign in again in another tab").wait_for()
        assert page.url.endswith(ADDRESS)
        assert editor.inner_text().startswith("precious")

        again = cookies | {"csrftoken": "n" * 32}  # signing in renews the token of forms
        page.context.add_cookies([{"name": name, "value": value, "url": site.address} for name, value in again.items()])
        editor.press("Control+Enter")
        page.locator("#pane .lane-list").wait_for()
        assert page.locator("#form-notice .notice").count() == 0
    assert stage.ada.submissions.get().source == "precious = 1\n"
