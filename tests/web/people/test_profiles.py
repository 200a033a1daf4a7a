"""A profile shows what boards show under a person's own name, and nothing that a pseudonym or a board hides."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.competitions.models import CLOSED, PUBLIC, UNLISTED, Board, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import create_team, reveal, take_pseudonym
from leaderboard.pipeline import close_account, enter
from tests.leaderboard.stage import make_board
from tests.web.test_pages_are_strict import check

SECRET = "other-cup"


def sent(stage, owner, *, board=None, ratio: float = 0.6):
    submission = stage.submit(owner, board=board)
    stage.judge(submission, ratio=ratio, score_us=1000 * ratio)
    return submission


@pytest.fixture
def raced(stage):
    stage.now = timezone.now() - timedelta(hours=3)
    sent(stage, stage.ada)
    sent(stage, stage.ben, ratio=0.8)
    return stage


def other_board(**changes) -> Board:
    competition = Competition.objects.create(
        slug=SECRET, name="Other cup", quotas={"ranked": 100}, max_team_size=3, **changes
    )
    board = make_board("scan")
    Board.objects.filter(pk=board.pk).update(competition=competition)
    board.competition = competition
    return board


def text(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    check(answer)
    return answer.content.decode()


def status(client, address: str) -> int:
    return client.get(address).status_code


def test_names_on_boards_lead_to_profiles(raced, browser) -> None:
    for address in ("/boards/softmax", "/boards/softmax/cpu", "/competitions/kernels-101/standings"):
        assert 'href="/people/ada"' in text(browser(None), address), address
    assert 'href="/people/ada"' in text(browser(None), "/boards/softmax/cpu/history")


def test_a_profile_shows_ranks_firsts_and_entries(raced, browser) -> None:
    page = text(browser(None), "/people/ada")
    assert "First place: Row softmax on cpu" in page
    assert "First across the line: Row softmax on cpu" in page
    assert "1 published run in the last year" in page
    second = text(browser(None), "/people/ben")
    assert "of 2" in second
    assert "First" not in second


def test_a_profile_in_other_case_leads_to_the_profile(raced, browser) -> None:
    assert browser(None).get("/people/ADA").headers["Location"] == "/people/ada"


def test_a_profile_without_a_public_line_is_absent_but_to_its_owner(raced, browser) -> None:
    assert status(browser(None), "/people/cleo") == status(browser(None), "/people/nobody") == 404
    assert "Others see it once it shows a result" in text(browser(raced.cleo), "/people/cleo")


def test_a_pseudonym_is_never_linked_to_its_person(raced, browser) -> None:
    board = other_board()
    sent(raced, raced.ada, board=board)
    entrant = Entrant.objects.get(competition=board.competition)
    take_pseudonym(entrant=entrant, actor=raced.ada, pseudonym="Grey Fox", now=raced.later(1))
    for who in (None, raced.cleo, raced.olga):
        profile = text(browser(who), "/people/ada")
        assert "Grey Fox" not in profile
        assert "Other cup" not in profile
        assert "scan" not in profile
        page = text(browser(who), f"/competitions/{SECRET}/entrants/Grey%20Fox")
        assert "ada" not in page.replace("Canada", "")
        assert "/entrants/Grey%20Fox" in text(browser(who), "/boards/scan/cpu")
        for name in ("ada", "Ada"):  # the real name finds nothing, though the row has it
            assert status(browser(who), f"/competitions/{SECRET}/entrants/{name}") == 404
    assert "Grey Fox" in text(browser(raced.ada), "/people/ada")  # to herself: left out, and where it is
    reveal(entrant=entrant, actor=raced.ada, now=raced.later(1))
    assert "Other cup" in text(browser(None), "/people/ada")


def test_a_person_who_races_under_pseudonyms_alone_has_no_profile(raced, browser) -> None:
    entrant = Entrant.objects.get(name="ada")
    take_pseudonym(entrant=entrant, actor=raced.ada, pseudonym="Grey Fox", now=raced.later(1))
    assert status(browser(None), "/people/ada") == 404
    assert status(browser(raced.ben), "/people/ada") == 404


def test_erasing_an_account_connects_nothing(raced, browser) -> None:
    board = other_board()
    sent(raced, raced.ada, board=board)
    hidden = Entrant.objects.get(competition=board.competition)
    take_pseudonym(entrant=hidden, actor=raced.ada, pseudonym="Grey Fox", now=raced.later(1))
    close_account(account=raced.ada, erase=True, now=raced.later(1))
    name = f"deleted-{raced.ada.pk}"
    assert status(browser(None), f"/people/{name}") == 404
    page = text(browser(None), "/boards/softmax/cpu")
    assert "/people/deleted" not in page
    assert "/competitions/kernels-101/entrants/deleted-" in page


@pytest.mark.parametrize(("visibility", "listed"), [(UNLISTED, False), (CLOSED, False), (PUBLIC, True)])
def test_a_profile_lists_what_lists_show(raced, browser, visibility, listed) -> None:
    board = other_board()
    sent(raced, raced.ada, board=board)
    sent(raced, raced.cleo, board=board, ratio=0.7)
    Competition.objects.filter(slug=SECRET).update(visibility=visibility)
    assert ("Other cup" in text(browser(None), "/people/ada")) == listed
    assert ("Other cup" in text(browser(raced.ben), "/people/ada")) == listed
    assert "Other cup" in text(browser(raced.cleo), "/people/ada")  # she competes there, too
    assert status(browser(None), "/people/cleo") == (200 if listed else 404)
    if visibility == UNLISTED:
        assert f"/competitions/{SECRET}/entrants/cleo" in text(browser(None), "/boards/scan/cpu")
        assert "cleo" in text(browser(None), f"/competitions/{SECRET}/entrants/cleo")
    elif visibility == CLOSED:
        assert status(browser(None), f"/competitions/{SECRET}/entrants/cleo") == 404


def test_a_frozen_line_is_on_no_profile(raced, browser) -> None:
    Competition.objects.update(freeze_at=raced.later(60), deadline=timezone.now() + timedelta(days=1))
    faster = sent(raced, raced.cleo, ratio=0.5)
    sent(raced, raced.ada, ratio=0.45)
    assert status(browser(None), "/people/cleo") == status(browser(raced.ada), "/people/cleo") == 404
    assert status(browser(None), "/competitions/kernels-101/entrants/cleo") == 404
    page = text(browser(None), "/people/ada")
    assert "1 published run in the last year" in page
    assert "2.222" not in page
    assert status(browser(raced.olga), "/people/cleo") == 200
    Competition.objects.update(revealed_at=timezone.now(), deadline=timezone.now())
    assert f"/entries/{faster.pk}" in text(browser(None), "/people/cleo")


def test_a_team_has_a_page_with_its_members(raced, browser) -> None:
    board = other_board()
    enter(user=raced.ada, competition=board.competition, rules_digest="", now=raced.later(1))
    team = create_team(user=raced.ada, competition=board.competition, name="Two/Fast & Co", now=raced.later(1))
    sent(raced, raced.ada, board=board)
    address = f"/competitions/{SECRET}/entrants/Two%2FFast%20%26%20Co"
    assert address in text(browser(None), "/boards/scan/cpu")
    page = text(browser(None), address)
    assert "Members" in page
    assert ">ada<" in page
    assert address in text(browser(None), "/people/ada")
    take_pseudonym(entrant=team, actor=raced.ada, pseudonym="Grey Foxes", now=raced.later(1))
    assert status(browser(None), address) == 404
    assert "ada" not in text(browser(None), f"/competitions/{SECRET}/entrants/Grey%20Foxes")
    assert "Foxes" not in text(browser(None), "/people/ada")


def test_a_profile_asks_the_same_number_of_queries_for_any_number_of_boards(raced, browser) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            text(browser(None), "/people/ada")
        sql = [query["sql"] for query in queries]
        assert len(sql) == len(set(sql)), [one for one in sql if sql.count(one) > 1]
        return len(sql)

    asked()  # fills caches
    before = asked()
    for slug in ("scan", "matmul", "sort"):
        sent(raced, raced.ada, board=make_board(slug))
    asked()
    assert asked() == before


def test_a_profile_finds_its_person_by_an_index(raced, browser) -> None:
    """Strangers open profiles, and a site may have a million people."""
    with CaptureQueriesContext(connection) as asked:
        assert status(browser(None), "/people/ADA") == 302
    [sql] = [one["sql"] for one in asked if 'FROM "accounts_user" WHERE' in one["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(row[0] for row in cursor)
    assert "Seq Scan" not in plan, plan
