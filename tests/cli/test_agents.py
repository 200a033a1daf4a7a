"""`photofinish agent` lists and makes agents, and makes and revokes their tokens."""

import json

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

TOKEN = {
    "id": 12,
    "name": "lab-7",
    "prefix": "pf_abc",
    "scopes": ["read"],
    "expires_at": "2027-01-01T00:00:00Z",
    "device_s_per_day": 3600,
    "per_hour": None,
}


def test_agents_are_listed_with_a_line_for_each_token(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/agents"] = [
        {"name": "robo", "created_at": "2026-01-01T00:00:00Z", "tokens": [TOKEN]},
        {"name": "bare", "created_at": "2026-01-01T00:00:00Z", "tokens": []},
    ]
    out = photofinish("agent", "list").out
    assert "robo\t12\tlab-7\tpf_abc\t2027-01-01 00:00 UTC\t3600" in out
    assert "bare" in out
    assert [one["name"] for one in json.loads(photofinish("agent", "list", "--json").out)] == ["robo", "bare"]
    site.more["/agents"] = []
    assert "photofinish agent create NAME" in photofinish("agent", "list").err


def test_an_agent_and_its_tokens_are_made_and_revoked(site: FakeSite, photofinish: Photofinish) -> None:
    site.act_answer = {"name": "robo", "created_at": "2026-01-01T00:00:00Z", "tokens": []}
    assert "photofinish agent token robo WHERE" in photofinish("agent", "create", "robo").out
    site.act_answer = TOKEN | {"token": "pf_abcdef"}
    made = photofinish("agent", "token", "robo", "lab-7", "--budget", "3600", "--rate", "20", "--scope", "read")
    assert made.out == "pf_abcdef\n"
    assert "not shown again" in made.err
    site.act_answer = {"revoked": True}
    assert photofinish("agent", "revoke", "robo", "12").out == "revoked\n"
    assert site.acts == [
        ("/agents", {"name": "robo"}),
        (
            "/agents/robo/tokens",
            {"name": "lab-7", "scopes": ["read"], "device_s_per_day": 3600, "per_hour": 20},
        ),
        ("/agents/robo/tokens/12/revoke", {}),
    ]
