"""Home begins with running competitions, and the list of boards is filtered by its address."""

import re
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.awards.models import ANNOUNCED, Award
from leaderboard.competitions.models import (
    APART,
    CLOSED,
    UNLISTED,
    Announcement,
    Board,
    Competition,
    Problem,
    Role,
    Track,
)
from leaderboard.entrants.enter import enter_in_division
from leaderboard.entrants.models import Entrant
from leaderboard.web.boards.home import MOST_BOARDS
from leaderboard.web.boards.listing import MOST_ROWS
from tests.leaderboard.stage import make_board
from tests.web.test_pages_are_strict import check

DAY = timedelta(days=1)


def found_competition(stage, slug: str, hardware: str = "cpu", **times) -> Board:
    """Create a competition with a board of its own."""
    competition = Competition.objects.create(slug=slug, name=slug.title(), **times)
    return make_board_of(stage, competition, f"{slug}-board", hardware)


def make_board_of(stage, competition: Competition, slug: str, hardware: str = "cpu", title: str = "") -> Board:
    problem = Problem.objects.create(slug=slug, title=title or slug.replace("-", " "))
    version = stage.board.version
    return Board.objects.create(competition=competition, problem=problem, version=version, slug=slug, hardware=hardware)


def page_of(client, address: str = "/") -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    check(answer)
    return answer.content.decode()


def listed(text: str) -> list[str]:
    return re.findall(r'<td class="name"><a href="/boards/([^"]+)">', text)


def test_home_lists_running_competitions_before_coming_and_ended_ones(stage, browser) -> None:
    now = timezone.now()
    found_competition(stage, "autumn", deadline=now - 538 * DAY)
    found_competition(stage, "spring", contest_at=now + 3 * DAY, deadline=now + 30 * DAY)
    found_competition(stage, "sprint", contest_at=now - DAY, deadline=now + 2 * DAY)
    text = page_of(browser(None))
    order = [text.index(f'href="/competitions/{slug}"') for slug in ("sprint", "kernels-101", "spring", "autumn")]
    assert order == sorted(order), "running by the next change, then what opens, then what has ended"
    assert "closes <time" in text
    assert re.search(r'<h2 id="coming">Opening soon</h2>.*spring', text, re.DOTALL)
    assert re.search(r'<details class="codebox ended">.*autumn', text, re.DOTALL)


def test_home_shows_three_leaders_and_the_viewers_place(stage, browser) -> None:
    for owner, ratio in ((stage.ada, 0.5), (stage.ben, 0.7), (stage.cleo, 0.8), (stage.olga, 0.9)):
        stage.judge(stage.submit(owner), ratio=ratio)
    text = page_of(browser(stage.olga))
    podium = re.search(r'<ol class="podium.*?</ol>', text, re.DOTALL)[0]
    assert re.findall("<strong>(.*?)</strong>", podium) == ["ada", "ben", "cleo"]
    assert "2.000×" in podium
    assert "you are 4th" in text
    assert "you are" not in page_of(browser(None))


def test_home_names_the_place_over_all_boards_of_a_competition(stage, browser) -> None:
    other = make_board("layernorm")
    stage.judge(stage.submit(stage.ada), ratio=0.5)
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    stage.judge(stage.submit(stage.ben, board=other), ratio=0.9)
    assert "You are <strong>2nd</strong> of 2 over all boards, with kernels on 2 of them" in page_of(browser(stage.ben))


def test_home_names_the_place_of_an_agent_among_agents(stage, browser) -> None:
    make_board("layernorm")
    Competition.objects.update(agents_rank=APART)
    stage.board.competition.refresh_from_db()
    given = {"competition": stage.board.competition, "division": "agent", "model_name": "m"}
    enter_in_division(user=stage.ada, now=stage.now, **given)
    for owner, ratio in ((stage.ben, 0.5), (stage.ada, 0.6)):
        stage.judge(stage.submit(owner), ratio=ratio)
    text = page_of(browser(stage.ada))
    assert "You are <strong>1st</strong> of 1 among agents over all boards, with kernels on 1 of them" in text
    assert 'href="/competitions/kernels-101/standings?group=agents"' in text
    assert "of 1 over all boards" in page_of(browser(stage.ben))


def test_home_shows_a_few_boards_of_a_large_competition(stage, browser) -> None:
    for number in range(MOST_BOARDS + 3):
        make_board_of(stage, stage.board.competition, f"kernel-{number}")
    stage.judge(stage.submit(stage.ada))
    text = page_of(browser(None))
    assert text.count('class="card board-card"') == MOST_BOARDS
    assert "Row softmax" in text, "a board with entrants stands before empty ones"
    assert '<a class="button quiet small" href="/boards?competition=kernels-101">4 more problems</a>' in text


def test_home_asks_as_many_queries_for_many_competitions_as_for_few(stage, browser) -> None:
    def asked() -> list[str]:
        browser(stage.ada).get("/")
        client = browser(stage.ada)
        with CaptureQueriesContext(connection) as queries:
            client.get("/")
        return [query["sql"] for query in queries]

    stage.judge(stage.submit(stage.ada))
    autumn = found_competition(stage, "autumn")
    stage.judge(stage.submit(stage.ada, board=autumn))
    Competition.objects.filter(slug="autumn").update(deadline=timezone.now() - DAY)
    few = asked()
    for number in range(6):
        found_competition(stage, f"run-{number}")
        board = found_competition(stage, f"past-{number}")
        stage.judge(stage.submit(stage.ada, board=board))
        Competition.objects.filter(pk=board.competition_id).update(deadline=timezone.now() - DAY)
    many = asked()
    assert len(many) == len(few)
    assert [sql for sql, times in Counter(many).items() if times > 1] == []


def test_ended_competition_names_its_announced_winner_or_its_leader(stage, browser) -> None:
    now = timezone.now()
    board = found_competition(stage, "autumn")
    for owner, ratio in ((stage.ada, 0.5), (stage.ben, 0.8)):
        stage.judge(stage.submit(owner, board=board), ratio=ratio)
    Competition.objects.filter(slug="autumn").update(deadline=now - DAY)
    assert "Under review, led by</span> <strong>ada</strong>" in page_of(browser(None))
    Competition.objects.filter(slug="autumn").update(final_at=now - DAY / 2, stays_open=False)
    assert "First place:</span> <strong>ada</strong>" in page_of(browser(None)), "no award has been announced"
    track = Track.objects.create(competition=board.competition, slug="best", name="Best team", kind="overall")
    news = Announcement.objects.create(competition=board.competition, author=stage.olga, title="Won", created_at=now)
    ben = Entrant.objects.get(competition=board.competition, name="ben")
    winner = {"place": 1, "shared_by": 1, "entrant": ben.pk, "money": [], "things": [], "sponsors": [], "why": ""}
    Award.objects.create(
        track=track,
        state=ANNOUNCED,
        basis="x",
        content={"winners": [winner], "skipped": {}, "pairs": []},
        announcement=news,
        created_at=now,
    )
    assert 'Won by</span> <strong>ben</strong> <span class="muted">(Best team)' in page_of(browser(None))


def test_ended_competition_with_a_pseudonym_shows_the_pseudonym(stage, browser) -> None:
    board = found_competition(stage, "autumn")
    stage.judge(stage.submit(stage.ada, board=board))
    Entrant.objects.filter(competition=board.competition).update(pseudonym="nightjar")
    for times in ({}, {"deadline": timezone.now() - DAY}):
        Competition.objects.filter(slug="autumn").update(**times)
        text = page_of(browser(None))
        assert "nightjar" in text
        assert not re.search(r"\bada\b", text)


@pytest.mark.parametrize("visibility", [CLOSED, UNLISTED])
@pytest.mark.parametrize("ended", [False, True])
def test_home_and_boards_hide_competitions_that_are_not_public(stage, browser, visibility, ended) -> None:
    board = found_competition(stage, "hushhush", hardware="H200")
    role = {"competition": board.competition, "user": stage.cleo, "role": Role.VIEWER}
    Role.objects.create(**role)
    Competition.objects.filter(slug="hushhush").update(
        visibility=visibility, deadline=timezone.now() - DAY if ended else None
    )
    for address in ("/", "/boards", "/boards?q=board", "/boards?state=closed", "/boards?state=open"):
        for client in (browser(None), browser(stage.ada)):
            text = page_of(client, address).lower()
            assert "hushhush" not in text, address
            assert "h200" not in text, address
    assert "Hushhush" in page_of(browser(stage.cleo), "/")


@pytest.mark.parametrize("query", ["competition=hushhush", "hardware=H200", "q=hush+board"])
def test_filter_by_a_closed_competition_answers_like_an_absent_one(stage, browser, query) -> None:
    def answers(address: str) -> str:
        text = page_of(browser(stage.ada), address)
        for word in ("hushhush", "hush board", "H200", "nosuchthing", "no board", "H900"):
            text = text.replace(word, "")
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text).replace("hush+board", "").replace("+", "")

    board = found_competition(stage, "hushhush", hardware="H200")
    Competition.objects.filter(slug="hushhush").update(visibility=CLOSED)
    assert board.slug not in page_of(browser(stage.ada), f"/boards?{query}")
    absent = query.replace("hushhush", "nosuchthing").replace("H200", "H900").replace("hush+board", "nosuchthing")
    assert answers(f"/boards?{query}") == answers(f"/boards?{absent}")


def test_boards_are_listed_by_hardware_and_number(stage, browser) -> None:
    competition = stage.board.competition
    for slug, hardware, title in (("k-17", "H200", "2.17 Sum"), ("k-9", "H200", "2.9 Sum"), ("k-1", "cpu", "Add")):
        make_board_of(stage, competition, slug, hardware, title)
    assert listed(page_of(browser(None), "/boards")) == ["k-9/H200", "k-17/H200", "k-1/cpu", "softmax/cpu"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("hardware=H200", ["sprint-board/H200"]),
        ("competition=sprint", ["sprint-board/H200"]),
        ("state=closed", ["autumn-board/cpu"]),
        ("state=open&hardware=cpu", ["softmax/cpu"]),
        ("q=SOFT+row", ["softmax/cpu"]),
        ("q=reduction", ["softmax/cpu"]),
        ("q=nothing+of+this", []),
        ("hardware=B300", []),
    ],
)
def test_list_of_boards_is_filtered_by_its_address(stage, browser, query, expected) -> None:
    Board.objects.filter(pk=stage.board.pk).update(tags=["reduction"])
    found_competition(stage, "autumn", deadline=timezone.now() - DAY)
    found_competition(stage, "sprint", hardware="H200")
    text = page_of(browser(None), f"/boards?{query}")
    assert listed(text) == expected
    if not expected:
        assert "No board matches" in text


def test_long_list_of_boards_comes_in_pages(stage, browser) -> None:
    for number in range(MOST_ROWS):
        make_board_of(stage, stage.board.competition, f"kernel-{number}")
    first, second = (listed(page_of(browser(None), f"/boards?{query}")) for query in ("", f"start={MOST_ROWS}"))
    assert (len(first), second) == (MOST_ROWS, ["softmax/cpu"])
    assert "No board this far down the list" in page_of(browser(None), "/boards?start=999")


@pytest.mark.parametrize(
    ("query", "field"),
    [("q=" + "x" * 101, "at most 100"), ("state=ajar", "ajar"), ("start=-1", "greater"), ("q=%00", "Null")],
)
def test_faulty_filter_is_named(stage, browser, query, field) -> None:
    answer = browser(None).get(f"/boards?{query}")
    assert answer.status_code == 400
    assert field in answer.content.decode()


def test_empty_board_says_what_to_do(stage, browser) -> None:
    now = timezone.now()
    found_competition(stage, "spring", contest_at=now + DAY)
    found_competition(stage, "autumn", deadline=now - DAY)
    text = page_of(browser(None), "/boards")
    assert '<a href="/boards/softmax/submit?hardware=cpu">Submit the first kernel</a>' in text
    assert '<a href="/boards/spring-board">Read the problem</a>' in text
    assert "It closed without a ranked kernel" in text


def test_list_of_boards_marks_the_viewers_place(stage, browser) -> None:
    stage.judge(stage.submit(stage.ada))
    assert 'data-label="You">1st' in page_of(browser(stage.ada), "/boards")
    assert 'empty-cell" data-label="You">–' in page_of(browser(stage.ben), "/boards")


def test_list_of_boards_asks_no_query_twice(stage, browser) -> None:
    for number in range(5):
        found_competition(stage, f"run-{number}")
    stage.judge(stage.submit(stage.ada))
    client = browser(stage.ada)
    for address in ("/boards", "/boards?q=o&state=open"):
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        assert [sql for sql, times in Counter(query["sql"] for query in queries).items() if times > 1] == []


def test_competition_page_shows_leaders_and_the_viewers_place(stage, browser) -> None:
    make_board_of(stage, stage.board.competition, "kernel-1", "H200")
    for owner, ratio in ((stage.ada, 0.5), (stage.ben, 0.8)):
        stage.judge(stage.submit(owner), ratio=ratio)
    text = page_of(browser(stage.ben), "/competitions/kernels-101")
    assert '<strong>ada</strong></span></td><td class="num" data-label="Speedup">2.000×' in text
    assert 'data-label="You">2nd' in text
    assert "tied" not in text
    assert "Nobody has finished yet" in text
    assert 'href="/boards/kernel-1/H200"' in text


def test_the_fastest_of_a_tie_is_named_with_the_number_of_the_tied(stage, browser) -> None:
    for owner, ratio in ((stage.ada, 0.5), (stage.ben, 0.499), (stage.cleo, 0.8)):
        stage.judge(stage.submit(owner), ratio=ratio)
    home = page_of(browser(None))
    assert "; 2 tied for first" in home
    assert home.index("<strong>ben</strong>") < home.index("<strong>ada</strong>")
    leader = '<strong>ben</strong> <span class="detail">2 tied</span>'
    for address in ("/boards", "/competitions/kernels-101"):
        assert leader in page_of(browser(None), address)
    board = page_of(browser(None), "/boards/softmax/cpu")
    assert board.index(">ben</a>") < board.index(">ada</a>") < board.index(">cleo</a>")
    progress = page_of(browser(None), "/boards/softmax/cpu/history")
    assert "(2 tied for first)" in progress
    assert progress.count('1<span aria-hidden="true">=</span>') == 2
