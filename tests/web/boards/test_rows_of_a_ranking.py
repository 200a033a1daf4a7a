"""The rows of a ranking, which a tag renders: escaped names, words for each kind of entrant, the fold."""

from decimal import Decimal
from itertools import repeat

import pytest
from django.template import engines
from django.utils import timezone

from leaderboard.entrants.models import Entrant
from leaderboard.standings.models import Entry
from leaderboard.standings.read.boards import lines_of
from leaderboard.web.boards.cards import card
from leaderboard.web.boards.standing import BoardRow, rows
from tests.web.test_pages_are_strict import check

BOARD = "/boards/softmax/cpu"


@pytest.fixture
def led(stage) -> BoardRow:
    """Ada's line, ahead of ben's."""
    stage.judge(stage.submit(stage.ada), ratio=0.5)
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    table = card("softmax", stage.ben, timezone.now()).place("cpu").look.current
    return rows(lines_of(table, table.places), None)[0]


def rendered(stage, lines: list[BoardRow], **context: object) -> str:
    given = {"rows": lines, "card": {"competition": stage.board.competition}, **context}
    return engines["django"].get_template("web/parts/ranking.html").render(given)


def test_a_row_of_a_board_escapes_the_names_of_its_entrant(stage, browser, led) -> None:
    Entrant.objects.filter(name="ada").update(
        name="<ada> & 'co'",
        is_team=True,
        affiliation="A<b>",
        division="agent",
        model_name="m<1>",
        cost_usd=Decimal("3.50"),
    )
    Entry.objects.update(light=0.25)
    answer = browser(None).get(BOARD)
    check(answer)
    text = answer.content.decode()
    assert ">&lt;ada&gt; &amp; &#x27;co&#x27;</a>" in text
    assert '<span class="detail line">A&lt;b&gt;</span>' in text
    assert '<span class="detail line">team, agent: m&lt;1&gt;, $3.50 declared</span>' in text
    assert "25\N{NARROW NO-BREAK SPACE}% of light</span>" in text
    assert "<ada>" not in text


def test_a_row_of_a_preview_leaves_out_the_details_of_a_board(stage, led) -> None:
    Entrant.objects.update(affiliation="Institute")
    led.ranked.entry.entrant.refresh_from_db()
    preview, board = rendered(stage, [led], compact=True), rendered(stage, [led], is_board=True)
    assert "Institute" not in preview
    assert "When" not in preview
    assert "leads" not in preview
    assert all(said in board for said in ("Institute", "When", "leads"))


def test_a_folded_ranking_has_its_later_rows_in_a_second_body(stage, led) -> None:
    text = rendered(stage, [*repeat(led, 3)], is_board=True, fold=2)
    first, second = text.split('</tbody><tbody class="rest">')
    assert (first.count('<tr class="place-1"'), second.count('<tr class="place-1"')) == (2, 1)
    assert "rest" not in rendered(stage, [*repeat(led, 3)], is_board=True)
