"""Organisers see the held results and try thresholds without side effects; owners apply them."""

import pytest

from leaderboard.competitions.models import Role
from leaderboard.review.rules.thresholds import RULES
from tests.web.test_pages_are_strict import check

PAGE = "/organise/kernels-101/thresholds"


@pytest.fixture
def owner(stage, browser):
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    return browser(stage.ada)


def thresholds(stage) -> dict[str, object]:
    stage.board.competition.refresh_from_db()
    return stage.board.competition.thresholds


def test_it_shows_every_rule_and_what_is_set(stage, owner) -> None:
    stage.board.competition.thresholds = {"similar_source": "off", "faster_than_best": 3}
    stage.board.competition.save()
    answer = owner.get(PAGE)
    check(answer)
    text = answer.content.decode()
    assert all(f"<code>{name}</code>" in text for name in RULES)
    assert 'name="similar_source" value="off"' in text
    assert 'name="faster_than_best" value="3"' in text


def test_a_change_is_tried_before_it_is_applied(stage, owner) -> None:
    held = stage.judge(stage.submit(stage.cleo), ratio=0.4).attempt.submission
    text = owner.get(PAGE, {"faster_than_best": "3"}).content.decode()
    assert "from 2 to <strong>3</strong>" in text
    assert f'<a href="/submissions/{held.pk}">' in text
    assert "released" in text
    assert thresholds(stage) == {}, "trying changes nothing"
    answer = owner.post(PAGE, {"faster_than_best": "3", "reason": "tricks are welcome"})
    assert (answer.status_code, answer.headers["Location"]) == (302, PAGE)
    assert thresholds(stage) == {"faster_than_best": 3.0}
    assert "tricks are welcome" in owner.get("/organise/kernels-101/history").content.decode()


def test_what_cannot_be_set_stands_at_its_field(stage, owner) -> None:
    for told, said in (
        ({"faster_than_best": "off"}, "This rule cannot be off"),
        ({"faster_than_best": "0.5"}, "Expected a number from 1.1 to 10"),
        ({"bimodal": "<b>many"}, "Expected a number"),
    ):
        answer = owner.get(PAGE, told)
        assert answer.status_code == 400
        (name,) = told
        assert f'id="id_{name}_error">{said}' in answer.content.decode()
    assert b"<b>many" not in answer.content


def test_applying_needs_a_reason_and_keeps_what_was_typed(stage, owner) -> None:
    answer = owner.post(PAGE, {"faster_than_best": "3", "reason": " "})
    assert answer.status_code == 400
    assert "Enter a reason." in answer.content.decode()
    assert '<input type="hidden" name="faster_than_best" value="3">' in answer.content.decode()
    assert thresholds(stage) == {}


@pytest.mark.parametrize(("role", "read", "write"), [(None, 404, 404), ("viewer", 200, 403), ("reviewer", 200, 403)])
def test_who_may_look_and_who_may_set(stage, browser, role, read, write) -> None:
    if role:
        Role.objects.create(competition=stage.board.competition, user=stage.ben, role=role)
    client = browser(stage.ben)
    assert client.get(PAGE).status_code == read
    assert client.post(PAGE, {"bimodal": "0.1", "reason": "so"}).status_code == write
    assert thresholds(stage) == {}
    if role:
        assert b">Apply<" not in client.get(PAGE, {"bimodal": "0.1"}).content


def test_the_competitions_own_address_leads_there(owner) -> None:
    assert owner.get("/competitions/kernels-101/thresholds").headers["Location"] == PAGE
