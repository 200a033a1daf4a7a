"""Search finds what lists show and nothing else; problems have tags, level, filters and the viewer's own status."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import CLOSED, PUBLIC, UNLISTED, Board, Competition, Problem, ProblemVersion
from leaderboard.competitions.words import query, vector, words_of
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import take_pseudonym
from leaderboard.standings.read import table
from leaderboard.web import limits
from leaderboard.web.people import search
from tests.leaderboard.stage import make_board, make_problem
from tests.web.test_pages_are_strict import check


@pytest.fixture
def raced(stage):
    stage.now = timezone.now() - timedelta(hours=3)
    stage.judge(stage.submit(stage.ada), ratio=0.6, score_us=600.0)
    return stage


def text(client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    check(answer)
    return answer.content.decode()


def found(client, words: str) -> list[str]:
    page = text(client, f"/search?q={words}")
    parts = page.partition('<main id="main"')[2].partition("</main>")[0].split('href="')[1:]
    return [part.partition('"')[0] for part in parts if part.startswith(("/people/", "/boards/", "/competitions/"))]


def test_beginnings_of_words_find_people_problems_and_competitions(raced, browser) -> None:
    client = browser(None)
    assert found(client, "ad") == ["/people/ada"]
    assert found(client, "SOFT") == found(client, "softmax+row") == ["/boards/softmax"]
    assert found(client, "kern") == ["/competitions/kernels-101"]
    assert found(client, "101") == ["/competitions/kernels-101"]
    assert found(client, "ftmax") == found(client, "row+nothing") == []


@pytest.mark.parametrize(
    "words", ["", "a", "%25", "'", "a'b:*!(|", "&!", "\\", "%00", "x" * 5000, "🂡" * 50, ":*", "a " * 300]
)
def test_any_text_is_a_search(raced, browser, words) -> None:
    text(browser(None), f"/search?q={words}")


def test_people_without_a_public_line_are_not_found(raced, browser) -> None:
    raced.submit(raced.ben)
    assert found(browser(None), "ben") == found(browser(None), "olga") == []
    Competition.objects.update(freeze_at=raced.later(60), deadline=timezone.now() + timedelta(days=1))
    raced.board.competition.refresh_from_db()
    raced.later(60)
    raced.claim()
    raced.judge(raced.submit(raced.cleo), ratio=0.5, score_us=500.0)
    assert found(browser(None), "cleo") == []


def test_a_pseudonym_is_found_and_the_name_behind_it_is_not(raced, browser) -> None:
    take_pseudonym(entrant=Entrant.objects.get(), actor=raced.ada, pseudonym="Grey Fox", now=raced.later(1))
    for who in (None, raced.cleo, raced.ada, raced.olga):
        assert found(browser(who), "fox") == ["/competitions/kernels-101/entrants/Grey%20Fox"]
        assert found(browser(who), "ada") == []


@pytest.mark.parametrize("visibility", [UNLISTED, CLOSED])
def test_what_lists_hide_is_found_by_insiders_alone(raced, browser, visibility) -> None:
    Competition.objects.update(visibility=visibility)
    for words in ("ada", "softmax", "kernels"):
        assert found(browser(None), words) == found(browser(raced.cleo), words) == []
        assert len(found(browser(raced.ada), words)) == 1
    for who in (None, raced.cleo):
        assert "softmax" not in text(browser(who), "/problems")
    assert "softmax" in text(browser(raced.ada), "/problems")
    Competition.objects.update(visibility=PUBLIC)
    assert found(browser(None), "ada")


def test_tags_find_problems(raced, browser) -> None:
    Board.objects.update(tags=["memory-bound"])
    assert found(browser(None), "memory") == found(browser(None), "bound") == ["/boards/softmax"]


def test_search_is_bounded_and_uses_its_indexes(raced, browser, django_assert_max_num_queries) -> None:
    competition = raced.board.competition
    people = [Entrant(competition=competition, name=f"person number{n}", created_at=raced.now) for n in range(2_000)]
    Entrant.objects.bulk_create(people)
    Problem.objects.bulk_create(Problem(slug=f"p{n}", title=f"Problem number{n}") for n in range(2_000))
    with django_assert_max_num_queries(12):
        text(browser(None), "/search?q=person")
    wanted = query(["number1999"])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE entrants_entrant, competitions_problem")
    for rows, fields, index in (
        (Entrant.objects, ("name",), "entrant_by_word"),
        (Problem.objects, ("title", "slug"), "problem_by_word"),
    ):
        assert index in rows.alias(words=vector(*fields)).filter(words=wanted).order_by().explain()


def test_searches_are_limited(raced, browser, monkeypatch) -> None:
    monkeypatch.setattr(search.limits, "SEARCH_USER", limits.Limit("search user", 1, 60))
    client = browser(User.objects.create_user("seeker"))
    text(client, "/search?q=ada")
    assert "a lot of searches" in text(client, "/search?q=ada", 429)


def test_words_are_cut_at_punctuation() -> None:
    assert words_of("  Int8_matmul, (fast-P)!  ") == ["int8", "matmul", "fast", "p"]
    assert len(words_of("a " * 1_000)) == 6


def other(slug: str, **changes) -> Board:
    board = make_board(slug)
    specification = make_problem(slug, title=f"Other {slug}", **changes)
    version = ProblemVersion.objects.create(
        digest=specification.digest, problem=board.problem, bundle=specification.to_bundle()
    )
    Problem.objects.filter(pk=board.problem_id).update(title=specification.title)
    Board.objects.filter(pk=board.pk).update(version=version)
    return board


def test_problems_have_tags_levels_and_filters(raced, browser) -> None:
    other("scan", tags=("fusion",), level=2)
    other("sort", tags=("selection",), level=1)
    client = browser(None)
    page = text(client, "/problems")
    assert "My status" not in page
    assert all(f"/boards/{slug}" in page for slug in ("softmax", "scan", "sort"))
    for filters in ("tag=fusion", "level=2", "q=sca", "q=fus", "hardware=cpu&level=2&open=1"):
        page = text(client, f"/problems?{filters}")
        assert "/boards/scan" in page, filters
        assert "/boards/sort" not in page, filters
    assert "No problem passes" in text(client, "/problems?tag=nothing&from=0")
    text(client, "/problems?level=x&from=-1&status=nonsense&q=%00")


def test_ones_own_status_is_ranked_tried_or_new(raced, browser) -> None:
    scan, _ = other("scan"), other("sort")
    raced.submit(raced.ada, board=Board.objects.get(pk=scan.pk), mode="test")
    client = browser(raced.ada)
    assert "rank 1" in text(client, "/problems")
    for status, slug in (("ranked", "softmax"), ("tried", "scan"), ("new", "sort")):
        page = text(client, f"/problems?status={status}")
        assert [f'/boards/{one}"' in page for one in ("softmax", "scan", "sort")].count(True) == 1
        assert f'/boards/{slug}"' in page
    assert "rank 1" not in text(browser(raced.cleo), "/problems")


def test_a_person_sees_their_status_under_a_pseudonym(raced, browser) -> None:
    take_pseudonym(entrant=Entrant.objects.get(), actor=raced.ada, pseudonym="Grey Fox", now=raced.later(1))
    assert "rank 1" in text(browser(raced.ada), "/problems")


@pytest.mark.parametrize("address", ["/problems", "/api/v1/problems"])
@pytest.mark.parametrize("who", ["a stranger", "ada"])
def test_problems_ask_the_same_number_of_queries_for_any_number(raced, browser, who: str, address: str) -> None:
    """Of boards on which the viewer has a line, too, and in a process that has read no table yet."""
    client = browser(raced.ada if who == "ada" else None)

    def asked() -> int:
        table.forget()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        sql = [one["sql"] for one in queries]
        assert len(sql) == len(set(sql))
        return len(sql)

    asked()
    before = asked()
    for slug in ("scan", "sort"):
        raced.judge(raced.submit(raced.ada, board=make_board(slug)), ratio=0.7)
    asked()
    assert asked() == before
