"""Pages of the worklog: written, merged after a conflict, handed in, exported, printed, and kept from strangers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from leaderboard.competitions.models import Role
from leaderboard.matches import acts
from leaderboard.matches.models import HandIn, SectionText
from leaderboard.matches.worklog import hand_in, save_section
from tests.e2e.browser import Watched, chromium
from tests.web.live_site import live_site
from tests.web.matches.test_match_pages import page, played
from tests.web.test_pages_hold import NARROW, WIDE, axe_faults

if TYPE_CHECKING:
    from leaderboard.matches.models import Match
    from tests.leaderboard.stage import Stage


def saved(stage: Stage, match: Match, text: str, section: str = "plan", revision: int = 0) -> SectionText:
    told: dict[str, Any] = {"author": stage.ada, "now": stage.later(1), "revision": revision}
    return save_section(match=match, section=section, text=text, **told)


def test_worklog_names_missing_sections_and_shows_facts(stage, browser) -> None:
    match = played(stage, human=(None, 0.5), machine=(0.8,))
    assert f"/matches/{match.pk}/worklog" in page(browser, stage.ada, f"/matches/{match.pk}")
    text = page(browser, stage.ada, f"/matches/{match.pk}/worklog")
    assert "Still empty: Problem and plan, The attempt by hand, The model" in text
    assert "ada leads" in text
    assert "Prompt of version 1" in text
    number = match.versions.get(side="human", number=2).submission_id
    assert f'<a href="/matches/{match.pk}/human/2">#{number}</a>' in text


def test_section_is_written_in_markdown_with_math_and_links(stage, browser) -> None:
    match, client = played(stage, human=(0.5,)), browser(stage.ada)
    address, number = f"/matches/{match.pk}/worklog/hand", match.versions.get().submission_id
    assert "Write #12" not in page(browser, stage.ada, address)
    sent = {"text": f"**Fast**: 2× (#{number}), $x^2$ <script>", "revision": "0"}
    assert client.post(address, sent).headers["Location"] == f"/matches/{match.pk}/worklog#hand"
    text = page(browser, stage.ada, f"/matches/{match.pk}/worklog")
    assert "<strong>Fast</strong>" in text
    assert f'href="/matches/{match.pk}/human/1" rel="nofollow noopener">#{number}</a>' in text
    assert "<math" in text
    assert "&lt;script&gt;" in text
    assert "Saved by ada" in text
    assert "**Fast**" in page(browser, stage.ada, address)


def test_conflict_shows_both_texts_and_the_next_save_merges_them(stage, browser) -> None:
    match, client = played(stage), browser(stage.ada)
    address = f"/matches/{match.pk}/worklog/plan"
    saved(stage, match, "The text of a mate.")
    answer = client.post(address, {"text": "My own text.", "revision": "0"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "The text of a mate." in text
    assert "My own text." in text
    assert 'name="revision" value="1"' in text
    assert SectionText.objects.get().text == "The text of a mate."
    assert client.post(address, {"text": "Both texts.", "revision": "1"}).status_code == 302
    assert SectionText.objects.get().text == "Both texts."


def test_refused_text_stays_in_the_form(stage, browser) -> None:
    match = played(stage)
    answer = browser(stage.ada).post(f"/matches/{match.pk}/worklog/plan", {"text": "x" * 20_001, "revision": "0"})
    assert answer.status_code == 413
    assert "20,001 characters; a section has at most 20,000" in answer.content.decode()
    assert "x" * 20_001 in answer.content.decode()
    assert browser(stage.ada).get(f"/matches/{match.pk}/worklog/poem").status_code == 404


def test_worklog_is_handed_in_and_read_as_it_was(stage, browser) -> None:
    match, client = played(stage, human=(0.5,)), browser(stage.ada)
    address = f"/matches/{match.pk}/worklog"
    assert "every section is empty" in client.post(f"{address}/hand-in", follow=True).content.decode().lower()
    saved(stage, match, "The plan of then.")
    told = client.post(f"{address}/hand-in", follow=True).content.decode()
    assert "Handed in. Still empty: The attempt by hand" in told
    saved(stage, match, "The plan of now.", revision=1)
    handed = HandIn.objects.get()
    shown = page(browser, stage.ada, f"{address}?hand_in={handed.pk}")
    assert "The plan of then." in shown
    assert "The plan of now." not in shown
    assert "Hand it in" not in shown
    for wrong in ("0", "x", "9" * 30):
        assert page(browser, stage.ada, f"{address}?hand_in={wrong}", 404)


def test_worklog_is_exported_as_markdown_and_json(stage, browser) -> None:
    match, client = played(stage, human=(0.5,)), browser(stage.ada)
    saved(stage, match, "The plan.")
    handed = hand_in(match=match, author=stage.ada, now=stage.now)
    answer = client.get(f"/matches/{match.pk}/worklog.md")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="worklog-{match.pk}.md"'
    assert f"({settings.SITE_URL}/matches/{match.pk}/human/1)" in answer.content.decode()
    document = json.loads(client.get(f"/matches/{match.pk}/worklog.json?hand_in={handed.pk}").content)
    assert (document["schema"], document["texts"]["plan"]) == (2, "The plan.")
    assert document["hand_in"]["digest"] == handed.digest
    assert client.get(f"/matches/{match.pk}/worklog.pdf").status_code == 404


def test_worklog_of_a_public_match_stays_with_authors_and_staff(stage, browser) -> None:
    match = played(stage, human=(0.5,))
    saved(stage, match, "A private thought.")
    acts.publish(match=match, actor=stage.ada, now=stage.now)
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.REVIEWER)
    assert "Worklog" not in page(browser, stage.ben, f"/matches/{match.pk}")
    for path in ("worklog", "worklog/print", "worklog/plan", "worklog.md", "worklog.json"):
        assert browser(None).get(f"/matches/{match.pk}/{path}").headers["Location"].startswith("/sign-in")
        assert browser(stage.ben).get(f"/matches/{match.pk}/{path}").status_code == 404
    text = page(browser, stage.cleo, f"/matches/{match.pk}/worklog")
    assert "A private thought." in text
    assert "Hand it in" not in text
    assert browser(stage.cleo).get(f"/matches/{match.pk}/worklog/plan").status_code == 404
    assert not HandIn.objects.exists()


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_worklog_fits_is_accessible_and_prints_whole(transactional_db, stage, browser) -> None:
    match = played(stage, human=(None, 0.5), machine=(0.8,))
    plan = "# Plan\n\n$$\\sum_i x_i$$\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```python\n" + "x" * 200 + "\n```\n"
    saved(stage, match, plan)
    hand_in(match=match, author=stage.ada, now=stage.now)
    cookie = browser(stage.ada).cookies[settings.SESSION_COOKIE_NAME].value
    with live_site() as site, chromium() as chrome:
        for scheme in ("light", "dark"):
            context = chrome.new_context(base_url=site.address, color_scheme=scheme, viewport=WIDE)
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": site.address}])
            watched = Watched(context.new_page(), site.address)
            for path in ("worklog", "worklog/print", "worklog/plan"):
                shown = watched.page
                assert shown.goto(f"/matches/{match.pk}/{path}").status == 200
                assert not axe_faults(shown, {}), path
                for size in (WIDE, NARROW):
                    shown.set_viewport_size(size)
                    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                    assert shown.evaluate(wide) <= 0, (path, size)
                shown.set_viewport_size(WIDE)
            shown.goto(f"/matches/{match.pk}/worklog/print")
            shown.emulate_media(media="print")
            assert shown.locator("pre", has_text="I use vectorised loads.").is_visible()
            assert not shown.locator(".site-header").is_visible()
            assert shown.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
            assert not watched.complaints
