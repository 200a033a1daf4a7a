"""`photofinish person`, `compare`, `search`, `problems`, `comments`, `comment` and `inbox`."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

SIDE = {"submission": 7, "user": "ada", "board": "softmax", "hardware": "cpu", "ratio": 0.5, "score_us": 500.0}
COMPARISON = {
    "first": SIDE,
    "second": {**SIDE, "submission": 8, "user": "ben", "ratio": 0.8},
    "comparable": True,
    "change": 0.625,
    "cases": [{"name": "rows=512", "first": {"measured_us": 500.0}, "second": None, "change": None}],
}
SETTINGS = {
    "page": ["verdict"],
    "mail": [],
    "webhook": ["review"],
    "webhook_host": "hooks.example",
    "webhook_format": "json",
    "webhook_on": False,
    "webhook_failure": "it answered 404",
    "sends_mail": True,
}
MESSAGE = {
    "id": 3,
    "title": "Overtaken on softmax\x1b[31m",
    "text": "Rank 2.",
    "url": "/boards/softmax/cpu",
    "count": 2,
    "updated_at": "2026-01-01T00:00:00Z",
    "read_at": None,
}


def test_person_shows_ranks_teams_and_badges(site: FakeSite, photofinish: Photofinish) -> None:
    line = {**SIDE, "rank": 1, "tied": True, "entrants": 9, "entrant": "ada"}
    site.more["/people/ada"] = {
        "name": "ada",
        "teams": [{"name": "fast ones", "url": "/x"}],
        "badges": [{"text": "First place: Row softmax on cpu", "url": "/x"}],
        "boards": [line],
    }
    out = photofinish("person", "ada").out
    assert f"ada: {site.url}/people/ada" in out
    assert "teams: fast ones" in out
    assert "· First place: Row softmax on cpu" in out
    assert "1= of 9\tsoftmax\tcpu\tada\t2.000×\t500.0 µs\t7" in out
    assert json.loads(photofinish("person", "ada", "--json").out)["boards"] == [line]


def test_person_without_a_profile_is_a_wrong_name(photofinish: Photofinish) -> None:
    ended = photofinish("person", "nobody")
    assert (ended.code, ended.out) == (2, "")


def test_compare_shows_both_entries_and_their_cases(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/compare"] = COMPARISON
    out = photofinish("compare", "7", "8").out
    assert "8\tben\tsoftmax\tcpu\t1.250×" in out
    assert "the second is 0.625× as fast" in out
    assert "rows=512\t500.0 µs\t–\t" in out
    site.more["/compare"] = {**COMPARISON, "comparable": False}
    assert "do not compare" in photofinish("compare", "7", "8").err
    assert photofinish("compare", "7", "x").code == 2


def test_find_lists_pages_by_kind(site: FakeSite, photofinish: Photofinish) -> None:
    hit = {"title": "ada", "about": "", "url": "/people/ada"}
    site.more["/search"] = {"people": [hit], "problems": [], "competitions": []}
    assert f"people\tada\t\t{site.url}/people/ada" in photofinish("find", "ad", "lovelace").out
    site.more["/search"] = {"people": [], "problems": [], "competitions": []}
    assert "nothing has a name" in photofinish("find", "zzz").err


def test_problems_show_tags_level_and_ones_status(site: FakeSite, photofinish: Photofinish) -> None:
    row = {"slug": "softmax", "title": "Softmax", "competition_slug": "k", "hardware": ["cpu"], "level": None}
    row |= {"tags": ["ml"], "open": True, "status": "ranked", "ranks": {"cpu": 2}}
    site.more["/problems"] = [row, {**row, "slug": "scan", "ranks": {}, "status": "new", "open": False, "level": 2}]
    out = photofinish("problems", "--tag", "ml", "--open").out
    assert "softmax\tSoftmax\tk\tcpu\t–\tml\topen\t2 on cpu" in out
    assert "scan\tSoftmax\tk\tcpu\t2\tml\tclosed\tnew" in out


def test_comments_are_shown_and_written(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = {"id": 5, "author": "ben", "text": "one\ntwo", "created_at": "2026-01-01T00:00:00Z", "removal": ""}
    gone = {**post, "id": 4, "text": "", "removal": "spam"}
    site.more["/boards/softmax/cpu/posts"] = [post, gone]
    out = photofinish("comments", "softmax").out
    assert "5  ben, 2026-01-01 00:00 UTC\n    one\n    two\n" in out
    assert "removed by a moderator: spam" in out
    site.act_answer = {**post, "author": "ada"}
    assert "published as ada" in photofinish("comment", "softmax", "Thanks").out
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"Shared memory\n"), isatty=lambda: False))
    photofinish("comment", "softmax", "-", "--write-up")
    assert site.acts == [
        ("/boards/softmax/cpu/posts", {"kind": "comment", "text": "Thanks"}),
        ("/boards/softmax/cpu/posts", {"kind": "write_up", "text": "Shared memory\n"}),
    ]
    assert "'nope' is not known" in photofinish("comments", "nope").err


def test_inbox_lists_and_reads_messages(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/notifications"] = [MESSAGE]
    out = photofinish("inbox").out
    assert "new\t3\t2026-01-01 00:00 UTC\tOvertaken on softmax[31m (2 times)\tRank 2.\t" in out
    assert f"{site.url}/boards/softmax/cpu" in out
    assert json.loads(photofinish("inbox", "--unread", "--json").out)[0]["id"] == 3
    site.act_answer = {"read": 2}
    assert photofinish("inbox", "read").out == "read: 2\n"
    photofinish("inbox", "read", "3")
    assert site.acts == [("/notifications/read", {"ids": []}), ("/notifications/read", {"ids": [3]})]


def test_inbox_shows_and_chooses_channels(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/notifications/settings"] = SETTINGS
    out = photofinish("inbox", "channels").out
    assert out.splitlines() == [
        "page: verdict",
        "mail: none",
        "webhook: review",
        "webhook at hooks.example, format json: off; it answered 404",
    ]
    site.act_answer = SETTINGS
    photofinish("inbox", "channels", "--mail", "review,verdict", "--webhook", "none")
    assert site.acts == [("/notifications/settings", {"mail": ["review", "verdict"], "webhook": []})]


def test_inbox_sets_a_webhook_from_stdin_and_shows_its_secret(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.act_answer = {"host": "hooks.example", "format": "json", "secret": "pfw_shown-once"}
    address = SimpleNamespace(buffer=io.BytesIO(b"https://hooks.example/x\n"), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", address)
    ended = photofinish("inbox", "webhook", "set")
    assert ended.out.splitlines() == ["messages go to hooks.example", "secret, shown only now: pfw_shown-once"]
    assert photofinish("inbox", "webhook", "rotate").out.splitlines()[1].endswith("pfw_shown-once")
    assert "arrived at hooks.example" in photofinish("inbox", "webhook", "test").out
    assert [path for path, _ in site.acts] == [
        "/notifications/webhook",
        "/notifications/webhook/rotate",
        "/notifications/webhook/test",
    ]
    assert site.acts[0][1] == {"address": "https://hooks.example/x", "format": "json"}
    assert photofinish("inbox", "webhook", "paint").code == 2
