"""A match in a real browser: prediction, a version from the editor, its verdict on the open page, a pasted answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.browser import chromium
from tests.leaderboard.matches.test_matches import WHY
from tests.web.live_site import live_site
from tests.web.matches.test_match_pages import ANSWER
from tests.web.submissions.test_editor_in_a_browser import newest, open_page
from tests.web.submissions.test_live_page_polls_without_a_stream import judge_elsewhere
from tests.web.test_slow_pages_starve_nobody import cookies_of

if TYPE_CHECKING:
    from tests.leaderboard.stage import Stage

pytestmark = pytest.mark.browser


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    from django.utils import timezone

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    return stage


def test_match_is_played_in_a_browser(stage: Any) -> None:
    cookies = cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        watched = open_page(browser, site.address, cookies)
        page = watched.page
        page.goto("/boards/softmax/cpu")
        page.get_by_role("link", name="Match against a model").click()
        page.get_by_label("Model", exact=True).fill("acme/coder-7b")
        page.get_by_role("button", name="Open the match").click()
        page.get_by_label("Memory: moving the data takes the time").check()
        page.get_by_label("Expected speed-up").fill("2")
        page.get_by_label("Why", exact=True).fill(WHY)
        page.get_by_role("button", name="Commit the prediction").click()
        page.get_by_text("Your prediction is committed. Now measure.").wait_for()

        page.get_by_role("link", name="Send a version").click()
        page.locator(".cm-content").wait_for()  # the editor hides the plain text field once it is loaded
        code = page.get_by_role("textbox", name="Code")
        code.click()
        page.keyboard.insert_text("def custom_kernel(data):\n    return data\n")
        page.get_by_role("button", name="Send version 1").click()
        page.get_by_text("Version 1 is sent to the judge.").wait_for()
        page.get_by_text("queued", exact=True).wait_for()
        judge_elsewhere(stage, newest(stage), ratio=0.5)
        page.get_by_text("faster", exact=True).wait_for(timeout=40_000)
        assert "The table has changed." in page.locator("#board-news").inner_text()

        page.get_by_role("link", name="Paste an answer").click()
        page.get_by_label("Prompt").fill("Write a fast kernel.")
        page.get_by_label("Answer").fill(ANSWER)
        page.get_by_role("button", name="Send it to the judge").click()
        page.get_by_text("Version 1 of the machine is sent to the judge.").wait_for()
        page.get_by_role("button", name="Publish it").click()
        page.get_by_role("button", name="Make it private").wait_for()
        assert not watched.complaints
        assert not watched.elsewhere
