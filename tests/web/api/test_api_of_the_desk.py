"""The desk over /api/v1: people, names, tokens, quotas, code, bans, undoing; for administrators alone."""

from __future__ import annotations

from django.utils import timezone

from leaderboard.accounts.models import ApiToken
from leaderboard.operations.models import Ban
from leaderboard.submissions.models import QuotaException, Takedown
from tests.web.api.acting import field_of, send


def test_a_person_is_found_and_deactivated_and_that_undone(stage, olga, tool) -> None:
    mine = tool(stage.ada)
    (found,) = olga.get("/api/v1/desk/people?text=ada").json()
    at = f"desk/people/{found['id']}"
    assert olga.get(f"/api/v1/{at}").json()["logins"] == ["ada"]
    assert field_of(send(olga, f"{at}/deactivate")) == (400, "reason")
    assert send(olga, f"{at}/deactivate", reason="spam").json()["active"] is False
    assert mine.get("/api/v1/me").status_code == 401
    assert field_of(send(olga, f"{at}/deactivate", reason="spam")) == (409, "person")
    (act,) = olga.get("/api/v1/desk/acts").json()
    assert (act["act"], act["object"], act["by"], act["may_undo"]) == ("deactivate", "ada", "olga", True)
    assert send(olga, f"desk/acts/{act['id']}/undo", reason="a slip").status_code == 204
    assert mine.get("/api/v1/me").status_code == 200


def test_names_are_changed_and_hidden(stage, olga) -> None:
    stage.submit(stage.ada)
    at = f"desk/people/{stage.ada.pk}"
    assert send(olga, f"{at}/rename", name="grace", reason="asked for").json()["username"] == "grace"
    assert field_of(send(olga, f"{at}/rename", name="b e n", reason="x")) == (400, "name")
    person = send(olga, f"{at}/hide", reason="rude").json()
    assert (person["username"], person["entrants"][0]["competition"]) == (f"user-{stage.ada.pk}", "kernels-101")
    entrant = person["entrants"][0]["id"]
    assert field_of(send(olga, f"desk/entrants/{entrant}/rename", name="x", reason="y")) == (409, "name")
    assert field_of(send(olga, f"desk/entrants/{entrant}/hide-pseudonym", reason="y")) == (409, "pseudonym")


def test_tokens_are_revoked(stage, olga, tool) -> None:
    mine = tool(stage.ada)
    (token,) = olga.get(f"/api/v1/desk/people/{stage.ada.pk}").json()["tokens"]
    assert send(olga, f"desk/tokens/{token['id']}/revoke", reason="a leak").status_code == 204
    assert mine.get("/api/v1/me").status_code == 401
    tool(stage.ada)
    assert send(olga, f"desk/people/{stage.ada.pk}/revoke-tokens", reason="a leak").json()["tokens"] == []
    assert not ApiToken.objects.filter(owner=stage.ada, revoked_at=None).exists()
    assert send(olga, f"desk/people/{stage.ada.pk}/sign-out", reason="a leak").status_code == 200


def test_a_person_gets_a_quota_of_their_own(stage, olga) -> None:
    stage.now = timezone.now()
    sent = {"competition": "kernels-101", "mode": "ranked", "capacity": 50, "per_day": 50, "reason": "a workshop"}
    at = f"desk/people/{stage.ada.pk}/quota"
    person = send(olga, at, **sent, board="softmax", hardware="cpu", days=2).json()
    assert [(one["board"], one["capacity"]) for one in person["quotas"]] == [("softmax", 50)]
    assert send(olga, at, **sent, board="softmax", hardware="H200").status_code == 404
    assert field_of(send(olga, at, **sent, board="softmax", hardware="cpu")) == (409, "mode")
    assert send(olga, f"desk/quotas/{person['quotas'][0]['id']}/end", reason="over").status_code == 204
    assert QuotaException.objects.get().ended_at is not None


def test_code_is_taken_down_and_put_back(stage, olga) -> None:
    at = f"desk/submissions/{stage.submit(stage.ada).pk}"
    assert send(olga, f"{at}/take-down", reason="a secret key").status_code == 204
    assert Takedown.objects.exists()
    assert field_of(send(olga, f"{at}/take-down", reason="x")) == (409, "submission")
    assert send(olga, f"{at}/put-back", reason="a slip").status_code == 204


def test_networks_are_banned_but_not_the_callers_own(stage, olga) -> None:
    own = send(olga, "desk/bans", network="127.0.0.0/24", days=1, reason="a slip")
    assert field_of(own) == (409, "confirm")
    made = send(olga, "desk/bans", network="203.0.113.0/24", days=1, reason="a flood").json()
    assert [one["network"] for one in olga.get("/api/v1/desk/bans").json()] == ["203.0.113.0/24"]
    assert send(olga, f"desk/bans/{made['id']}/lift", reason="over").status_code == 204
    assert Ban.objects.get().lifted_at is not None


def test_the_desk_is_for_administrators(stage, owner) -> None:
    for path in ("people?text=ada", "acts", "bans", f"people/{stage.ada.pk}"):
        assert owner.get(f"/api/v1/desk/{path}").status_code == 403
    assert send(owner, f"desk/people/{stage.ada.pk}/deactivate", reason="mine").status_code == 403
