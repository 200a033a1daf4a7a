"""While a board is frozen, only its owner and people with a role learn of a submission sent since."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.competitions.models import Competition, Role
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.confirmations.models import AWARD
from leaderboard.submissions.models import Submission
from leaderboard.web.boards import pages as boards
from tests.web.test_pages_are_strict import check

PUBLIC = (
    "/",
    "/boards",
    "/boards?q=softmax",
    "/competitions/kernels-101",
    "/boards/softmax",
    "/boards/softmax/cpu/history",
    "/boards/softmax/cpu/cases",
    "/boards/softmax/cpu",
    "/boards/softmax/cpu?stage=contest",
    "/boards/softmax/cpu?division=human",
    "/boards/softmax/cpu?from=0",
    "/api/v1/boards",
    "/api/v1/boards/softmax",
    "/api/v1/boards/softmax/cpu/entries",
    "/api/v1/boards/softmax/cpu/history",
    "/api/v1/boards/softmax/cpu/entries?stage=contest&division=human&limit=1000",
)


@pytest.fixture
def frozen(stage):
    """Send ada's submission before the freeze and ben's faster submission after it, and return ben's."""
    stage.now = timezone.now() - timedelta(hours=2)
    case = {"stage": "time", "name": "n=8", "good": True, "baseline_us": 1000.0}
    stage.judge(
        stage.submit(stage.ada), ratio=0.9, score_us=900.0, cases=(case | {"measured_us": 900.0, "ratio": 0.9},)
    )
    Competition.objects.update(freeze_at=stage.later(60), deadline=timezone.now() + timedelta(days=1))
    hidden = stage.submit(stage.ben)
    stage.judge(hidden, ratio=0.61, score_us=610.0, cases=(case | {"measured_us": 610.0, "ratio": 0.61},))
    return hidden


def texts(client) -> dict[str, str]:
    found = {}
    for address in PUBLIC:
        answer = client.get(address)
        assert answer.status_code == 200, address
        if not address.startswith("/api"):
            check(answer)
        found[address] = answer.content.decode()
    return found


@pytest.mark.parametrize("who", [None, "cleo", "ada"])
def test_no_page_tells_of_it(stage, browser, frozen, who) -> None:
    client = browser(getattr(stage, who) if who else None)
    for address, text in texts(client).items():
        assert not re.search(r"\bben\b", text), address
        assert not re.search(r"\b610\b", text), address  # a timestamp may hold these digits
        assert "1.639×" not in text, address
    board = client.get("/api/v1/boards/softmax/cpu/entries")
    assert (len(board.json()), board.headers["X-Total-Count"]) == (1, "1")
    assert client.get("/api/v1/boards").json()[0]["entries"] == {"cpu": 1}
    assert "<strong>Frozen.</strong>" in client.get("/boards/softmax/cpu").content.decode()


def test_the_public_pages_are_those_of_the_freeze(stage, browser, frozen) -> None:
    before = browser(None).get("/api/v1/boards/softmax/cpu/entries").content
    stage.judge(stage.submit(stage.cleo), ratio=0.62, score_us=620.0, epoch="driver-9")
    assert browser(None).get("/api/v1/boards/softmax/cpu/entries").content == before
    assert "driver-9" not in browser(None).get("/boards/softmax/cpu").content.decode()
    assert browser(None).get("/boards/softmax/cpu?epoch=driver-9").status_code == 404


def test_its_owner_is_told_that_it_counts_and_no_rank(stage, browser, frozen) -> None:
    page = browser(stage.ben).get(f"/submissions/{frozen.pk}").content.decode()
    assert "others will see it after the reveal" in page
    told = browser(stage.ben).get(f"/api/v1/submissions/{frozen.pk}").json()
    assert (told["rank"], told["published"], told["value"]["shown"]) == (None, True, False)
    first = browser(stage.ada).get("/api/v1/submissions").json()[0]
    assert browser(stage.ada).get(f"/api/v1/submissions/{first['id']}").json()["rank"] == 1


@pytest.mark.parametrize("role", [*Role.ROLES, None])
def test_who_has_a_role_sees_the_real_standing_marked_as_such(stage, browser, frozen, role) -> None:
    if role:
        Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=role)
    client = browser(stage.cleo if role else stage.olga)
    page = client.get("/boards/softmax/cpu").content.decode()
    assert "The full standing, for organisers." in page
    assert page.index(">ben") < page.index(">ada")
    assert ">ben" not in client.get("/boards/softmax/cpu?public=1").content.decode()
    assert len(client.get("/api/v1/boards/softmax/cpu/entries").json()) == 1, "not unasked: a script may pass it on"
    assert [line["user"] for line in client.get("/api/v1/boards/softmax/cpu/entries?full=true").json()] == [
        "ben",
        "ada",
    ]


def test_a_stranger_does_not_get_it_by_asking(stage, browser, frozen) -> None:
    for person in (None, stage.cleo, stage.ben):
        assert browser(person).get("/api/v1/boards/softmax/cpu/entries?full=true").status_code == 403


def test_all_of_it_is_shown_at_the_reveal(stage, browser, frozen) -> None:
    Competition.objects.update(deadline=timezone.now() - timedelta(minutes=1), revealed_at=timezone.now())
    for address, text in texts(browser(None)).items():
        if address not in ("/api/v1/boards/softmax",):
            assert re.search(r"\bben\b", text) or '"cpu":2' in text, address
    assert "Frozen" not in browser(None).get("/boards/softmax/cpu").content.decode()


@pytest.mark.parametrize(
    "query", ["stage=final", "stage=practice", "division=robot", "from=-1", "from=x", "from=9999999"]
)
def test_what_no_link_says_is_not_there(stage, browser, query) -> None:
    assert browser(None).get(f"/boards/softmax/cpu?{query}").status_code == 404


def test_a_division_is_shown_alone_with_the_ranks_of_all(stage, browser) -> None:
    for owner, ratio in ((stage.ada, 0.9), (stage.ben, 0.8)):
        stage.judge(stage.submit(owner), ratio=ratio)
    stage.ada.memberships.get().entrant.__class__.objects.filter(name="ada").update(
        division="agent", model_name="oracle-7", affiliation="Delphi", cost_usd="12.50"
    )
    page = browser(None).get("/boards/softmax/cpu?division=agent").content.decode()
    assert ("oracle-7, $12.50 declared" in page, "Delphi" in page, ">ben" in page) == (True, True, False)
    [line] = browser(None).get("/api/v1/boards/softmax/cpu/entries?division=agent").json()
    assert (line["rank"], line["division"], line["model_name"], line["cost_usd"]) == (2, "agent", "oracle-7", "12.50")


def test_a_long_board_comes_in_pages_and_folds(stage, browser, monkeypatch) -> None:
    for owner, ratio in ((stage.ada, 0.7), (stage.ben, 0.8), (stage.cleo, 0.9)):
        stage.judge(stage.submit(owner), ratio=ratio)
    address = "/api/v1/boards/softmax/cpu/entries?limit=2&offset="
    pages = [browser(None).get(f"{address}{start}") for start in (0, 2, 4)]
    assert [[line["user"] for line in page.json()] for page in pages] == [["ada", "ben"], ["cleo"], []]
    assert {page.headers["X-Total-Count"] for page in pages} == {"3"}
    assert "Slower" not in browser(None).get("/boards/softmax/cpu").content.decode()
    monkeypatch.setattr(boards, "UNFOLDED_ROWS", 2)
    folded = browser(None).get("/boards/softmax/cpu").content.decode()
    assert folded.index("/people/ben") < folded.index('</tbody><tbody class="rest">') < folded.index("/people/cleo")
    assert 'data-fold="Show the first 2 only">Show all 3 on this page' in folded
    assert "data-fold" not in browser(None).get("/boards/softmax/cpu?from=0&division=agent").content.decode()
    assert 'href="?from=0"' in browser(stage.ada).get("/boards/softmax/cpu?from=2").content.decode()


def test_a_board_asks_as_many_questions_however_long_it_is(stage, browser) -> None:
    def count(address: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert browser(None).get(address).status_code == 200
        return len(asked)

    addresses = (
        "/boards/softmax/cpu",
        "/api/v1/boards/softmax/cpu/entries",
        "/boards",
        "/boards/softmax/cpu/history",
        "/boards/softmax/cpu/cases",
    )
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    few = [count(address) for address in addresses]
    for owner, ratio in ((stage.ben, 0.8), (stage.cleo, 0.7), (stage.ada, 0.75), (stage.ben, 0.72)):
        stage.judge(stage.submit(owner), ratio=ratio)
    many = [count(address) for address in addresses]
    again = [count(address) for address in addresses]
    assert all(more <= less for more, less in zip(many, few, strict=True)), (few, many)
    assert all(warm <= cold for warm, cold in zip(again, many, strict=True)), "what did not change is not ranked again"


def test_a_confirmation_that_was_asked_for_since_marks_nothing(stage, browser, frozen) -> None:
    """Organisers confirm prizes while the standing is hidden, and a mark would reveal the leader."""
    address = "/api/v1/boards/softmax/cpu/entries"
    before = browser(None).get(address).json()
    ask_confirmation(
        candidate=Submission.objects.get(owner=stage.ada),
        incumbent=frozen,
        cause=AWARD,
        actor=stage.olga,
        now=stage.now,
    )
    assert browser(None).get(address).json() == before
    assert browser(stage.olga).get(f"{address}?full=true").json()[0]["record"] == "record not confirmed yet"
