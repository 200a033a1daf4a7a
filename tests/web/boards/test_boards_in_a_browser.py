"""In a browser a board follows new results, its progress is drawn and saved, and the list of boards is refined."""

import pytest

from leaderboard.accounts.models import User
from tests.e2e.browser import Watched, chromium
from tests.web.live_site import live_site
from tests.web.submissions.test_live_page_polls_without_a_stream import judge_elsewhere
from tests.web.test_slow_pages_starve_nobody import cookies_of


@pytest.fixture
def stage(transactional_db: None):
    from django.utils import timezone

    from tests.leaderboard.stage import make_board, make_stage

    stage = make_stage()
    make_board("layernorm", "H200")
    stage.now = timezone.now()
    stage.judge(stage.submit(stage.ada), ratio=0.8)
    stage.judge(stage.submit(stage.ben), ratio=0.7)
    return stage


@pytest.mark.browser
def test_board_chart_and_filters_work_in_a_browser(stage) -> None:
    submission, cookies = stage.submit(stage.ada), cookies_of(stage.ada)
    with live_site() as site, chromium() as browser:
        context = browser.new_context(base_url=site.address, viewport={"width": 390, "height": 800})
        context.add_cookies([{"name": name, "value": value, "url": site.address} for name, value in cookies.items()])
        page = context.new_page()
        watched = Watched(page, site.address)

        page.goto("/boards/softmax/cpu")
        judge_elsewhere(stage, submission, ratio=0.6)
        page.wait_for_timeout(100)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.locator("#board-news:not(:empty)").wait_for(state="attached")
        assert page.locator("#board-news").text_content() == "The table has changed. New: ada 1.667×. ada leads."
        assert page.locator("tr.fresh.own td.name").count() == 1
        watched.fits()

        page.goto("/boards/softmax/cpu/history")
        page.locator(".trend-plot canvas").wait_for()
        values = page.locator("[data-value]").all_text_contents()
        assert values == ["1.667×", "1.667×", "1.429×"], "the record, ada, ben"
        page.click("[data-scale=log]")
        page.click("[data-series='2']")
        assert page.locator("[data-series='2']").get_attribute("aria-pressed") == "false"
        with page.expect_download() as saved:
            page.click("[data-save]")
        assert saved.value.suggested_filename == "row-softmax-on-cpu-progress.png"
        watched.fits()

        page.goto("/boards")
        page.fill("#id_q", "layer")
        page.wait_for_url("**/boards?q=layer*")
        page.locator("#boards td.name").first.wait_for()
        assert page.locator("#boards td.name a").evaluate_all("links => links.map(link => link.pathname)") == [
            "/boards/layernorm/H200"
        ]
        watched.fits()
        watched.is_calm()


@pytest.mark.browser
def test_the_header_of_staff_takes_one_row(stage) -> None:
    from leaderboard.accounts.models import User
    from leaderboard.inbox.models import Message

    long = User.objects.create_superuser("organiser-with-a-long-name")
    told = {"kind": "verdict", "title": "x", "url": "/elsewhere", "created_at": stage.now, "updated_at": stage.now}
    Message.objects.bulk_create(Message(user=long, subject=f"board:{number}", **told) for number in range(101))
    cookies = cookies_of(long)
    with live_site() as site, chromium() as browser:
        context = browser.new_context(base_url=site.address, viewport={"width": 1400, "height": 800})
        context.add_cookies([{"name": name, "value": value, "url": site.address} for name, value in cookies.items()])
        page = context.new_page()
        page.goto("/boards")
        tops = page.locator(".site-header nav").evaluate_all("navs => navs.map(nav => nav.getBoundingClientRect())")
        assert page.locator(".bell span").text_content() == "99+"
        assert max(box["bottom"] for box in tops) - min(box["top"] for box in tops) < 45


@pytest.mark.browser
def test_long_ranking_folds_theme_returns_and_dates_are_local(stage) -> None:
    for number in range(26):
        stage.judge(stage.submit(User.objects.create_user(f"racer{number}")), ratio=0.9 + number / 1_000)
    with live_site() as site, chromium() as browser:
        where = {"timezone_id": "Asia/Tokyo", "locale": "en-GB", "color_scheme": "light"}
        page = browser.new_context(base_url=site.address, viewport={"width": 390, "height": 800}, **where).new_page()
        watched = Watched(page, site.address)

        page.goto("/boards/softmax/cpu")
        rows, folder = page.locator("table.ranking tbody tr:visible"), page.locator("[data-fold]")
        assert (rows.count(), folder.text_content()) == (25, "Show all 28 on this page")
        folder.click()
        assert (rows.count(), folder.get_attribute("aria-expanded")) == (28, "true")
        folder.click()
        assert (rows.count(), folder.text_content()) == (25, "Show all 28 on this page")
        watched.fits()

        themes = []
        for _ in range(3):
            page.click(".theme-toggle")
            themes.append(page.evaluate("document.documentElement.dataset.theme ?? 'system'"))
        assert themes == ["dark", "light", "system"]
        assert page.evaluate("localStorage.getItem('theme')") is None
        assert page.locator(".theme-toggle").get_attribute("title") == "Theme: as your system"

        page.click("td.speedup a >> nth=0")
        assert page.locator("time[data-utc]").first.text_content().endswith("GMT+9)")
        page.goto("/boards/softmax/cpu/cases")
        watched.fits()
        watched.is_calm()
