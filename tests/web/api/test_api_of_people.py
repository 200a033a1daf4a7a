"""Profiles, comparison, search, problems, messages and discussions over /api/v1: as the pages show them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.competitions.models import Competition, Role
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import take_pseudonym
from leaderboard.inbox import hooks, tell
from leaderboard.inbox.models import KINDS, Message, Preference
from tests.leaderboard.stage import make_board

CASES = (
    {"stage": "time", "name": "rows=512", "public": True, "good": True, "measured_us": 500.0, "baseline_us": 1000.0,
     "ratio": 0.5, "half_width": 0.01},
)  # fmt: skip
POSTS = "/api/v1/boards/softmax/cpu/posts"
ADDRESS = "https://hooks.example/services/secret-part"


@pytest.fixture
def raced(stage):
    stage.now = timezone.now() - timedelta(hours=3)
    for owner, ratio in ((stage.ada, 0.5), (stage.ben, 0.8)):
        stage.judge(stage.submit(owner), ratio=ratio, score_us=1000 * ratio, cases=CASES)
    return stage


def post(client, address: str, /, **sent):
    return client.post(f"/api/v1{address}", sent, content_type="application/json")


def test_a_profile_has_ranks_firsts_and_activity(raced, browser) -> None:
    found = browser(None).get("/api/v1/people/ADA").json()
    assert (found["name"], found["teams"]) == ("ada", [])
    (line,) = found["boards"]
    assert (line["board"], line["rank"], line["entrants"], line["ratio"], line["was_first"]) == (
        "softmax", 1, 2, 0.5, True,
    )  # fmt: skip
    assert found["badges"][0] == {"text": "First place: Row softmax on cpu", "url": "/boards/softmax/cpu"}
    assert len(found["activity"]) == 53
    assert sum(week["entries"] for week in found["activity"]) == 1
    (entry,) = browser(None).get("/api/v1/people/ada/entries").json()
    assert (entry["board"], entry["entrant"], entry["score_us"]) == ("softmax", "ada", 500.0)


def test_a_pseudonym_is_no_way_to_its_person(raced, browser) -> None:
    take_pseudonym(entrant=Entrant.objects.get(name="ada"), actor=raced.ada, pseudonym="Grey Fox", now=raced.now)
    client = browser(None)
    assert client.get("/api/v1/people/ada").status_code == 404
    shown = client.get("/api/v1/competitions/kernels-101/entrants/Grey Fox")
    assert shown.json()["name"] == "Grey Fox"
    assert b"ada" not in shown.content
    assert client.get("/api/v1/people/cleo").json()["code"] == "not_found"


def test_entries_are_compared_by_cases_and_code(raced, browser) -> None:
    first, second = raced.ada.submissions.get(), raced.ben.submissions.get()
    address = f"/api/v1/compare?a={first.pk}&b={second.pk}"
    found = browser(None).get(address).json()
    assert (found["first"]["user"], found["second"]["user"], found["comparable"]) == ("ada", "ben", True)
    assert found["change"] == pytest.approx(0.5 / 0.8)
    (case,) = found["cases"]
    assert (case["name"], case["first"]["measured_us"], case["change"]) == ("rows=512", 500.0, 1.0)
    assert found["code"]["lines"] == []
    assert "not public" in found["code"]["refusal"]
    Competition.objects.update(deadline=timezone.now() - timedelta(hours=1))
    assert browser(None).get(address).json()["code"]["added"] == 1
    assert browser(None).get("/api/v1/compare?a=1").json()["errors"][0]["field"] == "b"


def test_a_search_finds_names_and_is_counted(raced, browser, monkeypatch) -> None:
    from leaderboard.web import limits

    client = browser(None)
    found = client.get("/api/v1/search", {"q": "ad"}).json()
    assert [hit["url"] for hit in found["people"]] == ["/people/ada"]
    assert client.get("/api/v1/search", {"q": "softmax"}).json()["problems"][0]["url"] == "/boards/softmax"
    short = client.get("/api/v1/search", {"q": "a"})
    assert (short.status_code, short.json()["errors"][0]["field"]) == (400, "q")
    monkeypatch.setattr(limits, "SEARCH_IP", limits.Limit("search ip", 1, 60))
    limits.floods.clear()
    answers = [client.get("/api/v1/search", {"q": "ada"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1]["Retry-After"]


def test_problems_have_the_callers_status(raced, browser, tool) -> None:
    (line,) = browser(None).get("/api/v1/problems").json()
    assert (line["slug"], line["status"], line["ranks"], line["open"]) == ("softmax", "", {}, True)
    (mine,) = tool(raced.ben, "read").get("/api/v1/problems?status=ranked&text=row").json()
    assert (mine["status"], mine["ranks"]) == ("ranked", {"cpu": 2})
    assert tool(raced.ben).get("/api/v1/problems?status=new").json() == []
    assert browser(None).get("/api/v1/problems?status=ranked").status_code == 401


def test_problems_ask_as_often_for_many_boards_as_for_few(raced, tool) -> None:
    client = tool(raced.ada, "read")

    def asked() -> int:
        client.get("/api/v1/problems")  # fills caches
        with CaptureQueriesContext(connection) as queries:
            found = client.get("/api/v1/problems").json()
        assert {line["status"] for line in found} == {"ranked", "tried"}
        return len(queries)

    def race(*slugs: str) -> None:
        for slug in slugs:
            raced.judge(raced.submit(raced.ada, board=make_board(slug)), ratio=0.7)
            raced.judge(raced.submit(raced.ada, board=make_board(f"{slug}-2"), mode="test"))

    race("scan")
    before = asked()
    race("sort", "gemm", "norm")
    assert asked() == before


def test_messages_are_listed_and_read(raced, tool) -> None:
    Message.objects.all().delete()
    for number in range(3):
        tell.tell([raced.ada.pk], "verdict", subject=f"board:{number}", title="Passed", url="/x", now=timezone.now())
    client = tool(raced.ada)
    found = client.get("/api/v1/notifications?limit=2")
    assert len(found.json()) == 2
    assert 'rel="next"' in found["Link"]
    first = found.json()[0]
    assert post(client, "/notifications/read", ids=[first["id"]]).json() == {"read": 1}
    assert len(client.get("/api/v1/notifications?unread=true").json()) == 2
    assert post(tool(raced.ben), "/notifications/read", ids=[first["id"] - 1]).json() == {"read": 0}
    assert post(client, "/notifications/read").json() == {"read": 2}
    assert client.get("/api/v1/notifications?kind=review").json() == []
    assert post(tool(raced.ada, "read"), "/notifications/read").json()["code"] == "scope_missing"


def test_channels_and_a_webhook_are_chosen(raced, tool, monkeypatch) -> None:
    posted = []
    monkeypatch.setattr(hooks, "post", lambda address, body, headers=None: posted.append(headers))
    client = tool(raced.ada)
    assert client.get("/api/v1/notifications/settings").json()["page"] == list(KINDS)
    chosen = post(client, "/notifications/settings", webhook=["verdict"], mail=[]).json()
    assert (chosen["webhook"], chosen["mail"], chosen["page"]) == (["verdict"], [], list(KINDS))
    assert post(client, "/notifications/settings", mail=["gossip"]).json()["errors"][0]["field"] == "mail"
    assert post(client, "/notifications/webhook/test").json()["code"] == "no_webhook"
    saved = post(client, "/notifications/webhook", address=ADDRESS).json()
    assert (saved["host"], saved["format"], saved["secret"][:4]) == ("hooks.example", "json", "pfw_")
    assert post(client, "/notifications/webhook/test").json() == {"host": "hooks.example"}
    assert posted[0]["Photofinish-Event"] == "test"
    assert post(client, "/notifications/webhook/rotate").json()["secret"] != saved["secret"]
    wrong = post(client, "/notifications/webhook", address="http://hooks.example/secret-part")
    assert (wrong.status_code, "secret-part" in wrong.content.decode()) == (400, False)
    shown = client.get("/api/v1/notifications/settings")
    assert shown.json()["webhook_on"]
    assert b"secret-part" not in shown.content
    assert post(client, "/notifications/webhook/remove").json()["webhook_host"] == ""
    assert Preference.objects.get(user=raced.ada).hook_secret == ""


def test_a_discussion_is_read_written_reported_and_moderated(raced, browser, tool) -> None:
    writer, reader, owner = tool(raced.ada), tool(raced.cleo), tool(raced.olga)
    assert post(writer, POSTS.removeprefix("/api/v1"), text="too soon").json()["code"] == "discussion_closed"
    Competition.objects.update(deadline=timezone.now() - timedelta(hours=1))
    Role.objects.create(competition=raced.board.competition, user=raced.olga, role=Role.REVIEWER)
    made = post(writer, POSTS.removeprefix("/api/v1"), text="Shared memory", kind="write_up")
    assert (made.status_code, made.json()["author"]) == (201, "ada")
    assert post(writer, POSTS.removeprefix("/api/v1"), text="again", kind="write_up").status_code == 409
    assert post(reader, POSTS.removeprefix("/api/v1"), text="x").status_code == 403
    assert post(browser(None), POSTS.removeprefix("/api/v1"), text="x").status_code == 401
    assert browser(None).get(POSTS).json() == []
    (shown,) = browser(None).get(f"{POSTS}?kind=write_up").json()
    assert shown == made.json()
    one = f"{POSTS}/{shown['id']}".removeprefix("/api/v1")
    assert post(reader, f"{one}/report", reason="copied").json() == {"reported": True}
    assert post(reader, f"{one}/report", reason="copied").json()["code"] == "already_reported"
    assert post(owner, f"{one}/remove").json()["errors"][0]["field"] == "reason"
    assert post(owner, f"{one}/remove", reason="copied").json() == {"removed": True}
    (gone,) = browser(None).get(f"{POSTS}?kind=write_up").json()
    assert (gone["text"], gone["removal"]) == ("", "copied")
    assert post(owner, f"{one}/remove", reason="copied").status_code == 404
