"""`photofinish team`: your entry in a competition, its team and its invites."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from ..client.values import JSON, mapping, mappings
from .config import connected
from .render import AsJson, Columns, Screen, line, when

app = typer.Typer(no_args_is_help=True, help="Your entry in a competition, its team and its invites.")

Model = Annotated[str, typer.Option("--model", help="Model that writes the code, in the divisions agent and mixed.")]
INVITES: Final[Columns] = {
    "invite": "id",
    "competition": "competition",
    "team": "team",
    "from": "invited_by",
    "when": when("created_at"),
}


@app.command()
def show(context: typer.Context, competition: str, as_json: AsJson = False) -> None:
    """Show your entry in a competition, the members of the team and open invites."""
    with connected(context) as site:
        _show(site.team(competition), as_json)


@app.command()
def create(
    context: typer.Context,
    competition: str,
    name: str,
    division: Annotated[str, typer.Option(metavar="human|agent|mixed", help="Default: your present one.")] = "",
    model: Model = "",
    as_json: AsJson = False,
) -> None:
    """Create a team, with you as its captain."""
    _act(context, competition, "create", {"name": name, "division": division, "model_name": model}, as_json)


def _add(act: str, field: str, about: str) -> None:
    """Add the command of an act that takes one value, or none if `field` is empty."""

    def alone(context: typer.Context, competition: str, as_json: AsJson = False) -> None:
        _act(context, competition, act, {}, as_json)

    def with_value(
        context: typer.Context,
        competition: str,
        value: Annotated[str, typer.Argument(metavar=field)],
        as_json: AsJson = False,
    ) -> None:
        _act(context, competition, act, {field: value}, as_json)

    app.command(act, help=about)(with_value if field else alone)


for _command in (
    ("leave", "", "Leave the team, or the competition."),
    ("rename", "name", "Rename the team. Captains only."),
    ("invite", "username", "Invite a person by username. Captains only."),
    ("remove", "username", "Remove a member. Captains only."),
    ("hand-over", "username", "Make another member captain. Captains only."),
    ("cost", "cost_usd", "Declare the US dollars of your model's work so far, in the divisions agent and mixed."),
    ("affiliation", "affiliation", "Set the affiliation. Captains and single entrants."),
    ("pseudonym", "pseudonym", "Take a public name, once. Captains and single entrants."),
    ("reveal", "", "Show the real name too, for good. Captains and single entrants."),
):
    _add(*_command)


@app.command()
def withdraw(context: typer.Context, competition: str, invite: int, as_json: AsJson = False) -> None:
    """Withdraw an open invite by its number. Captains only."""
    _act(context, competition, "withdraw", {"invite": invite}, as_json)


@app.command()
def division(
    context: typer.Context, competition: str, division: str, model: Model = "", as_json: AsJson = False
) -> None:
    """Choose the division: human, agent or mixed. Captains and single entrants."""
    _act(context, competition, "division", {"division": division, "model_name": model}, as_json)


@app.command()
def declare(context: typer.Context, competition: str, tracks: list[str], as_json: AsJson = False) -> None:
    """Declare eligibility for tracks. Captains and single entrants."""
    _act(context, competition, "declare", {"declared": tracks}, as_json)


@app.command()
def invites(context: typer.Context, as_json: AsJson = False) -> None:
    """List the open invites to you."""
    with connected(context) as site:
        found = site.invites()
    Screen().table(found, INVITES, as_json=as_json)


@app.command()
def accept(context: typer.Context, invite: str, as_json: AsJson = False) -> None:
    """Accept an invite by its number, and join the team."""
    with connected(context) as site:
        _show(site.accept_invite(invite), as_json)


def _act(context: typer.Context, competition: str, act: str, sent: Mapping[str, Any], as_json: bool) -> None:
    given = {name: value for name, value in sent.items() if value != ""}
    with connected(context) as site:
        _show(site.team_act(competition, act, given), as_json)


def _show(team: JSON, as_json: bool) -> None:
    screen = Screen()
    if as_json:
        screen.json(team)
        return
    entrant = mapping(team.get("entrant"))
    if not entrant:
        screen.say("you are not in this competition; `photofinish enter` enters it")
    else:
        kind = "team" if entrant.get("team") else "alone, as"
        screen.say(
            f"{kind} {line(entrant.get('shown_name', ''), 150)}, division {line(entrant.get('division', ''), 32)}"
        )
    if team.get("people_fixed"):
        screen.say(line(team["people_fixed"], 300))
    members: Columns = {
        "member": "username",
        "": lambda member: "captain" if member.get("captain") else "",
        "since": when("joined_at"),
    }
    screen.table(mappings(team.get("members")), members)
    for key, title in (("waiting", "invited"), ("invites", "invites to you")):
        if rows := mappings(team.get(key)):
            screen.say(f"\n{title}")
            columns: Columns = {"invite": "id", "name": lambda row: row.get("username") or row.get("team") or ""}
            screen.table(rows, columns)
