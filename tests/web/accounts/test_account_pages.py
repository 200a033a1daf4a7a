"""Sign-up, sign-in, sign-out and tokens: success, refusals and rate limits."""

import re

PASSWORD = "hurdle-Rail-99"


def test_sign_up_signs_in_and_goes_where_one_wanted(stage, browser) -> None:
    client = browser(None)
    sent = {"username": "finn", "password1": PASSWORD, "password2": PASSWORD, "next": "/boards/softmax/submit"}
    assert client.post("/sign-up", sent).headers["Location"] == "/boards/softmax/submit"
    assert client.get("/api/v1/me").json()["username"] == "finn"


def test_sign_up_says_what_is_wrong(stage, browser) -> None:
    def errors(**changes: str) -> str:
        sent = {"username": "finn", "password1": PASSWORD, "password2": PASSWORD} | changes
        answer = browser(None).post("/sign-up", sent)
        assert answer.status_code == 200
        return answer.content.decode()

    assert "too common" in errors(password1="password", password2="password")
    assert 'id="id_username_error"' in errors(username="ADA"), "a name is taken in any case"
    assert 'id="id_username_error"' in errors(username="a b")
    assert 'id="id_username_error"' in errors(username="-x")
    assert 'value="fi<nn"' not in errors(username="fi<nn")


def test_sign_up_refuses_names_that_look_like_others_and_reserved_ones(stage, browser) -> None:
    def sign_up(name: str) -> int:
        sent = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
        return browser(None).post("/sign-up", sent).status_code

    for name in ("0lga", "olga.", "ol_ga"):
        assert sign_up(name) == 200, f"{name} looks like olga"
    for name in ("admin", "Photofinish", "photof1nish", "admins", "root", "organiser", "judges"):
        assert sign_up(name) == 200, name
    assert sign_up("olgata") == 302
    assert sign_up("administrata") == 302


def test_sign_up_with_a_nul_is_refused_at_its_field(stage, browser) -> None:
    answer = browser(None).post("/sign-up", {"username": "a\0b", "password1": PASSWORD, "password2": PASSWORD})
    assert answer.status_code == 200
    assert 'id="id_username_error"' in answer.content.decode()


def test_sign_up_that_loses_a_race_is_refused_at_its_field(stage, browser, monkeypatch) -> None:
    """Another sign-up with the name commits between this one's check and its row."""
    monkeypatch.setattr("leaderboard.web.accounts.forms.is_taken", lambda username: False)
    for check in ("validate_unique", "validate_constraints"):
        monkeypatch.setattr(f"leaderboard.accounts.models.User.{check}", lambda *given, **named: None)
    for name in ("olga", "OLGA"):
        answer = browser(None).post("/sign-up", {"username": name, "password1": PASSWORD, "password2": PASSWORD})
        assert (answer.status_code, "This name is taken" in answer.content.decode()) == (200, True)


def test_sign_up_asks_an_index_whether_a_name_is_taken(stage) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from leaderboard.entrants.models import Entrant
    from leaderboard.entrants.permissions import is_taken

    team = Entrant.objects.create(
        competition=stage.board.competition, name="Fast Team", is_team=True, created_at=stage.now
    )
    assert is_taken("fast team")
    team.name = "Quick"
    team.save(update_fields=["name"])
    assert not is_taken("fast team")
    assert (is_taken("qu1ck"), is_taken("quick")) == (True, True)
    with CaptureQueriesContext(connection) as asked, connection.cursor() as cursor:
        for scan in (
            "seqscan",
            "indexscan",
            "indexonlyscan",
        ):  # leaves bitmap scans alone
            cursor.execute(f"SET LOCAL enable_{scan} = off")
        assert not is_taken("somebody")
        plans = []
        for query in [one["sql"] for one in asked if one["sql"].startswith("SELECT")]:
            cursor.execute(f"EXPLAIN {query}")
            plans.append(" ".join(row[0] for row in cursor.fetchall()))
    assert ["user_by_look" in plans[0], "entrant_by_look" in plans[1]] == [True, True], plans


def test_pages_that_only_take_a_form_say_where_it_is(stage, browser) -> None:
    submission = stage.submit()
    for who, path, back in (
        (stage.olga, "/review/hold", "/review"),
        (stage.ada, f"/submissions/{submission.pk}/cancel", "/submissions"),
        (stage.olga, "/organise/kernels-101/roles/3/revoke", "/organise"),
    ):
        answer = browser(who).get(path)
        assert answer.status_code == 405
        assert f'href="{back}">the page above'.encode() in answer.content


def test_sessions_that_ended_are_cleared_by_the_sweeper(stage, browser) -> None:
    from datetime import timedelta

    from django.contrib.sessions.models import Session
    from django.core.management import call_command

    living, ended = browser(stage.ada), browser(stage.ben)
    Session.objects.filter(session_key=ended.session.session_key).update(expire_date=stage.now - timedelta(days=900))
    call_command("sweep")
    assert [session.session_key for session in Session.objects.all()] == [living.session.session_key]


def test_sign_in_and_out(stage, browser) -> None:
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    client = browser(None)
    client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    assert client.get("/api/v1/me").status_code == 200
    opened = client.get("/sign-out")
    assert (opened.status_code, opened["Allow"]) == (405, "POST"), "a link must not sign anybody out"
    assert b'href="/">the page above' in opened.content
    client.post("/sign-out")
    assert client.get("/api/v1/me").status_code == 401


def test_sign_in_leads_nowhere_else(stage, browser) -> None:
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    for wanted in ("https://example.org/", "//example.org", "javascript:alert(1)"):
        answer = browser(None).post("/sign-in", {"username": "ada", "password": PASSWORD, "next": wanted})
        assert answer.headers["Location"] == "/"


def test_guessing_a_password_is_stopped(stage, browser) -> None:
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    client = browser(None)
    for _ in range(10):
        assert client.post("/sign-in", {"username": "ada", "password": "wrong"}).status_code == 200
    stopped = client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    assert stopped.status_code == 429
    assert 1 <= int(stopped.headers["Retry-After"]) <= 901
    assert b"Too many tries" in stopped.content
    elsewhere = browser(None).post("/sign-in", {"username": "ada", "password": PASSWORD}, REMOTE_ADDR="192.0.2.9")
    assert elsewhere.status_code == 302, "the owner is not locked out by somebody else's guessing"


def test_a_right_password_starts_the_count_over(stage, browser) -> None:
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    client = browser(None)
    for _ in range(3):
        for _ in range(6):
            client.post("/sign-in", {"username": "ada", "password": "wrong"})
        assert client.post("/sign-in", {"username": "ada", "password": PASSWORD}).status_code == 302


def test_a_token_is_shown_once(stage, browser) -> None:
    client = browser(stage.ada)
    page = client.post("/tokens", {"name": "laptop", "scopes": ["read"]}, follow=True).content.decode()
    found = re.search(r'id="new-token">(pf_[^<]+)<', page)
    assert found
    assert found[1] not in client.get("/tokens").content.decode()
    me = browser(None).get("/api/v1/me", headers={"Authorization": f"Bearer {found[1]}"}).json()
    assert me == {"username": "ada", "token": {"name": "laptop", "scopes": ["read"]}}


def test_loading_the_page_again_makes_no_second_token(stage, browser) -> None:
    client = browser(stage.ada)
    answer = client.post("/tokens", {"name": "laptop", "scopes": ["read"]})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/tokens")
    secret = client.session["new_token"]["secret"]
    assert secret in client.get("/tokens").content.decode()
    assert "new_token" not in client.session, "once shown, it is kept nowhere"
    client.get("/tokens")
    assert stage.ada.tokens.count() == 1


def test_token_form_says_what_is_wrong(stage, browser) -> None:
    client = browser(stage.ada)
    assert b"at least one scope" in client.post("/tokens", {"name": "laptop"}).content
    assert b"is not one of" in client.post("/tokens", {"name": "laptop", "scopes": ["root"]}).content
    assert client.post("/tokens", {"name": "", "scopes": ["read"]}).status_code == 200
    assert not stage.ada.tokens.exists()
