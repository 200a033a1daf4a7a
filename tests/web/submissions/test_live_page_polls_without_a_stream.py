"""Without its event stream, a submission's page polls the submission itself and shows the verdict."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.browser import chromium
from tests.web.live_site import live_site
from tests.web.test_slow_pages_starve_nobody import cookies_of


@pytest.fixture
def stage(transactional_db: None):
    from django.utils import timezone

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    return stage


def judge_elsewhere(stage, submission, **told) -> None:
    """Judge in a separate thread: beside Playwright's event loop, Django would open another connection."""
    from django.db import connection

    def judge() -> None:
        try:
            stage.judge(submission, **told)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(judge).result()


def test_live_page_polls_by_etag_where_the_stream_is_refused(stage) -> None:
    submission = stage.submit()
    cookies = cookies_of(stage.ada)
    asked: list[tuple[int, bool]] = []
    with live_site() as site, chromium() as browser:
        context = browser.new_context()
        context.add_cookies([{"name": name, "value": value, "url": site.address} for name, value in cookies.items()])
        page = context.new_page()
        page.route("**/events", lambda route: route.fulfill(status=429, body="{}"))
        page.on(
            "response",
            lambda answer: (
                asked.append((answer.status, "if-none-match" in answer.request.headers))
                if answer.url.endswith(f"/api/v1/submissions/{submission.pk}")
                else None
            ),
        )
        page.goto(f"{site.address}/submissions/{submission.pk}")
        while (304, True) not in asked:
            page.wait_for_timeout(100)
        judge_elsewhere(stage, submission)
        page.wait_for_selector("#verdict-title", timeout=60_000)
    assert (200, False) in asked
    assert (304, True) in asked, "nothing new costs a line"
