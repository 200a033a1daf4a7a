"""The desk's pages: search, a page per person, buttons with their undo, bans and their refusal."""

from datetime import timedelta

import pytest
import structlog
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import issue_token
from leaderboard.audit.models import Row
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition
from leaderboard.desk.search import MOST, find
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import create_team, take_pseudonym
from leaderboard.operations import bans
from leaderboard.submissions.models import QuotaException
from leaderboard.web import limits
from tests.web.test_pages_are_strict import check


@pytest.fixture
def sam(stage) -> User:
    """Return a member of the staff who is no superuser."""
    return User.objects.create_user("sam", is_staff=True)


@pytest.fixture
def team(stage) -> Entrant:
    competition = stage.board.competition
    competition.max_team_size = 3
    competition.save()
    team = create_team(user=stage.ada, competition=competition, name="Quick Foxes", now=stage.now)
    take_pseudonym(entrant=team, actor=stage.ada, pseudonym="Nightjar", now=stage.now)
    return team


def text(answer) -> str:
    check(answer)
    return " ".join(answer.content.decode().split())


def test_a_person_is_found_by_everything_that_staff_may_know(stage, team) -> None:
    stage.ada.email = "Ada@example.org"
    stage.ada.save()
    token, secret = issue_token(owner=stage.ada, name="laptop", scopes=("read",), now=stage.now)
    for address in ("192.0.2.9", "2001:db8:1:2::/64"):
        with structlog.contextvars.bound_contextvars(address=address):
            record("sign_in_done", stage.ada, actor=stage.ada, now=stage.now)
    whole = ("AD", "quick f", "nightj", "ada@EX", token.prefix, secret, "192.0.2.9", "2001:db8:1:2::7")
    for wanted in whole:
        found = find(wanted)
        assert [account.username for account, _ in found] == ["ada"], wanted
        assert secret not in found[0][1]
    assert find("  ") == find("da") == find("192.0.2.8") == find("%") == find("x\x00") == []


def test_linked_logins_lead_to_their_account(stage) -> None:
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.ada)
    assert find("ben") == [(stage.ada, "name ben")]


def test_search_is_bounded_and_its_queries_are_constant(stage) -> None:
    User.objects.bulk_create(User(username=f"person{number}") for number in range(3_000))
    with CaptureQueriesContext(connection) as asked:
        assert len(find("person")) == MOST
    assert len(asked) == 5
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_user")
        cursor.execute(f"EXPLAIN {asked.captured_queries[0]['sql'].replace('person', 'person299')}")
        assert "user_by_beginning" in str(cursor.fetchall())


def test_search_is_limited(stage, browser, monkeypatch) -> None:
    monkeypatch.setattr(limits, "DESK_SEARCH_USER", limits.Limit("desk search user", 1, 60))
    olga = browser(stage.olga)
    assert "Found by" in text(olga.get("/desk?q=ada"))
    refused = olga.get("/desk?q=ada")
    assert refused.status_code == 429
    assert "searched too often" in text(refused)
    assert olga.get("/desk").status_code == 200


def test_person_page_shows_all_that_is_known(stage, browser, team, sam) -> None:
    stage.now = timezone.now() - timedelta(minutes=5)
    Competition.objects.update(quotas={"ranked": 12})
    issue_token(owner=stage.ada, name="laptop", scopes=("read",), now=stage.now)
    stage.submit(stage.ada)
    Client().post("/sign-in", {"username": "ada", "password": "wrong"})
    page = text(browser(sam).get(f"/desk/people/{stage.ada.pk}"))
    known = ("Quick Foxes", "pseudonym Nightjar", "1 queued", "laptop", "wrong password", "take pseudonym", ">11<")
    for words in known:
        assert words in page, words
    assert "Make staff" not in page, "for superusers alone"
    assert "Make staff" in text(browser(stage.olga).get(f"/desk/people/{stage.ada.pk}"))
    own = text(browser(sam).get(f"/desk/people/{sam.pk}"))
    assert "You cannot act on this account: this is you" in own
    assert "Deactivate" not in own
    assert browser(sam).get("/desk/people/99999").status_code == 404


def test_person_page_asks_as_often_for_much_as_for_little(stage, browser) -> None:
    olga = browser(stage.olga)
    stage.submit(stage.ada)
    page = f"/desk/people/{stage.ada.pk}"
    with CaptureQueriesContext(connection) as few:
        olga.get(page)
    for _ in range(3):
        stage.submit(stage.ada)
        olga.post(f"{page}/sign-out", {"reason": "once more"})
    with CaptureQueriesContext(connection) as many:
        olga.get(page)
    assert len(many) <= len(few) + 2, "the names in the audit rows, and which of these can be undone"


def test_deactivation_signs_out_and_its_undo_button_reactivates(stage, browser) -> None:
    ada, olga = browser(stage.ada), browser(stage.olga)
    page = f"/desk/people/{stage.ada.pk}"
    assert "say why" in text(olga.post(f"{page}/deactivate", {"reason": " "}, follow=True))
    assert "signed out everywhere" in text(olga.post(f"{page}/deactivate", {"reason": "spam"}, follow=True))
    assert ada.get("/submissions").status_code == 302
    row = Row.objects.get(act="desk_deactivate")
    assert f'action="/desk/acts/{row.pk}/undo"' in text(olga.get(page))
    done = text(olga.post(f"/desk/acts/{row.pk}/undo", {"next": page}, follow=True))
    assert "Cancelled submissions do not return" in done
    assert "undoes act" in done
    assert f'action="/desk/acts/{row.pk}/undo"' not in done
    assert ada.get("/submissions").status_code == 302, "the ended session stays ended"
    assert browser(User.objects.get(pk=stage.ada.pk)).get("/submissions").status_code == 200
    assert "a later act replaced it" in text(olga.post(f"/desk/acts/{row.pk}/undo", follow=True))
    away = olga.post(f"/desk/acts/{row.pk}/undo", {"next": "//example.org"})
    assert away["Location"] == "/desk"


def test_offensive_names_are_hidden_by_a_button(stage, browser, team) -> None:
    olga = browser(stage.olga)
    olga.post(f"/desk/entrants/{team.pk}/hide-pseudonym", {"reason": "rude"})
    assert Entrant.objects.get(pk=team.pk).pseudonym == f"team-{team.pk}"
    answer = olga.post(f"/desk/people/{stage.ada.pk}/rename", {"name": "adele", "reason": "asked for it"}, follow=True)
    assert "they sign in by the new name" in text(answer)
    assert "ada → adele" in text(olga.get("/desk"))
    assert "is taken" in text(
        olga.post(f"/desk/people/{stage.ada.pk}/rename", {"name": "olga", "reason": "x"}, follow=True)
    )


def test_a_token_is_revoked_and_an_exception_granted_and_ended(stage, browser) -> None:
    olga, page = browser(stage.olga), f"/desk/people/{stage.ada.pk}"
    token, _ = issue_token(owner=stage.ada, name="laptop", scopes=("read",), now=stage.now)
    assert "is revoked" in text(olga.post(f"/desk/tokens/{token.pk}/revoke", {"reason": "leaked"}, follow=True))
    sent = {"where": "kernels-101 softmax cpu", "mode": "ranked", "capacity": "30", "per_day": "20", "days": "3"}
    refused = olga.post(f"{page}/quota", sent | {"capacity": "0", "reason": "a course"})
    assert refused.status_code == 400
    assert "greater than or equal to 1" in text(refused)
    assert "in force" in text(olga.post(f"{page}/quota", sent | {"reason": "a course"}, follow=True))
    found = QuotaException.objects.get()
    assert (found.board, found.capacity) == (stage.board, 30)
    assert "end it first" in text(olga.post(f"{page}/quota", sent | {"reason": "a course"}))
    assert "has ended" in text(olga.post(f"/desk/quotas/{found.pk}/end", {"reason": "over"}, follow=True))


def test_banned_network_gets_a_reason_and_runners_stay(stage, browser, monkeypatch) -> None:
    monkeypatch.setattr(bans, "_loaded", {})
    olga = browser(stage.olga)
    sent = {"network": "127.0.0.0/16", "days": "2", "reason": "It floods <us>."}
    warned = olga.post("/desk/bans", sent)
    assert warned.status_code == 409
    assert "your own address" not in text(olga.get("/desk/bans"))
    assert "Your own address 127.0.0.1 is in" in text(warned)
    assert 'name="confirm"' in text(warned)
    done = text(olga.post("/desk/bans", sent | {"confirm": "on"}, follow=True))
    assert "127.0.0.0/16 is banned." in done
    bans.load(timezone.now())
    with CaptureQueriesContext(connection) as asked:
        refused = olga.get("/boards")
    assert (refused.status_code, len(asked)) == (403, 0), "refused before the session is read"
    assert "It floods &lt;us&gt;." in text(refused)
    answer = Client().get("/api/v1/boards")
    assert answer.status_code == 403
    assert "It floods <us>." in answer.json()["detail"]
    assert Client().post("/api/runner/v1/claim").status_code == 401
    assert Client().get("/readyz").status_code == 200
    elsewhere = Client(REMOTE_ADDR="192.0.2.1")
    assert elsewhere.get("/boards").status_code == 200
    elsewhere.force_login(stage.olga)
    (ban,) = bans.in_force(timezone.now())
    lifted = elsewhere.post(f"/desk/bans/{ban.pk}/lift", {"reason": "over"}, follow=True)
    assert "is not banned any more" in text(lifted)
    bans.load(timezone.now())
    assert Client().get("/boards").status_code == 200
