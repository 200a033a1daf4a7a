"""Feeds, sitemap.xml and robots.txt: what they list, and that they list nothing of hidden competitions."""

from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.competitions.access import publish_announcement, withdraw_announcement
from tests.leaderboard.stage import make_board

ATOM = "{http://www.w3.org/2005/Atom}"
FEEDS = (
    "/feeds/records.atom",
    "/feeds/announcements.atom",
    "/competitions/kernels-101/records.atom",
    "/competitions/kernels-101/announcements.atom",
)


def titles(answer) -> list[str]:
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/atom+xml")
    return [
        entry.findtext(f"{ATOM}title") or "" for entry in ElementTree.fromstring(answer.content).iter(f"{ATOM}entry")
    ]


def announce(stage, title: str = "Good news"):
    return publish_announcement(
        competition=stage.board.competition, title=title, text="We *begin*.", actor=stage.olga, now=stage.later(1)
    )


def hide(stage, visibility: str) -> None:
    type(stage.board.competition).objects.update(visibility=visibility)


@pytest.mark.parametrize("path", ["/feeds/records.atom", "/competitions/kernels-101/records.atom"])
def test_a_new_leader_is_a_new_item_of_the_feed_of_records(stage, browser, path: str) -> None:
    assert titles(browser(None).get(path)) == []
    first = stage.submit(stage.ben)
    stage.judge(first, ratio=0.8)
    assert titles(browser(None).get(path)) == ["Row softmax on cpu: ben, 1.250×"]
    before = browser(None).get(path)
    assert f"/entries/{first.pk}" in before.content.decode()
    stage.judge(stage.submit(stage.ada), ratio=0.5)
    after = browser(None).get(path, headers={"If-None-Match": before["ETag"]})
    assert titles(after) == ["Row softmax on cpu: ada, 2.000×"]


def test_feeds_without_items_stay_the_same(stage, browser) -> None:
    for path in FEEDS:
        first = browser(None).get(path)
        assert browser(None).get(path, headers={"If-None-Match": first["ETag"]}).status_code == 304


def test_announcements_are_items_until_they_are_withdrawn(stage, browser) -> None:
    news = announce(stage)
    assert titles(browser(None).get("/feeds/announcements.atom")) == ["Kernels 101: Good news"]
    answer = browser(None).get("/competitions/kernels-101/announcements.atom")
    assert titles(answer) == ["Good news"]
    assert "&lt;em&gt;begin&lt;/em&gt;" in answer.content.decode()
    withdraw_announcement(announcement=news, actor=stage.olga, reason="too early", now=stage.later(1))
    assert titles(browser(None).get("/feeds/announcements.atom")) == []


@pytest.mark.parametrize("who", [None, "ada", "olga"])
def test_closed_competitions_are_in_no_feed_and_no_map(stage, browser, who) -> None:
    stage.judge(stage.submit())
    announce(stage)
    hide(stage, "closed")
    client = browser(getattr(stage, who) if who else None)
    assert [titles(client.get(path)) for path in FEEDS[:2]] == [[], []]
    assert [client.get(path).status_code for path in FEEDS[2:]] == [404, 404]
    assert "softmax" not in client.get("/sitemap.xml").content.decode()
    assert "kernels-101" not in client.get("/sitemap.xml").content.decode()


def test_unlisted_competitions_have_feeds_at_their_address_alone(stage, browser) -> None:
    stage.judge(stage.submit())
    announce(stage)
    hide(stage, "unlisted")
    assert [titles(browser(stage.olga).get(path)) for path in FEEDS[:2]] == [[], []]
    assert [len(titles(browser(None).get(path))) for path in FEEDS[2:]] == [1, 1]
    assert "softmax" not in browser(stage.olga).get("/sitemap.xml").content.decode()


def test_records_sent_during_a_freeze_are_in_no_feed(stage, browser) -> None:
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    frozen = stage.now + timedelta(seconds=1)
    type(stage.board.competition).objects.update(freeze_at=frozen, deadline=frozen + timedelta(days=9999))
    stage.board.refresh_from_db()
    stage.judge(stage.submit(stage.ada), ratio=0.5)
    for client in (browser(None), browser(stage.olga)):
        assert titles(client.get("/feeds/records.atom")) == ["Row softmax on cpu: ben, 1.250×"]


def test_a_feed_names_the_pseudonym_of_an_entrant(stage, browser) -> None:
    stage.judge(stage.submit())
    type(stage.submit().entrant).objects.update(pseudonym="swift-otter")
    text = browser(None).get("/feeds/records.atom").content.decode()
    assert "swift-otter" in text
    assert "ada" not in text


def queries(browser, path: str) -> int:
    browser(None).get(path)
    with CaptureQueriesContext(connection) as asked:
        assert browser(None).get(path).status_code == 200
    found = [query["sql"] for query in asked]
    assert len(found) == len(set(found))
    return len(found)


def test_feeds_and_map_ask_as_many_queries_for_many_boards(stage, browser) -> None:
    paths = ("/feeds/records.atom", "/sitemap.xml")
    stage.judge(stage.submit())
    few = [queries(browser, path) for path in paths]
    for name in ("sort", "scan", "sum"):
        stage.judge(stage.submit(board=make_board(name)))
    assert [queries(browser, path) for path in paths] == few
    assert max(few) <= 8


def test_the_map_lists_public_pages_and_robots_name_it(stage, browser) -> None:
    text = browser(None).get("/sitemap.xml").content
    found = [one.text or "" for one in ElementTree.fromstring(text).iter() if one.tag.endswith("loc")]
    paths = {address.removeprefix("http://127.0.0.1:8000") for address in found}
    assert {"/", "/boards/softmax", "/boards/softmax/cpu", "/competitions/kernels-101", "/docs/rules"} <= paths
    assert [path for path in sorted(paths) if browser(None).get(path).status_code != 200] == []
    assert b"Sitemap: http://127.0.0.1:8000/sitemap.xml" in browser(None).get("/robots.txt").content


@pytest.mark.parametrize("text", ["a\x0bb", "a\x0cb", "a&#12;b", "$\x1f$", "a\uffffb"])
def test_characters_that_xml_has_not_end_no_feed(stage, browser, text: str) -> None:
    """An organiser of one competition must not be able to end the feed of the whole site."""
    publish_announcement(
        competition=stage.board.competition, title="News", text=text, actor=stage.olga, now=stage.later(1)
    )
    for path in ("/feeds/announcements.atom", "/competitions/kernels-101/announcements.atom"):
        assert titles(browser(None).get(path))


def test_names_kept_from_before_their_check_end_no_feed(stage, browser) -> None:
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    news = announce(stage)
    for row, field in ((news, "title"), (stage.board.competition, "name"), (stage.board.problem, "title")):
        type(row).objects.filter(pk=row.pk).update(**{field: "Gold\x01cup"})
    assert [titles(browser(None).get(path)) for path in FEEDS] == [
        ["Goldcup on cpu: ben, 1.250×"],
        ["Goldcup: Goldcup"],
        ["Goldcup on cpu: ben, 1.250×"],
        ["Goldcup"],
    ]
