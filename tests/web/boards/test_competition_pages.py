"""Competition pages: the list by phase, all details of a competition, and entry with rules and codes."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.admissions.models import FAILED, AdmissionTest
from leaderboard.competitions.access import issue_codes, publish_announcement
from leaderboard.competitions.models import CLOSED, Competition, Prize, Track
from leaderboard.entrants.enter import enter_alone, rules_digest
from leaderboard.entrants.models import Membership
from leaderboard.judging.models import DONE
from tests.leaderboard.stage import make_board
from tests.web.test_pages_are_strict import check

HOUR = timedelta(hours=1)


@pytest.fixture
def cup(stage) -> Competition:
    return stage.board.competition


def change(cup: Competition, **changes) -> None:
    for name, value in changes.items():
        setattr(cup, name, value)
    cup.save()


def page(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def enter(client, cup: Competition, **sent):
    told = {"rules_digest": rules_digest(cup), "accept": "on"} | sent
    return client.post(f"/competitions/{cup.slug}/enter", told)


def test_competitions_are_listed_by_phase(stage, browser) -> None:
    now = timezone.now()
    Competition.objects.create(slug="soon", name="Soon", contest_at=now + HOUR)
    Competition.objects.create(slug="gone", name="Gone", deadline=now - HOUR)
    text = page(browser(None), "/competitions")
    order = [text.index(word) for word in (">Running<", "Kernels 101", ">Coming<", ">Soon<", ">Past<", ">Gone<")]
    assert order == sorted(order)


def test_the_list_takes_as_many_queries_for_many(stage, browser, django_assert_num_queries) -> None:
    client = browser(None)
    with django_assert_num_queries(3):
        client.get("/competitions")
    for number in range(5):
        one = Competition.objects.create(slug=f"cup-{number}", name=f"Cup {number}")
        enter_alone(user=stage.ada, competition=one, now=timezone.now())
    with django_assert_num_queries(3):
        client.get("/competitions")


def test_a_page_tells_all_of_a_competition(stage, browser, cup) -> None:
    now = timezone.now()
    change(cup, description="Fast **kernels**.", rules="Be *fair*.", contest_at=now + HOUR, practice_at=now - HOUR)
    track = Track.objects.create(competition=cup, slug="all", name="Overall", kind="overall", divisions=["human"])
    Prize.objects.create(track=track, place=1, amount=Decimal("2500.00"), currency="EUR", sponsor="ACME")
    publish_announcement(competition=cup, title="Hello", text="It *begins*.", actor=stage.olga, now=now)
    enter_alone(user=stage.ada, competition=cup, now=now)
    text = page(browser(None), f"/competitions/{cup.slug}")
    for told in (
        "Fast <strong>kernels</strong>",
        "Be <em>fair</em>",
        "Submissions do not count.",
        "The contest begins",
        "2,500",
        "from ACME",
        "Only for the division human.",
        "who was that fast first wins",
        "Hello",
        "It <em>begins</em>",
        "1 entrant",
        'href="/boards/softmax"',
        'href="/boards/softmax/cpu"',
        "/sign-in?next=/competitions/kernels-101",
    ):
        assert told in text


def test_its_page_takes_as_many_queries_for_much(stage, browser, cup, django_assert_max_num_queries) -> None:
    client, address = browser(stage.ada), f"/competitions/{cup.slug}"
    with CaptureQueriesContext(connection) as few:
        client.get(address)
    for number in range(4):
        make_board(f"board-{number}")
        track = Track.objects.create(competition=cup, slug=f"track-{number}", name=f"Track {number}", kind="overall")
        Prize.objects.create(track=track, place=1, text="a mug")
        publish_announcement(competition=cup, title="News", text="", actor=stage.olga, now=timezone.now())
    with django_assert_max_num_queries(len(few) + 1):  # the prizes, once a track exists
        assert "Track 3" in page(client, address)


def test_an_announcement_is_news_on_home_and_board(stage, browser, cup) -> None:
    publish_announcement(competition=cup, title="New hardware", text="", actor=stage.olga, now=timezone.now())
    for address in ("/", "/boards/softmax", "/boards/softmax/cpu", f"/competitions/{cup.slug}"):
        assert "New hardware" in page(browser(None), address)


def test_entering_with_rules(stage, browser, cup) -> None:
    change(cup, rules="Be fair.")
    client = browser(stage.ada)
    assert "accept them" in page(client, f"/competitions/{cup.slug}")
    refused = enter(client, cup, accept="")
    assert refused.status_code == 400
    assert "Tick this box" in refused.content.decode()
    stale = enter(client, cup, rules_digest="sha256:" + "0" * 64)
    assert stale.status_code == 409
    assert not Membership.objects.exists()
    assert enter(client, cup).headers["Location"] == f"/competitions/{cup.slug}"
    assert "You compete as <strong>ada</strong>" in page(client, f"/competitions/{cup.slug}")


def test_submitting_first_says_where_the_rules_are(stage, browser, cup) -> None:
    change(cup, rules="Be fair.")
    assert "Accept the rules first" in page(browser(stage.ada), "/boards/softmax/submit")
    sent = {"hardware": "cpu", "mode": "test", "code": "def custom_kernel(data): return data"}
    answer = browser(stage.ada).post("/boards/softmax/submit", sent)
    assert answer.status_code == 409
    assert f"/competitions/{cup.slug}" in answer.content.decode()


def test_a_code_opens_the_door(stage, browser, cup) -> None:
    change(cup, visibility=CLOSED, rules="Be fair.")
    code = issue_codes(competition=cup, count=1, actor=stage.olga, now=timezone.now())[0].text
    client = browser(stage.ada)
    assert client.get(f"/competitions/{cup.slug}").status_code == 404
    assert enter(client, cup).status_code == 404
    wrong = client.post("/invite-code", {"code": code + "x"})
    assert (wrong.status_code, b"not known" in wrong.content) == (400, True)
    assert client.post("/invite-code", {"code": code}).headers["Location"] == f"/competitions/{cup.slug}"
    assert "The code is valid" in page(client, f"/competitions/{cup.slug}")
    assert enter(client, cup).status_code == 302
    assert client.get("/boards/softmax").status_code == 200


def test_guessing_codes_is_slow(stage, browser, tool) -> None:
    client = browser(stage.ada)
    codes = [client.post("/invite-code", {"code": f"pfi_{number}"}).status_code for number in range(21)]
    assert codes == [400] * 20 + [429]
    called = tool(stage.ada).post(
        "/api/v1/competitions/kernels-101/enter", {"code": "pfi_x"}, content_type="application/json"
    )
    assert (called.status_code, "Retry-After" in called.headers) == (429, True)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"contest_at": HOUR, "practice_at": -HOUR}, "Practice:</strong> submissions do not count"),
        ({"freeze_at": -HOUR, "deadline": HOUR}, "appear at the reveal"),
        ({"contest_at": HOUR}, "submissions are not open yet"),
        ({"deadline": -HOUR}, "submissions are closed"),
    ],
)
def test_a_board_says_its_phase(stage, browser, cup, changes, told) -> None:
    assert told not in page(browser(None), "/boards/softmax/cpu")
    change(cup, **{name: timezone.now() + delta for name, delta in changes.items()})
    for address in ("/boards/softmax/cpu", "/boards/softmax"):
        assert told in page(browser(None), address)


def test_a_board_says_that_its_admission_test_closed_it(stage, browser) -> None:
    AdmissionTest.objects.create(
        version=stage.board.version,
        hardware="cpu",
        state=DONE,
        outcome=FAILED,
        asked_by=stage.olga,
        created_at=timezone.now(),
        finished_at=timezone.now(),
    )
    for address in ("/boards/softmax/cpu", "/boards/softmax"):
        assert "<strong>Closed:</strong>" in page(browser(None), address)


def test_the_api_tells_and_enters(stage, browser, tool, cup) -> None:
    change(cup, rules="Be fair.", visibility=CLOSED)
    code = issue_codes(competition=cup, count=1, actor=stage.olga, now=timezone.now())[0].text
    client, address = tool(stage.ada), f"/api/v1/competitions/{cup.slug}"

    def send(**body: str):
        return client.post(f"{address}/enter", body, content_type="application/json")

    assert client.get(address).status_code == 404
    assert client.get("/api/v1/competitions").json() == []
    assert send().status_code == 404
    first = send(code=code)
    assert (first.status_code, first.json()["errors"][0]["field"]) == (409, "rules_digest")
    told = client.get(address).json()
    assert (told["phase"], told["you"]["entrant"], told["you"]["accepted"]) == ("contest", None, False)
    assert told["problems"] == [{"board": "softmax", "title": "Row softmax", "hardware": ["cpu"]}]
    entered = send(code=code, rules_digest=told["rules_digest"])
    assert entered.status_code == 200
    you = entered.json()["you"]
    assert (you["entrant"], you["accepted"], you["team"], you["division"]) == ("ada", True, False, "human")
    assert [one["slug"] for one in client.get("/api/v1/competitions").json()] == [cup.slug]
    assert browser(None).get(address).status_code == 404


def test_a_wrong_code_tells_nobody_what_there_is(stage, tool, cup) -> None:
    Competition.objects.create(slug="secret", name="Secret", visibility=CLOSED)
    client, answers = tool(stage.cleo), set()
    for slug in ("secret", "nothing", cup.slug):
        answer = client.post(f"/api/v1/competitions/{slug}/enter", {"code": "pfi_x"}, content_type="application/json")
        answers.add((answer.status_code, answer.content))
    assert len(answers) == 1


def test_a_token_that_may_only_read_enters_nothing(stage, tool, cup) -> None:
    answer = tool(stage.ada, "read").post(f"/api/v1/competitions/{cup.slug}/enter", {}, content_type="application/json")
    assert answer.status_code == 403
    assert not User.objects.filter(memberships__isnull=False).exists()


def test_enter_form_of_a_competition_without_the_division_human_leads_to_the_entry(stage, browser) -> None:
    competition = stage.board.competition
    assert "just submit" in browser(stage.ada).get("/competitions/kernels-101").content.decode()
    competition.divisions = ["mixed"]
    competition.save()
    page = browser(stage.ada).get("/competitions/kernels-101").content.decode()
    assert "just submit" not in page
    assert "Set up your entry" in page
    assert "just submit" not in browser(stage.ada).get("/competitions/kernels-101/team").content.decode()
