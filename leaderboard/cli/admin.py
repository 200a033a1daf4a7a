"""`photofinish admin`: what administrators and owners of a competition do from a terminal; the token needs `review`.

organising.py has the commands for competitions, their boards and problems.
"""

from typing import Annotated, Final

import typer

from ..client.values import JSON
from . import kernels, organising
from .config import connected
from .render import AsJson, Columns, Screen, names_of, when

app = typer.Typer(no_args_is_help=True, help="Acts of administrators and owners; the token needs the scope review.")

CODES: Final[Columns] = {
    "code": lambda code: f"{code.get('prefix', '')}…",
    "opens": lambda code: "everything" if code.get("opens_all") else names_of("boards")(code),
    "used by": lambda code: code.get("used_by") or "",
    "created": when("created_at"),
    "note": "note",
}

for command in (
    *(organising.competitions, organising.create, organising.edit, organising.publish, organising.clone),
    *(organising.delete, organising.state, organising.standing),
    *(organising.boards, organising.add_board, organising.edit_board, organising.close_board, organising.call),
):
    app.command()(command)
app.command("import")(organising.import_sets)
app.command("rm")(kernels.remove)
app.command("show")(kernels.show)


@app.command()
def start(context: typer.Context, as_json: AsJson = False) -> None:
    """Take submissions again. Administrators only."""
    with connected(context) as site:
        Screen().answer(site.start_intake(), "The site takes submissions.", as_json)


@app.command()
def stop(context: typer.Context, as_json: AsJson = False) -> None:
    """Stop submissions and other changes, by maintenance. Judging goes on. Administrators only."""
    with connected(context) as site:
        Screen().answer(
            site.stop_intake(), "The site takes no submissions; `photofinish admin start` ends it.", as_json
        )


@app.command()
def stats(
    context: typer.Context,
    last_day: Annotated[bool, typer.Option("--last-day", help="Only of the last 24 hours.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count submissions, people and runs. Administrators only."""
    with connected(context) as site:
        found = site.stats(last_day)
    rows: list[JSON] = [{"what": name.replace("_", " ").removeprefix("num "), "count": n} for name, n in found.items()]
    screen = Screen()
    if as_json:
        screen.json(found)
    else:
        screen.table(rows, {"what": "what", "count": "count"}, ("count",))


@app.command()
def codes(context: typer.Context, competition: str, as_json: AsJson = False) -> None:
    """List the valid invite codes of a competition, by their beginnings. Owners only."""
    with connected(context) as site:
        found = site.invite_codes(competition)
    Screen().table(found, CODES, least=("note", "created"), as_json=as_json)


@app.command()
def invite(
    context: typer.Context,
    competition: str,
    count: Annotated[int, typer.Argument(min=1, max=1_000, metavar="[COUNT]", help="Number of codes.")] = 1,
    board: Annotated[list[str] | None, typer.Option(help="Only this board. Repeat it.")] = None,
    note: Annotated[str, typer.Option(help="Note for the owners.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create invite codes, each for one account. They are printed only now. Owners only."""
    with connected(context) as site:
        made = site.make_invite_codes(competition, count, board or (), note)
    Screen().answer(made, "\n".join(made["codes"]), as_json)


@app.command()
def revoke(context: typer.Context, competition: str, code: str, as_json: AsJson = False) -> None:
    """Revoke an invite code, given whole or by its beginning. Owners only."""
    with connected(context) as site:
        done = site.revoke_invite_code(competition, code)
    used = "; its user loses the access" if done["was_used"] else ""
    Screen().answer(done, f"{done['prefix']}… is revoked{used}.", as_json)


@app.command()
def remove_board(
    context: typer.Context,
    competition: str,
    board: str,
    force: Annotated[bool, typer.Option("--force", help="Close boards that cannot be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a board without submissions, on all its hardware. Owners only."""
    with connected(context) as site:
        done = site.remove_board(competition, board, force)
    Screen().answer(done, f"{board}: {done['removed']} removed, {done['closed']} closed", as_json)
