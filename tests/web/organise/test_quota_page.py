"""Owners set the quotas of a competition; people with read access see them."""

import pytest

from leaderboard.competitions.models import Role
from leaderboard.submissions.quota import USUAL, Bucket, parse_quotas
from tests.web.test_pages_are_strict import check

PAGE = "/organise/kernels-101/quotas"
MODES, PARTS = ("test", "benchmark", "ranked", "profile"), ("capacity", "per_day")
USUAL_SENT = {f"{mode}_{part}": getattr(USUAL[mode], part) for mode in MODES for part in PARTS}


@pytest.fixture(autouse=True)
def _usual(stage) -> None:
    stage.board.competition.quotas = {}
    stage.board.competition.save()


@pytest.fixture
def owner(stage, browser):
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    return browser(stage.ada)


def quotas(stage) -> dict[str, object]:
    stage.board.competition.refresh_from_db()
    return stage.board.competition.quotas


def test_an_owner_sets_what_is_not_usual_with_a_reason(stage, owner) -> None:
    page = owner.get(PAGE)
    check(page)
    assert 'name="ranked_capacity" value="12"' in page.content.decode()
    sent = USUAL_SENT | {"ranked_capacity": 20, "ranked_per_day": 5, "reason": "a long week"}
    assert owner.post(PAGE, sent).headers["Location"] == PAGE
    assert quotas(stage) == {"ranked": {"capacity": 20, "per_day": 5}}
    assert parse_quotas(quotas(stage))["ranked"] == Bucket(20, 5)
    assert "a long week" in owner.get("/organise/kernels-101/history").content.decode()
    owner.post(PAGE, USUAL_SENT | {"reason": "as before"})
    assert quotas(stage) == {}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ranked_capacity": 0}, "ranked_capacity"),
        ({"test_per_day": "many"}, "test_per_day"),
        ({"reason": " "}, "reason"),
    ],
)
def test_what_is_wrong_stands_at_its_field(stage, owner, changes, field) -> None:
    answer = owner.post(PAGE, USUAL_SENT | {"ranked_per_day": 3, "reason": "so"} | changes)
    assert answer.status_code == 400
    assert f'id="id_{field}_error"' in answer.content.decode()
    assert quotas(stage) == {}


@pytest.mark.parametrize(("role", "read", "write"), [(None, 404, 404), ("viewer", 200, 403), ("reviewer", 200, 403)])
def test_who_may_look_and_who_may_set(stage, browser, role, read, write) -> None:
    if role:
        Role.objects.create(competition=stage.board.competition, user=stage.ben, role=role)
    client = browser(stage.ben)
    assert client.get(PAGE).status_code == read
    assert client.post(PAGE, USUAL_SENT | {"ranked_per_day": 3, "reason": "so"}).status_code == write
    assert quotas(stage) == {}
