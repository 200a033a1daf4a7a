"""Awards on pages and in exports: public tracks and prizes, winners after the announcement, a desk for owners alone."""

import csv
import io

import pytest
from django.test.utils import CaptureQueriesContext

from leaderboard.awards.life import propose_award
from leaderboard.awards.models import Award
from leaderboard.competitions.models import CLOSED, Role, Track
from leaderboard.entrants.models import Entrant
from tests.leaderboard.awards.test_awards_from_standing_to_announcement import announced, race, track

AT = "/competitions/kernels-101/awards"
OWNER_ONLY = "For organisers"


@pytest.fixture
def made(stage) -> Track:
    race(stage)
    return track(stage, 1000, 500, eligibility="")


def read(browser, user=None, at: str = AT) -> str:
    answer = browser(user).get(at)
    assert answer.status_code == 200
    return answer.content.decode()


def test_everybody_reads_what_can_be_won_and_how(stage, browser, made) -> None:
    page = read(browser)
    for said in ("Best softmax", "EUR\u202f1,000", "from Acme", "whoever was that fast first", "every division"):
        assert said in page, said
    assert OWNER_ONLY not in page
    assert "ada" not in page


def test_a_proposal_is_seen_by_owners_alone(stage, browser, made) -> None:
    propose_award(track=made, actor=stage.olga, now=stage.now)
    for user in (None, stage.cleo):
        assert "1.667" not in read(browser, user)
        assert read(browser, user, f"{AT}.csv").count("\n") == 1
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    assert OWNER_ONLY not in read(browser, stage.ben)
    page = read(browser, stage.olga)
    for said in (OWNER_ONLY, "1.667", "Ask for confirmations", "not asked for"):
        assert said in page, said


def test_the_desk_takes_an_award_all_the_way(stage, browser, made) -> None:
    client = browser(stage.olga)
    assert client.post(f"{AT}/propose/best").status_code == 302
    pk = Award.objects.get().pk
    Award.objects.update(state="confirmed")
    assert "say why" in client.post(f"{AT}/{pk}/approve", {"reason": " "}, follow=True).content.decode()
    assert "approved" in client.post(f"{AT}/{pk}/approve", {"reason": "sound"}, follow=True).content.decode()
    assert "announced" in client.post(f"{AT}/{pk}/announce", follow=True).content.decode()
    page = read(browser)
    assert "Winners, announced" in page
    assert ">ada<" in page
    assert client.post(f"{AT}/{pk}/withdraw", {"reason": "a copy"}).status_code == 302
    assert ">ada<" not in read(browser)
    assert client.post(f"{AT}/{pk}/dance").status_code == 404


def test_nobody_else_acts(stage, browser, made) -> None:
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    for user in (stage.ada, stage.ben):
        for path in ("propose/best", f"{award.pk}/confirm", f"{award.pk}/approve", f"{award.pk}/announce"):
            assert browser(user).post(f"{AT}/{path}", {"reason": "mine"}).status_code == 404
    assert browser(None).post(f"{AT}/{award.pk}/announce").status_code == 302
    award.refresh_from_db()
    assert award.state == "proposed"


def test_an_award_is_reached_through_its_own_competition_only(stage, browser, made) -> None:
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    other = stage.board.competition
    other.pk, other.slug, other.name = None, "another", "Another"
    other.save(force_insert=True)
    assert browser(stage.olga).post(f"/competitions/another/awards/{award.pk}/confirm").status_code == 404


def test_a_closed_competition_has_no_awards_page_for_strangers(stage, browser, made) -> None:
    competition = stage.board.competition
    competition.visibility = CLOSED
    competition.save()
    for at in (AT, f"{AT}.csv", f"{AT}.json"):
        assert browser(stage.olga).get(at).status_code == 200
        assert browser(None).get(at).status_code == 404


def test_exports_list_the_winners_and_run_in_no_spreadsheet(stage, browser, made) -> None:
    Entrant.objects.filter(name="ada").update(pseudonym='=HYPERLINK("http://evil")')
    announced(stage, made)
    rows = list(csv.DictReader(io.StringIO(read(browser, None, f"{AT}.csv"))))
    assert [(row["place"], row["amount"], row["currency"], row["sponsors"]) for row in rows] == [
        ("1", "1000.00", "EUR", "Acme"),
        ("2", "500.00", "EUR", "Acme"),
    ]
    assert [row["winner"] for row in rows] == ['\'=HYPERLINK("http://evil")', "ben"]
    told = browser(None).get(f"{AT}.json").json()
    assert (told["competition"], told["winners"][1]["winner"]) == ("kernels-101", "ben")


def test_what_became_stale_says_so_and_cannot_go_on(stage, browser, made) -> None:
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    Award.objects.update(state="approved")
    Entrant.objects.filter(name="ada").update(division="agent", model_name="x")
    made.divisions = ["human"]
    made.save()
    page = read(browser, stage.olga)
    assert "Propose it again" in page
    assert "Announce to everybody" not in page
    answer = browser(stage.olga).post(f"{AT}/{award.pk}/announce", follow=True).content.decode()
    assert "propose it again" in answer


def test_more_tracks_are_no_more_queries(stage, browser, made) -> None:
    from django.db import connection

    with CaptureQueriesContext(connection) as few:
        read(browser)
    for number in range(5):
        track(stage, 10, slug=f"more-{number}", name=f"More {number}")
    with CaptureQueriesContext(connection) as many:
        read(browser)
    assert len(many) == len(few)


def test_a_competition_without_tracks_says_so(stage, browser) -> None:
    assert "No prizes" in read(browser)
