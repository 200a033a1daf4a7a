"""`photofinish boards`, `board` and `open`."""

import webbrowser
from typing import Annotated, Final

import typer

from ..client import Misuse, calls
from ..client.values import number
from ..wording.figures import NONE, duration_us, interval, speedup
from .api import explained, one_hardware, quietly
from .config import connected
from .render import AsJson, Columns, Screen, names_of, when

PAGE: Final = 50  # boards of a page


def boards(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Part of the name or title.")] = "",
    competition: Annotated[str, typer.Option(help="Only boards of this competition.")] = "",
    hardware: Annotated[str, typer.Option(help="Only boards with this hardware.")] = "",
    is_open: Annotated[bool | None, typer.Option("--open/--closed", help="Only open, or only closed boards.")] = None,
    page: Annotated[int, typer.Option(min=1, max=1_000, help=f"Page of {PAGE} boards.")] = 1,
    everything: Annotated[bool, typer.Option("--all", help="All boards, without pages.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the boards by name."""
    screen = Screen()
    start = 0 if everything else (page - 1) * PAGE
    most = 100_000 if everything else start + PAGE + 1
    with connected(context) as site:
        found = site.boards(competition=competition, hardware=hardware, open=is_open, text=text, most=most)
        quotas = [] if as_json else quietly(site, calls.quota())
    shown = found[start:] if everything else found[start : start + PAGE]
    columns: Columns = {
        "board": "slug",
        "title": "title",
        "hardware": names_of("hardware"),
        "deadline": when("deadline", "none"),
        "": lambda board: "open" if board.get("open") else "closed",
    }
    screen.table(shown, columns, least=("deadline", "title"), as_json=as_json)
    if as_json:
        return
    if len(found) > start + len(shown):
        screen.note(f"boards {start + 1} to {start + len(shown)}; more with --page {page + 1}, or --all")
    elif not shown:
        screen.note("no board fits; `photofinish boards --all` lists every board")
    screen.note_short(quotas)


def board(
    context: typer.Context,
    slug: str,
    hardware: Annotated[str, typer.Option(help="Required for a board with several.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show a board's ranking, best first."""
    screen = Screen()
    with connected(context) as site:
        chosen = one_hardware(site, slug, hardware)
        with explained(site, slug, chosen):
            entries = site.entries(slug, chosen, limit)
    columns: Columns = {
        "rank": lambda entry: f"{entry.get('rank', '')}{'=' if entry.get('tied') else ''}",
        "who": "user",
        "speedup": lambda entry: speedup(number(entry.get("ratio"))),
        "interval": lambda entry: interval(number(entry.get("half_width"))) or NONE,
        "time": lambda entry: duration_us(number(entry.get("score_us"))),
        "submitted": when("submitted_at", NONE),
    }
    numbers = ("rank", "speedup", "interval", "time")
    screen.table(entries, columns, numbers, ("submitted", "time", "interval"), as_json)
    if not as_json:
        screen.note("speedup: how many times as fast as the baseline that was timed beside it")


def open_page(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A submission's number, a board, or nothing.")] = "",
    only_print: Annotated[bool, typer.Option("--print", help="Print the address and open nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open the page of a submission or a board in your browser."""
    with connected(context) as site:
        path = f"/submissions/{name}" if name.isdecimal() else f"/boards/{calls.segment(name)}" if name else "/"
        address = site.address(path)
    Screen().answer({"url": address}, address, as_json)
    if not (only_print or as_json) and not webbrowser.open(address):
        raise Misuse("browser: none could be opened; copy the address")
