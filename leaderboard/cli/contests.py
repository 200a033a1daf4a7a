"""`photofinish competitions`, `enter` and `quota`: list competitions, enter, see the remaining quota."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from . import config, contest, lookup, render
from .api import JSON, Api, connected
from .errors import Misuse, Refused
from .text import line, moment

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def competitions(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Show all of this one.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the competitions: running, coming, past. Of one that is named, show its phases, boards, prizes and quota."""
    screen = render.Screen()
    with connected(config.resolve(*context.obj)) as api:
        if name:
            one = _seen(api, name)
            screen.json(one) if as_json else contest.show(screen, one, api.address(f"/competitions/{name}"))
            return
        found = api.competitions()
    if as_json:
        screen.json(found)
        return
    rows = [
        (
            item.get("slug", ""),
            item.get("name", ""),
            item.get("phase", ""),
            moment(item["until"]) if item.get("until") else "",
            item.get("entrants", ""),
        )
        for item in found
    ]
    columns = ("competition", "name", "phase", "until", "entrants")
    screen.table(columns, rows, numbers=("entrants",), least=("entrants", "name", "until"))


def enter(
    context: typer.Context,
    competition: str,
    code: Annotated[str, typer.Option(help="An invite code, where it is closed or a board of it is.")] = "",
    accept_rules: Annotated[
        bool, typer.Option("--accept-rules", help="You have read its rules and accept them.")
    ] = False,
    division: Annotated[str, typer.Option(help="human, agent or mixed; else human, where that is one.")] = "",
    model: Annotated[str, typer.Option(help="Which model writes the code: of agent and mixed.")] = "",
    as_json: AsJson = False,
) -> None:
    """Enter a competition: its rules are shown, and accepted by you. Again where they have changed."""
    screen = render.Screen()
    told = {"division": division, "model_name": model}
    with connected(config.resolve(*context.obj)) as api:
        api.need_token()
        found = _with_code(api, competition, code, told) if code else _seen(api, competition)
        if not _is_in(found) or division:
            if not _is_in(found):
                _check_accepted(screen, api, found, accept_rules)
            found = api.enter(competition, rules_digest=str(found.get("rules_digest") or ""), **told)
    if as_json:
        screen.json(found)
        return
    who = found["you"].get("entrant") if isinstance(found.get("you"), dict) else ""
    screen.say(f"{line(found.get('name', competition), 150)}: you are in it as {line(who or '', 150)}")


def quota(
    context: typer.Context,
    board: Annotated[str, typer.Option(help="All that is left for this board.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say what you may still send, and when more comes: wherever you have sent something, or to one board."""
    screen = render.Screen()
    with connected(config.resolve(*context.obj)) as api:
        left = lookup.quota(api, board)
    if as_json:
        screen.json(left)
    elif left:
        contest.show_quota(screen, left)
    else:
        screen.say("Nothing is spent: you have all of your quota everywhere. --board NAME says how much that is.")


def _with_code(api: Api, competition: str, code: str, told: dict[str, str]) -> JSON:
    """Return the competition that the code opens; a valid code stays redeemed if rules are left to accept."""
    try:
        return api.enter(competition, code=code, **told)
    except Refused as refused:
        if refused.status != 409:
            raise
        try:
            return api.competition(competition)
        except Refused:
            raise refused from None


def _seen(api: Api, competition: str) -> JSON:
    try:
        return api.competition(competition)
    except Refused as refused:
        if refused.status != 404:
            raise
        name = line(competition, 64)
        told = f"competition: you see none called {name!r}; `photofinish competitions` lists them"
        raise Refused(f"{told}; `photofinish enter {name} --code CODE` opens a closed one", 404) from None


def _is_in(found: JSON) -> bool:
    you = found.get("you")
    return isinstance(you, dict) and bool(you.get("entrant")) and bool(you.get("accepted"))


def _check_accepted(screen: render.Screen, api: Api, found: JSON, accept_rules: bool) -> None:
    """Show the rules and ask for acceptance. Raises Misuse if they are not accepted."""
    if not found.get("rules") or accept_rules:
        return
    where = line(api.address(f"/competitions/{found.get('slug', '')}"))
    if sys.stdin is None or not sys.stdin.isatty():
        raise Misuse(f"rules: read them at {where}, then add --accept-rules")
    screen.say(str(found["rules"]))
    if not typer.confirm("Do you accept these rules?", err=True):
        raise Misuse(f"rules: not accepted, so nothing was entered; they are at {where}")
