"""/api/v1/agents makes agents and their tokens, within the limits of the calling token."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import issue_token
from leaderboard.audit.models import Row

AT = "/api/v1/agents"


@pytest.fixture
def ask(stage):
    """Return a function that calls as ada, with a token of these limits."""

    def send(path: str = "", body: object = None, status: int = 201, owner=None, scopes=("read", "submit"), **limits):
        limits = {"lifetime": timedelta(days=40)} | limits
        _, text = issue_token(owner=owner or stage.ada, name="mine", scopes=scopes, now=timezone.now(), **limits)
        client = Client(headers={"Authorization": f"Bearer {text}"})
        path = f"{AT}{path}"
        answer = client.get(path) if body is None else client.post(path, body, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


def test_from_an_agent_to_its_first_call_and_its_end(stage, ask, mailoutbox) -> None:
    assert ask(status=200) == []
    assert ask(body={"name": "robo"}) | {"created_at": ""} == {"name": "robo", "created_at": "", "tokens": []}
    made = ask("/robo/tokens", {"name": "lab-7", "per_hour": 20, "device_s_per_day": 3600})
    assert (made["scopes"], made["per_hour"], made["device_s_per_day"]) == (["read", "submit"], 20, 3600)
    robo = Client(headers={"Authorization": f"Bearer {made['token']}"})
    assert robo.get("/api/v1/quota").status_code == 200
    (listed,) = ask(status=200)
    assert [token["id"] for token in listed["tokens"]] == [made["id"]]
    assert "token" not in listed["tokens"][0]
    assert ask(f"/robo/tokens/{made['id']}/revoke", {}, 200) == {"revoked": True}
    assert ask(f"/robo/tokens/{made['id']}/revoke", {}, 200) == {"revoked": False}
    assert robo.get("/api/v1/quota").status_code == 401
    assert set(Row.objects.values_list("act", flat=True)) >= {"create_agent", "revoke_token"}


def test_a_token_makes_none_that_may_do_more(stage, ask) -> None:
    ask(body={"name": "robo"})
    for body, limits, field, text in (
        ({"scopes": ["review"]}, {}, "scopes", "the calling token lacks it"),
        ({"per_hour": 1}, {"per_hour": 10}, "token", "has limits of its own"),
        ({}, {"device_s_per_day": 10}, "token", "has limits of its own"),
    ):
        refused = ask("/robo/tokens", {"name": "x", **body}, 403, **limits)
        assert refused["errors"][0]["field"] == field
        assert text in refused["detail"]
    made = ask("/robo/tokens", {"name": "x", "days": 365})
    assert (made["per_hour"], made["device_s_per_day"]) == (None, None)
    end = ApiToken.objects.get(pk=made["id"]).expires_at
    assert end is not None
    assert end < timezone.now() + timedelta(days=41)
    assert ask("/robo/tokens", {"name": "x"}, 403, scopes=["read"])["code"] == "scope_missing"


def test_an_agent_and_a_session_make_none(stage, ask, browser) -> None:
    ask(body={"name": "robo"})
    robo = User.objects.get(username="robo")
    assert "an agent owns no agents" in ask(body={"name": "robo2"}, status=403, owner=robo)["detail"]
    assert ask(status=200, owner=robo) == []
    answer = browser(stage.ada).post(AT, {"name": "other"}, content_type="application/json")
    assert answer.status_code == 403
    assert "/tokens" in answer.json()["detail"]


def test_agents_of_others_do_not_exist(stage, ask) -> None:
    ask(body={"name": "robo"})
    token = ask("/robo/tokens", {"name": "x"})["id"]
    for path in ("/robo/tokens", f"/robo/tokens/{token}/revoke", "/ada/tokens"):
        ask(path, {"name": "x"}, 404, owner=stage.ben)
    assert ask(status=200, owner=stage.ben) == []
    assert ask("/ada/tokens", {"name": "x"}, 404)


@pytest.mark.parametrize(("name", "said"), [("ada", "taken"), ("a b", "name"), ("", "blank"), ("x" * 99, "32")])
def test_wrong_names_are_refused_with_a_reason(stage, ask, name: str, said: str) -> None:
    refused = ask(body={"name": name}, status=400)
    assert refused["errors"][0]["field"] == "name"
    assert said in refused["detail"].lower()


def test_the_sixth_agent_is_refused(stage, ask) -> None:
    for number in range(5):
        ask(body={"name": f"robo-{number}-{'abcde'[number]}"})
    assert "the most for an account" in ask(body={"name": "further"}, status=409)["detail"]
