"""The progress page and the live board show lines of the public table alone, in one stage and one epoch."""

import json
import re
from collections import Counter
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.competitions.models import CLOSED, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.web.boards.progress import MOST_ASKED, MOST_POINTS, thinned
from tests.web.test_pages_are_strict import check

PAGE = "/boards/softmax/cpu/history"
PULSE = "/boards/softmax/cpu/pulse"


def page_of(client, address: str = PAGE) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    check(answer)
    return answer.content.decode()


def chart_of(client, address: str = PAGE) -> dict[str, list[float]]:
    """Map the lines of the chart to their speedups."""
    text = page_of(client, address)
    data = json.loads(re.search(r'<script id="trend-data" type="application/json">(.*?)</script>', text)[1])
    return {line["name"]: [value for _, value in line["points"]] for line in data["series"]}


@pytest.fixture
def raced(stage):
    for owner, ratio in ((stage.ada, 0.8), (stage.ben, 0.5), (stage.cleo, 0.9), (stage.ada, 0.4)):
        stage.judge(stage.submit(owner), ratio=ratio)
    return stage


def test_chart_has_the_record_and_the_best_of_each_person(raced, browser) -> None:
    assert chart_of(browser(None)) == {
        "Fastest": [1.25, 2.0, 2.5],
        "ada": [1.25, 2.5],
        "ben": [2.0],
        "cleo": [1.111111],
    }
    text = page_of(browser(None))
    assert "+100\N{NARROW NO-BREAK SPACE}%" in text, "ada's gain, in the table beside the chart"
    assert '<svg class="without-js"' in text


def test_chart_has_the_first_five_the_viewer_and_named_people(stage, browser) -> None:
    from leaderboard.accounts.models import User

    for number in range(8):
        stage.judge(stage.submit(User.objects.create_user(f"racer{number}")), ratio=0.8 + number / 50)
    stage.judge(stage.submit(stage.ada), ratio=0.99)
    first = ["Fastest", *(f"racer{number}" for number in range(5))]
    assert list(chart_of(browser(None))) == first
    assert list(chart_of(browser(stage.ada))) == [*first, "ada"]
    assert list(chart_of(browser(None), f"{PAGE}?with=RACER7")) == [*first, "racer7"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("with=nobody", "“nobody” has no line on this board"),
        ("with=" + "x" * 151, "has no line on this board"),
        ("with=a%00b", "has no line on this board"),
        ("&".join(f"with=ada{number}" for number in range(MOST_ASKED + 1)), "has no line on this board"),
        ("&".join(f"with={name}" for name in ("ada", "ben", "cleo", "ADA", "Ben")), "takes 4 further people; 5 were"),
    ],
)
def test_name_that_the_chart_cannot_take_is_named(raced, browser, query, said) -> None:
    answer = browser(None).get(f"{PAGE}?{query}")
    assert answer.status_code == 400
    assert said in answer.content.decode()


def test_person_behind_a_pseudonym_is_not_found_by_name(raced, browser) -> None:
    Entrant.objects.filter(name="ben").update(pseudonym="nightjar")
    assert "nightjar" in chart_of(browser(None), f"{PAGE}?with=nightjar")
    with time_machine.travel(timezone.now(), tick=False):
        refused, absent = (browser(None).get(f"{PAGE}?with={name}") for name in ("ben", "xyz"))
    assert refused.status_code == absent.status_code == 400
    assert refused.content.decode().replace("ben", "") == absent.content.decode().replace("xyz", "")
    assert not re.search(r"\bben\b", page_of(browser(None)))


def test_progress_shows_no_line_of_another_epoch(raced, browser) -> None:
    raced.judge(raced.submit(raced.cleo), ratio=0.75, epoch="driver-9")
    assert "1.333" not in str(chart_of(browser(None)))
    raced.choose("driver-9")
    assert chart_of(browser(None)) == {"Fastest": [1.333333], "cleo": [1.333333]}


def test_progress_and_pulse_stand_still_while_the_board_is_frozen(stage, browser) -> None:
    stage.now = timezone.now() - timedelta(hours=2)
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    Competition.objects.update(freeze_at=stage.later(60), deadline=timezone.now() + timedelta(days=1))
    before = browser(None).get(PULSE).json()
    hidden = stage.submit(stage.ben)
    stage.judge(hidden, ratio=0.61)
    for person in (None, stage.ben, stage.cleo, stage.olga):
        assert browser(person).get(PULSE).json() == before
        assert list(chart_of(browser(person))) == ["Fastest", "ada"]
    assert browser(None).get(f"{PAGE}?with=ben").status_code == 400
    assert "You are" not in page_of(browser(stage.ben))
    Competition.objects.update(deadline=timezone.now() - timedelta(minutes=1), revealed_at=timezone.now())
    assert browser(None).get(PULSE).json() != before
    assert list(chart_of(browser(None))) == ["Fastest", "ben", "ada"]


def test_pulse_changes_with_the_table_and_matches_the_boards_page(raced, browser) -> None:
    def digest() -> str:
        found = browser(None).get(PULSE).json()["digest"]
        assert f'data-digest="{found}"' in page_of(browser(None), "/boards/softmax/cpu")
        return found

    first = digest()
    raced.judge(raced.submit(raced.cleo), outcome="wrong", reason="mismatch")
    assert digest() == first
    raced.judge(raced.submit(raced.cleo), ratio=0.3)
    assert digest() != first


def test_pulse_answers_a_crowd_from_a_cache(raced, browser) -> None:
    answer = browser(None).get(PULSE)
    assert answer.headers["Cache-Control"] == "public, max-age=10"
    again = browser(None).get(PULSE, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_closed_board_has_no_progress_for_outsiders(raced, browser) -> None:
    Competition.objects.update(visibility=CLOSED)
    for address in (PAGE, PULSE):
        assert browser(None).get(address).status_code == 404
        assert browser(raced.olga).get(address).status_code == 200
    absent, closed = (browser(None).get(f"/boards/{slug}/cpu/pulse") for slug in ("nosuch", "softmax"))
    assert absent.content == closed.content


def test_ended_board_does_not_poll(raced, browser) -> None:
    assert "data-pulse" in page_of(browser(None), "/boards/softmax/cpu")
    assert "data-pulse" not in page_of(browser(None), "/boards/softmax/cpu?stage=contest")
    Competition.objects.update(deadline=timezone.now() - timedelta(minutes=1))
    assert "data-pulse" not in page_of(browser(None), "/boards/softmax/cpu")


def test_board_shows_the_gap_to_the_next_line_and_what_the_next_rank_takes(raced, browser) -> None:
    text = page_of(browser(raced.cleo), "/boards/softmax/cpu")
    gaps = re.findall(r'data-label="To the next">.*?</td>', text)
    assert [re.sub(r"<[^>]+>", "", found).partition(">")[2] for found in gaps] == [
        "leads",
        "20\N{NARROW NO-BREAK SPACE}% 180.0\N{NARROW NO-BREAK SPACE}µs",
        "44.4\N{NARROW NO-BREAK SPACE}% 400.0\N{NARROW NO-BREAK SPACE}µs",
    ]
    own = " ".join(
        re.sub(r"<[^>]+>", "", re.search(r'<div class="card own-standing">.*?</div>', text, re.DOTALL)[0]).split()
    )
    assert own.startswith("You are 3rd of 3 with 1.111×")
    assert "To share 2nd place, a kernel has to reach about 1.972×" in own
    assert "To take it alone: about 2.028×" in own
    leads = page_of(browser(raced.ada), "/boards/softmax/cpu")
    assert "faster than all others" in leads
    assert "The next kernel would need 20" in leads
    assert "own-standing" not in page_of(browser(None), "/boards/softmax/cpu")


def test_gap_of_a_later_page_is_to_the_last_line_of_the_page_before(raced) -> None:
    from leaderboard.web.boards import cards, standing

    place = cards.card("softmax", raced.cleo, timezone.now()).place("cpu")
    asked = standing.Asked(start=1, most=1)
    shown = standing.show(place.board, asked, raced.cleo, timezone.now(), known=place.look)
    assert shown.rows[0].gap.share == pytest.approx(0.2)


def test_field_counts_entrants_and_marks_the_viewer(raced, browser) -> None:
    text = page_of(browser(raced.ben))
    assert "3 entrants: half of them reach" in text
    assert 'class="bar mine"' in text
    assert 'class="bar mine"' not in page_of(browser(None))


def test_empty_board_has_a_progress_page_that_says_what_to_do(stage, browser) -> None:
    assert "The first ranked kernel starts the chart." in page_of(browser(stage.ada))


def test_board_and_progress_ask_no_query_twice(raced, browser) -> None:
    client = browser(raced.ada)
    for address in ("/boards/softmax/cpu", f"{PAGE}?with=cleo", PULSE):
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        assert [sql for sql, times in Counter(query["sql"] for query in queries).items() if times > 1] == [], address


def test_long_line_is_thinned_with_its_ends_kept() -> None:
    found = thinned(range(100_000))
    assert (len(found), found[0], found[-1]) == (MOST_POINTS, 0, 99_999)
