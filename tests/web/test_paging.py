"""Long lists are paged by key: each row is on one page, forwards and backwards, and no page counts or skips rows."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.signing import Signer
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.submissions.models import Submission
from leaderboard.web.paging import BACK, ON, Page, page_of
from leaderboard.web.submissions.view import NEWEST_FIRST
from tests.leaderboard.stage import NOON, Stage

ORDERS = {"rows with equal times": NEWEST_FIRST, "the key alone": ("-pk",), "oldest first": ("created_at", "pk")}


@pytest.fixture
def rows(stage: Stage) -> list[int]:
    """23 rows of the audit; each three of them have the same time."""
    made = [
        Row.objects.create(
            act="edit", object_type="x", object_id=str(number), reason="", created_at=NOON + timedelta(days=number // 3)
        )
        for number in range(23)
    ]
    return [row.pk for row in made]


def at(cursor: str, order: Any, size: int = 5) -> Page:
    return page_of(Row.objects.filter(object_type="x"), order=order, name="rows", cursor=cursor, size=size)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
@pytest.mark.parametrize("size", [1, 5, 22, 23, 24])
def test_every_row_is_on_one_page_forwards_and_backwards(rows: list[int], order: Any, size: int) -> None:
    expected = rows[::-1] if order[0].startswith("-") else rows
    pages = [at("", order, size)]
    while pages[-1].after:
        pages.append(at(pages[-1].after, order, size))
    assert [row.pk for page in pages for row in page.rows] == expected
    assert not pages[0].before
    back = [pages[-1]]
    while back[-1].before:
        back.append(at(back[-1].before, order, size))
    assert [row.pk for page in reversed(back) for row in page.rows] == expected
    if len(pages) > 1:
        assert at(back[-1].after, order, size).rows[0] == pages[1].rows[0] or size == 22


def test_a_page_reads_no_row_of_the_pages_before_it(rows: list[int]) -> None:
    third = at(at("", NEWEST_FIRST).after, NEWEST_FIRST).after
    with CaptureQueriesContext(
        connection,
    ) as queries:
        at(third, NEWEST_FIRST)
    (query,) = [one["sql"] for one in queries]
    assert "OFFSET" not in query
    assert "COUNT" not in query


def test_rows_that_arrive_meanwhile_shift_no_page(rows: list[int]) -> None:
    second = at("", ("-pk",)).after
    Row.objects.create(act="edit", object_type="x", object_id="new", reason="")
    assert [row.pk for row in at(second, ("-pk",)).rows] == rows[::-1][5:10]


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "a" * 400,
        "\0",
        "é",
        Signer(salt="photofinish.cursor.other list").sign_object([ON, "1"]),
        Signer(salt="photofinish.cursor.rows").sign_object([ON, "1"])[:-1],
    ],
)
def test_a_cursor_of_another_list_is_named(db: None, cursor: str) -> None:
    with pytest.raises(UserError, match=r"cursor: is no cursor of this list; begin without one"):
        at(cursor, ("-pk",))


def test_an_empty_page_beyond_the_end_has_no_neighbours(rows: list[int]) -> None:
    last = Signer(salt="photofinish.cursor.rows").sign_object([ON, str(rows[0])])
    assert at(last, ("-pk",)) == Page([])
    first = Signer(salt="photofinish.cursor.rows").sign_object([BACK, str(rows[-1])])
    assert at(first, ("-pk",)) == Page([])


def test_submissions_page_links_to_older_and_newer(stage: Stage, browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.web.submissions.pages.PAGE_ROWS", 2)
    sent = [stage.submit(mode="test").pk for _ in range(5)]
    client = browser(stage.ada)

    def shown(address: str) -> tuple[list[int], dict[str, str]]:
        text = client.get(address).content.decode()
        links = {name: unescape(link) for link, name in re.findall(r'href="(\?cursor=[^"]+)">(\w+)<', text)}
        return [int(pk) for pk in re.findall(r'href="/submissions/(\d+)"', text)], links

    first, links = shown("/submissions")
    assert (first, set(links)) == (sent[:2:-1], {"Older"})
    second, links = shown(f"/submissions{links['Older']}")
    assert (second, set(links)) == (sent[2:0:-1], {"Older", "Newer"})
    assert shown(f"/submissions{links['Newer']}")[0] == first
    third, links = shown(f"/submissions{links['Older']}")
    assert (third, set(links)) == (sent[:1], {"Newer"})
    assert shown("/submissions?cursor=nonsense")[0] == first
    assert Submission.objects.count() == 5


def test_changes_of_a_competition_are_paged(stage: Stage, browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.web.organise.pages.PAGE_CHANGES", 2)
    competition = stage.board.competition
    for number in range(3):
        told = {"object_type": "competitions.competition", "object_id": str(competition.pk)}
        Row.objects.create(act=f"act_{number}", reason="", **told)
    client = browser(stage.olga)
    first = client.get("/organise/kernels-101/history").content.decode()
    assert ("act 2" in first, "act 1" in first, "act 0" in first) == (True, True, False)
    (older,) = re.findall(r'href="(\?cursor=[^"]+)">Older<', first)
    assert "act 0" in client.get(f"/organise/kernels-101/history{unescape(older)}").content.decode()
