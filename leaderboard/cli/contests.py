"""`photofinish competitions` and `photofinish enter`: which there are, and entering one with its rules accepted."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from leaderboard.cli import config, figures, render
from leaderboard.cli.api import JSON, Api, connected
from leaderboard.cli.errors import Misuse, Refused
from leaderboard.cli.text import line

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def competitions(context: typer.Context, as_json: AsJson = False) -> None:
    """List the competitions: running, coming, past."""
    screen = render.Screen()
    with connected(config.resolve(*context.obj)) as api:
        found = api.competitions()
    if as_json:
        screen.json(found)
        return
    rows = [
        (
            item.get("slug", ""),
            item.get("name", ""),
            item.get("phase", ""),
            figures.moment(item["until"]) if item.get("until") else "",
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
    as_json: AsJson = False,
) -> None:
    """Enter a competition: its rules are shown, and accepted by you. Again where they have changed."""
    screen = render.Screen()
    with connected(config.resolve(*context.obj)) as api:
        found = _with_code(api, competition, code) if code else _seen(api, competition)
        if not _is_in(found):
            _check_accepted(screen, api, found, accept_rules)
            found = api.enter(competition, rules_digest=str(found.get("rules_digest") or ""))
    if as_json:
        screen.json(found)
        return
    who = found["you"].get("entrant") if isinstance(found.get("you"), dict) else ""
    screen.say(f"{line(found.get('name', competition), 150)}: you are in it as {line(who or '', 150)}")


def _with_code(api: Api, competition: str, code: str) -> JSON:
    """The competition that the code lets us see; a code that is good stays used where rules are left to accept."""
    try:
        return api.enter(competition, code=code)
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
        raise Refused(f"{told}; --code opens a closed one", 404) from None


def _is_in(found: JSON) -> bool:
    you = found.get("you")
    return isinstance(you, dict) and bool(you.get("entrant")) and bool(you.get("accepted"))


def _check_accepted(screen: render.Screen, api: Api, found: JSON, accept_rules: bool) -> None:
    """Raises Misuse where there are rules that nobody accepted."""
    if not found.get("rules") or accept_rules:
        return
    where = line(api.address(f"/competitions/{found.get('slug', '')}"))
    if sys.stdin is None or not sys.stdin.isatty():
        raise Misuse(f"rules: read them at {where}, then add --accept-rules")
    screen.say(str(found["rules"]))
    if not typer.confirm("Do you accept these rules?", err=True):
        raise Misuse(f"rules: not accepted, so nothing was entered; they are at {where}")
