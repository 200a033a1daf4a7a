"""/api/v1 creates and changes teams by the acts that the pages call, with the same permissions."""

import pytest
from django.utils import timezone

from leaderboard.competitions.models import CLOSED, Competition, Track
from leaderboard.web import limits

AT = "/api/v1/competitions/kernels-101/team"


@pytest.fixture(autouse=True)
def _teams(stage) -> None:
    stage.board.competition.max_team_size = 3
    stage.board.competition.save()


@pytest.fixture
def act(tool):
    """Return a function that sends an act as a person's script and returns the decoded answer."""

    def send(user, act: str, status: int = 200, /, **body: object):
        answer = tool(user).post(f"{AT}/{act}", body, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


@pytest.fixture
def team(stage, act, tool) -> None:
    """Create Ada's team with ben as a member."""
    act(stage.ada, "create", name="Fast")
    act(stage.ada, "invite", username="ben")
    (invite,) = tool(stage.ben).get("/api/v1/invites").json()
    assert (invite["team"], invite["invited_by"], invite["competition"]) == ("Fast", "ada", "kernels-101")
    assert tool(stage.ben).post(f"/api/v1/invites/{invite['id']}/accept").status_code == 200


def test_from_nothing_to_a_team(stage, act, tool) -> None:
    before = tool(stage.ada).get(AT).json()
    assert (before["entrant"], before["members"], before["people_fixed"]) == (None, [], "")
    made = act(stage.ada, "create", name="Fast", division="agent", model_name="GPT-9")["entrant"]
    assert (made["name"], made["team"], made["captain"], made["division"]) == ("Fast", True, True, "agent")
    waiting = act(stage.ada, "invite", username="Ben")["waiting"]
    assert [one["username"] for one in waiting] == ["ben"]
    joined = tool(stage.ben).post(f"/api/v1/invites/{waiting[0]['id']}/accept").json()
    assert [(one["username"], one["captain"]) for one in joined["members"]] == [("ada", True), ("ben", False)]
    assert tool(stage.ben).get("/api/v1/invites").json() == []
    (mine,) = tool(stage.ben).get("/api/v1/entrants").json()
    assert (mine["competition"], mine["name"], mine["captain"]) == ("kernels-101", "Fast", False)


def test_an_invite_is_answered_by_whom_it_is_for(stage, act, tool) -> None:
    act(stage.ada, "create", name="Fast")
    pk = act(stage.ada, "invite", username="ben")["waiting"][0]["id"]
    for answer in ("accept", "decline"):
        assert tool(stage.cleo).post(f"/api/v1/invites/{pk}/{answer}").status_code == 404
    assert tool(stage.ben).post(f"/api/v1/invites/{pk}/decline").status_code == 204
    again = tool(stage.ben).post(f"/api/v1/invites/{pk}/accept")
    assert (again.status_code, again.json()["detail"]) == (409, "invite: it was declined already")
    second = act(stage.ada, "invite", username="ben")["waiting"][0]["id"]
    assert act(stage.ada, "withdraw", invite=second)["waiting"] == []


def test_a_captain_leads_and_hands_over(stage, act, team) -> None:
    refused = act(stage.ada, "leave", 409)
    assert "make another member captain first" in refused["detail"]
    act(stage.ben, "hand-over", 403, username="ben")
    told = act(stage.ada, "hand-over", username="ben")
    assert [one["username"] for one in told["members"] if one["captain"]] == ["ben"]
    assert act(stage.ada, "leave")["entrant"] is None
    act(stage.ben, "rename", name="Faster")
    Track.objects.create(
        competition=stage.board.competition, slug="students", name="S", kind="overall", eligibility="I am one."
    )
    act(stage.ben, "affiliation", affiliation="ETH")
    act(stage.ben, "pseudonym", pseudonym="Night Owl")
    act(stage.ben, "declare", declared=["students"])
    told = act(stage.ben, "division", division="mixed", model_name="GPT-9")["entrant"]
    assert act(stage.ben, "cost", cost_usd="12.5")["entrant"]["cost_usd"] == "12.50"
    assert "expected US dollars" in act(stage.ben, "cost", 400, cost_usd="much")["detail"]
    assert (told["name"], told["shown_name"], told["affiliation"]) == ("Faster", "Night Owl", "ETH")
    assert (told["declared"], told["division"], told["model_name"]) == (["students"], "mixed", "GPT-9")
    assert act(stage.ben, "reveal")["entrant"]["shown_name"] == "Faster (was Night Owl)"


@pytest.mark.parametrize(
    ("name", "sent", "status", "field"),
    [
        ("invite", {"username": "nobody"}, 404, "username"),
        ("invite", {}, 400, "username"),
        ("rename", {"name": "cleo"}, 400, "name"),
        ("rename", {"name": "x" * 201}, 400, "name"),
        ("division", {"division": "robot"}, 400, "division"),
        ("declare", {"declared": ["nope"]}, 400, "declared"),
        ("declare", {"declared": "nope"}, 400, "declared"),
        ("withdraw", {"invite": 10**30}, 400, "invite"),
        ("remove", {"username": "cleo"}, 404, "username"),
    ],
)
def test_what_cannot_be_done_names_the_field(stage, act, team, name, sent, status, field) -> None:
    assert act(stage.ada, name, status, **sent)["errors"][0]["field"] == field


def test_who_is_in_no_team_changes_none(stage, act, team) -> None:
    for name in ("rename", "invite", "remove", "reveal", "affiliation"):
        told = act(stage.cleo, name, 409, name="x", username="ada", affiliation="x")
        assert "enter it first" in told["detail"]


def test_a_team_is_fixed_when_it_is_said_to_be(stage, act, team, tool) -> None:
    Competition.objects.update(merge_deadline=timezone.now())
    assert "teams do not change any more" in tool(stage.ada).get(AT).json()["people_fixed"]
    act(stage.ada, "remove", 409, username="ben")


def test_a_closed_competition_has_no_teams_for_strangers(stage, act, team, tool) -> None:
    act(stage.ada, "invite", username="cleo")
    Competition.objects.update(visibility=CLOSED)
    assert tool(stage.cleo).get(AT).status_code == 404
    act(stage.cleo, "create", 404, name="Mine")
    assert tool(stage.cleo).get("/api/v1/invites").json() == []
    invite = stage.cleo.team_invites.get()
    assert tool(stage.cleo).post(f"/api/v1/invites/{invite.pk}/accept").status_code == 404
    assert len(tool(stage.ben).get("/api/v1/entrants").json()) == 1, "who is in it sees it"


def test_a_token_that_may_only_read_changes_nothing(stage, tool) -> None:
    client = tool(stage.ada, "read")
    assert client.post(f"{AT}/create", {"name": "Fast"}, content_type="application/json").status_code == 403
    assert client.get(AT).json()["entrant"] is None


def test_who_changes_too_much_waits_at_either_door(stage, act, tool, browser, monkeypatch) -> None:
    monkeypatch.setattr(limits, "TEAM_USER", limits.Limit("team user", 2, 3600))
    act(stage.ada, "create", name="Fast")
    browser(stage.ada).post("/competitions/kernels-101/team/rename", {"name": "Faster"})
    (told,) = act(stage.ada, "rename", 429, name="Fastest")["errors"]
    assert (told["field"], told["value"]) == ("act", "rename")
    assert "more than 2 times in an hour; wait" in told["message"]
    answer = tool(stage.ada).post("/api/v1/invites/1/accept")
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)
    act(stage.ben, "create", name="Other")
