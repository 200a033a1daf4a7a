"""/api/v1 shows the same facts of a competition as its pages.

These are tracks, phases, quota, news, awards, integrity and past leaders.
"""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.awards.life import propose_award
from leaderboard.competitions.access import publish_announcement, withdraw_announcement
from leaderboard.competitions.models import Competition
from tests.leaderboard.awards.test_awards_from_standing_to_announcement import announced, race, track
from tests.leaderboard.stage import make_board

AT = "/api/v1/competitions/kernels-101"


def read(client, address: str = AT):
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_what_it_is_and_where_one_stands(stage, browser, tool) -> None:
    now = timezone.now()
    Competition.objects.update(quotas={"ranked": 2}, contest_at=now - timedelta(days=1), deadline=now, max_team_size=3)
    Competition.objects.update(deadline=now + timedelta(days=1))
    track(stage, 1000, 500, eligibility="I am a student.")
    stage.now = now - timedelta(seconds=2)
    stage.submit(stage.ada)
    told = read(tool(stage.ada))
    (made,) = told["tracks"]
    assert (made["slug"], made["ties"], made["eligibility"]) == ("best", "earlier", "I am a student.")
    assert made["won_by"] == "the board softmax on cpu"
    assert [(one["place"], one["amount"], one["currency"]) for one in made["prizes"]] == [
        (1, "1000.00", "EUR"),
        (2, "500.00", "EUR"),
    ]
    assert [one["state"] for one in told["phases"]].count("now") == 1
    assert (told["max_team_size"], told["divisions"]) == (3, ["human", "agent", "mixed"])
    (ranked,) = [one for one in told["you"]["quota"] if one["mode"] == "ranked"]
    assert (ranked["board"], ranked["left"], ranked["capacity"]) == ("softmax", 1, 2)
    assert ranked["next_at"] > now.isoformat()
    assert read(browser(None))["you"] is None


def test_a_division_is_chosen_on_entering_and_changed_elsewhere(stage, tool) -> None:
    client = tool(stage.ada)

    def enter(**body: str):
        return client.post(f"{AT}/enter", body, content_type="application/json")

    assert enter(division="agent").json()["errors"][0]["field"] == "model_name"
    assert enter(division="robot", model_name="GPT-9").json()["errors"][0]["field"] == "division"
    assert enter(division="agent", model_name="GPT-9").json()["you"]["division"] == "agent"
    assert enter().status_code == enter(division="agent").status_code == 200, "again changes nothing"
    again = enter(division="human")
    assert (again.status_code, again.json()["errors"][0]["field"]) == (409, "division")
    assert f"{AT.removeprefix('/api/v1')}/team" in again.json()["detail"]
    assert stage.ada.memberships.get().entrant.model_name == "GPT-9"


def test_announcements_are_listed_newest_first_without_what_was_withdrawn(stage, browser) -> None:
    told = {"competition": stage.board.competition, "text": "", "actor": stage.olga}
    made = [publish_announcement(title=f"News {number}", now=stage.later(1), **told) for number in range(4)]
    withdraw_announcement(announcement=made[1], actor=stage.olga, reason="a slip", now=stage.later(1))
    answer = browser(None).get(f"{AT}/announcements?limit=2")
    assert [one["title"] for one in answer.json()] == ["News 3", "News 2"]
    (rest,) = re.findall(r'<(.+)>; rel="next"', answer.headers["Link"])
    assert [one["title"] for one in read(browser(None), rest)] == ["News 0"]
    wrong = browser(None).get(f"{AT}/announcements?limit=1000")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "limit")


def test_winners_are_told_once_they_are_announced(stage, browser) -> None:
    race(stage)
    made = track(stage, 1000, 500, eligibility="")
    propose_award(track=made, actor=stage.olga, now=stage.now)
    for person in (None, stage.olga):
        (before,) = read(browser(person), f"{AT}/awards")
        assert (before["slug"], before["winners"], before["announced_at"]) == ("best", [], None)
    announced(stage, made)
    (after,) = read(browser(None), f"{AT}/awards")
    assert after["announced_at"]
    assert [(one["place"], one["winner"], one["money"]) for one in after["winners"]] == [
        (1, "ada", [{"amount": "1000.00", "currency": "EUR"}]),
        (2, "ben", [{"amount": "500.00", "currency": "EUR"}]),
    ]
    assert "as fast as the baseline" in after["winners"][0]["reason"]


def test_small_numbers_of_integrity_are_null_until_the_standing_is_final(stage, browser) -> None:
    stage.now = timezone.now() - timedelta(days=2)
    stage.judge(stage.submit(stage.ada), ratio=0.2, score_us=200.0)
    told = read(browser(None), f"{AT}/integrity")
    assert (told["exact"], told["total"]["held"], told["rules"][0]["rule"]) == (False, None, "")
    assert told["appeals"] == {"made": None, "granted": None, "upheld": None}
    now = timezone.now()
    Competition.objects.update(deadline=now - timedelta(hours=2), final_at=now - timedelta(hours=1))
    told = read(browser(None), f"{AT}/integrity")
    assert (told["exact"], told["total"]["held"], told["total"]["waiting"]) == (True, 1, 1)
    assert (told["rules"][0]["rule"], told["rules"][0]["cleared"]) == ("faster_than_best", 0)
    assert told["median_wait_s"] is None


def test_who_led_a_board_and_when(stage, browser) -> None:
    for owner, ratio in ((stage.ada, 0.8), (stage.ben, 0.9), (stage.cleo, 0.6)):
        stage.judge(stage.submit(owner), ratio=ratio)
    first, second = read(browser(None), "/api/v1/boards/softmax/cpu/history")
    assert (first["user"], first["gain"], second["user"], second["until"]) == ("ada", None, "cleo", None)
    assert first["until"] == second["since"]
    assert second["gain"] == pytest.approx(0.8 / 0.6)
    assert browser(None).get("/api/v1/boards/softmax/h100/history").status_code == 404


@pytest.mark.parametrize("part", ["", "/announcements", "/awards"])
def test_as_many_queries_however_much_there_is(stage, tool, part) -> None:
    client = tool(stage.ada)

    def more(name: str) -> None:
        make_board(f"board-{name}")
        track(stage, 100, slug=name, name=name)
        publish_announcement(
            competition=stage.board.competition, title=name, text="", actor=stage.olga, now=timezone.now()
        )

    more("one")
    read(client, AT + part)
    with CaptureQueriesContext(connection) as few:
        read(client, AT + part)
    for name in ("two", "three", "four"):
        more(name)
    with CaptureQueriesContext(connection) as many:
        read(client, AT + part)
    assert len(many) == len(few)
