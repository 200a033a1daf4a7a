"""`photofinish agent`: accounts of programs that you own, and their tokens."""

from typing import Annotated

import typer

from ..client.values import JSON, mappings
from .config import connected
from .render import AsJson, Columns, Screen, line, moment, when

app = typer.Typer(no_args_is_help=True, help="Accounts of programs that you own, and their tokens.")


@app.command("list")
def list_agents(context: typer.Context, as_json: AsJson = False) -> None:
    """List your agents and their valid tokens, one token a line."""
    with connected(context) as site:
        found: list[JSON] = [*site.agents()]
    rows = [{**token, "agent": one["name"]} for one in found for token in mappings(one.get("tokens")) or [{}]]
    columns: Columns = {
        "agent": "agent",
        "token": "id",
        "name": "name",
        "begins": "prefix",
        "expires": when("expires_at"),
        "seconds a day": "device_s_per_day",
        "an hour": "per_hour",
    }
    screen = Screen()
    screen.table(found if as_json else rows, columns, least=("begins", "an hour"), as_json=as_json)
    if not (found or as_json):
        screen.note("no agents; `photofinish agent create NAME` makes one")


@app.command()
def create(context: typer.Context, name: str, as_json: AsJson = False) -> None:
    """Create an agent, with you as its owner: you answer for what it sends."""
    with connected(context) as site:
        made = site.create_agent(name)
    name = line(made.get("name", ""), 64)
    Screen().answer(made, f"made the agent {name}; `photofinish agent token {name} WHERE` makes a token", as_json)


@app.command()
def token(
    context: typer.Context,
    agent: str,
    name: Annotated[str, typer.Argument(metavar="WHERE", help="Where the token is used, such as lab-7.")],
    scope: Annotated[list[str] | None, typer.Option(help="read or submit, repeatable (default: both).")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=365, help="Until it expires (default: 90).")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Device seconds in any 24 hours.")] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="Submissions an hour.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token of an agent and print it, this once. It has at most the scopes, limits and time of yours."""
    with connected(context) as site:
        made = site.create_agent_token(
            agent, name, scopes=scope or (), days=days, device_s_per_day=budget, per_hour=rate
        )
    screen = Screen()
    screen.answer(made, line(made.get("token", ""), 128), as_json)
    if not as_json:
        until = moment(made["expires_at"]) if made.get("expires_at") else "revoked"
        screen.note(f"token {line(made.get('id', ''), 32)}, valid until {until}; keep it now, it is not shown again")


@app.command()
def revoke(
    context: typer.Context,
    agent: str,
    token: Annotated[int, typer.Argument(help="Its number in `photofinish agent list`.")],
    as_json: AsJson = False,
) -> None:
    """Revoke a token of an agent at once."""
    with connected(context) as site:
        done = site.revoke_agent_token(agent, token)
    Screen().answer(done, "revoked" if done.get("revoked") else "it was revoked before", as_json)
