"""`photofinish team` and `admin`: each command sends one act and prints its result."""

import json

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

TEAM = {
    "entrant": {"shown_name": "fast ones", "team": True, "division": "human"},
    "people_fixed": "",
    "members": [{"username": "ada", "captain": True, "joined_at": "2026-01-01T00:00:00Z"}],
    "waiting": [{"id": 3, "username": "ben"}],
    "invites": [],
}


@pytest.mark.parametrize(
    ("arguments", "path", "sent"),
    [
        (["create", "summer", "fast ones"], "create", {"name": "fast ones"}),
        (["leave", "summer"], "leave", {}),
        (["rename", "summer", "x"], "rename", {"name": "x"}),
        (["invite", "summer", "ben"], "invite", {"username": "ben"}),
        (["withdraw", "summer", "3"], "withdraw", {"invite": 3}),
        (["remove", "summer", "ben"], "remove", {"username": "ben"}),
        (["hand-over", "summer", "ben"], "hand-over", {"username": "ben"}),
        (["division", "summer", "agent", "--model", "m"], "division", {"division": "agent", "model_name": "m"}),
        (["cost", "summer", "12.50"], "cost", {"cost_usd": "12.50"}),
        (["pseudonym", "summer", "owl"], "pseudonym", {"pseudonym": "owl"}),
        (["declare", "summer", "best", "young"], "declare", {"declared": ["best", "young"]}),
    ],
)
def test_team_command_sends_its_act(
    site: FakeSite, photofinish: Photofinish, arguments: list[str], path: str, sent: dict[str, object]
) -> None:
    site.act_answer = TEAM
    ended = photofinish("team", *arguments)
    assert ended.code == 0
    assert site.acts == [(f"/competitions/summer/team/{path}", sent)]
    assert ended.out.splitlines()[0] == "team fast ones, division human"
    assert "ada\tcaptain\t2026-01-01 00:00 UTC" in ended.out
    assert "3\tben" in ended.out


def test_invites_are_listed_and_accepted(site: FakeSite, photofinish: Photofinish) -> None:
    invite = {"id": 4, "competition": "summer", "team": "fast ones", "invited_by": "ben", "created_at": None}
    site.more["/invites"] = [invite]
    assert "4\tsummer\tfast ones\tben" in photofinish("team", "invites").out
    site.act_answer = TEAM
    assert json.loads(photofinish("team", "accept", "4", "--json").out) == TEAM
    assert site.acts == [("/invites/4/accept", {})]


@pytest.mark.parametrize(
    ("arguments", "path", "answer", "expected"),
    [
        (["stop"], "/admin/stop", {"accepting": False}, "takes no submissions"),
        (["start"], "/admin/start", {"accepting": True}, "The site takes submissions."),
        (["invite", "summer", "--count", "2"], "/organise/summer/codes", {"codes": ["pfi_a", "pfi_b"]}, "pfi_a\npfi_b"),
        (
            ["revoke", "summer", "pfi_a"],
            "/organise/summer/codes/revoke",
            {"prefix": "pfi_a", "was_used": True},
            "loses",
        ),
        (["remove-board", "summer", "x"], "/organise/summer/boards/remove", {"removed": 1, "closed": 0}, "1 removed"),
    ],
)
def test_admin_command_sends_its_act(
    site: FakeSite, photofinish: Photofinish, arguments: list[str], path: str, answer: dict[str, object], expected: str
) -> None:
    site.act_answer = answer
    ended = photofinish("admin", *arguments)
    assert ended.code == 0
    assert site.acts[0][0] == path
    assert expected in ended.out


def test_admin_stats_and_codes_are_tables(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/admin/stats"] = {"num_submissions": 12, "runs_passed": 7}
    assert "submissions\t12\nruns passed\t7\n" in photofinish("admin", "stats", "--last-day").out
    code = {"prefix": "pfi_ab", "opens_all": False, "boards": ["softmax"], "used_by": None, "created_at": None}
    site.more["/organise/summer/codes"] = [code]
    assert "pfi_ab…\tsoftmax" in photofinish("admin", "codes", "summer").out
