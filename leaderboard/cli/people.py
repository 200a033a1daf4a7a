"""`photofinish person`, `compare`, `search`, `problems`, `comments` and `comment`."""

import sys
from typing import Annotated, Final

import typer

from ..client import Misuse
from ..client.values import JSON, mapping, mappings, number
from ..wording.figures import NONE, duration_us, interval, speedup
from .api import explained, one_hardware
from .config import connected
from .render import AsJson, Columns, Screen, clean, line, moment, names_of

MAX_TEXT_BYTES: Final = 80_000  # of a write-up: 20,000 characters
Hardware = Annotated[str, typer.Option(help="Required for a board with several.")]

BOARDS: Final[Columns] = {
    "rank": lambda one: f"{one.get('rank', '')}{'=' if one.get('tied') else ''} of {one.get('entrants', '')}",
    "board": "board",
    "hardware": "hardware",
    "as": "entrant",
    "speedup": lambda one: speedup(number(one.get("ratio"))),
    "time": lambda one: duration_us(number(one.get("score_us"))),
    "entry": "submission",
}
PROBLEMS: Final[Columns] = {
    "board": "slug",
    "title": "title",
    "competition": "competition_slug",
    "hardware": names_of("hardware"),
    "level": lambda one: NONE if one.get("level") is None else one["level"],
    "tags": names_of("tags"),
    "": lambda one: "open" if one.get("open") else "closed",
    "you": lambda one: (
        ", ".join(f"{rank} on {name}" for name, rank in mapping(one.get("ranks")).items()) or one.get("status", "")
    ),
}
CASES: Final[Columns] = {
    "case": "name",
    "first": lambda one: _time_of(one.get("first")),
    "second": lambda one: _time_of(one.get("second")),
    "second is": lambda one: f"{number(one.get('change')):.3f}× as fast" if number(one.get("change")) else "",
}


def person(context: typer.Context, name: str, as_json: AsJson = False) -> None:
    """Show a person's public profile: ranks, firsts and teams."""
    screen = Screen()
    with connected(context) as site:
        found = site.person(name)
        address = site.address(f"/people/{found.get('name', '')}")
    if as_json:
        screen.json(found)
        return
    screen.say(f"{line(found.get('name', ''), 150)}: {line(address)}")
    if teams := ", ".join(line(team.get("name", ""), 150) for team in mappings(found.get("teams"))):
        screen.say(f"teams: {teams}")
    for badge in mappings(found.get("badges")):
        screen.say(f"· {line(badge.get('text', ''), 300)}")
    screen.table(mappings(found.get("boards")), BOARDS, ("rank", "speedup", "time"), ("time", "entry", "as"))


def compare(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="A", help="Number of a published entry.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Number of the other entry.")],
    as_json: AsJson = False,
) -> None:
    """Compare two published entries: figures and timed cases. `photofinish diff A B` compares their code."""
    screen = Screen()
    with connected(context) as site:
        found = site.compare(first, second)
    if as_json:
        screen.json(found)
        return
    columns: Columns = {
        "entry": "submission",
        "who": "user",
        "board": "board",
        "hardware": "hardware",
        "speedup": lambda one: speedup(number(one.get("ratio"))),
        "interval": lambda one: interval(number(one.get("half_width"))) or NONE,
        "time": lambda one: duration_us(number(one.get("score_us"))),
    }
    sides: list[JSON] = [mapping(found.get("first")), mapping(found.get("second"))]
    screen.table(sides, columns, ("speedup", "interval", "time"), ("interval", "hardware"))
    if change := number(found.get("change")):
        screen.say(f"the second is {change:.3f}× as fast, by the ratios to the baseline")
    if not found.get("comparable"):
        screen.note("the two are of different boards or timing epochs, so their times do not compare")
    if cases := mappings(found.get("cases")):
        screen.say("")
        screen.table(cases, CASES, ("first", "second", "second is"))


def find(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="Words; each begins a word of the name.")],
    as_json: AsJson = False,
) -> None:
    """Find people, problems and competitions by name."""
    screen = Screen()
    with connected(context) as site:
        found = site.search(" ".join(text))
        rows: list[JSON] = [
            {**hit, "kind": kind, "url": site.address(hit.get("url"))}
            for kind in ("people", "problems", "competitions")
            for hit in mappings(found.get(kind))
        ]
    if as_json:
        screen.json(found)
        return
    screen.table(rows, {"": "kind", "name": "title", "about": "about", "page": "url"}, least=("about",))
    if not rows:
        screen.note("nothing has a name with these words")


def problems(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Words of the title, name, competition or tags.")] = "",
    tag: Annotated[str, typer.Option(help="Only problems with this tag.")] = "",
    level: Annotated[int | None, typer.Option(help="Only problems of this level.")] = None,
    hardware: Annotated[str, typer.Option(help="Only problems on this hardware.")] = "",
    status: Annotated[str, typer.Option(help="Your own: ranked, tried or new.")] = "",
    is_open: Annotated[bool, typer.Option("--open", help="Only problems that take submissions.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the problems with tags, level and your status."""
    screen = Screen()
    with connected(context) as site:
        found = site.problems(text=text, tag=tag, level=level, hardware=hardware, status=status, open=is_open)
    screen.table(found, PROBLEMS, ("level",), ("tags", "competition", "level", "title"), as_json)


def comments(
    context: typer.Context,
    board: str,
    hardware: Hardware = "",
    write_ups: Annotated[bool, typer.Option("--write-ups", help="Write-ups in place of comments.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the comments or write-ups under a board, newest first."""
    screen = Screen()
    with connected(context) as site:
        chosen = one_hardware(site, board, hardware)
        with explained(site, board, chosen):
            found = site.posts(board, chosen, "write_up" if write_ups else "comment", limit)
    if as_json:
        screen.json(found)
        return
    for post in mappings(found):
        when = moment(post.get("created_at"))
        screen.say(f"{line(post.get('id', ''), 20)}  {line(post.get('author', ''), 150)}, {when}")
        removed = f"removed by a moderator: {line(post.get('removal', ''))}"
        screen.say("\n".join(f"    {row}" for row in clean(post.get("text") or removed).split("\n")) + "\n")
    if not found:
        screen.note("none; a board takes them once its contest is over")


def comment(
    context: typer.Context,
    board: str,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Plain text; - reads stdin.")],
    hardware: Hardware = "",
    write_up: Annotated[bool, typer.Option("--write-up", help="Your write-up, in place of a comment.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a comment or your write-up under a board, once its contest is over."""
    if text == "-":
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1) if sys.stdin is not None else b""
        if len(data) > MAX_TEXT_BYTES:
            raise Misuse(f"text: stdin has more than {MAX_TEXT_BYTES:,} bytes")
        text = data.decode("utf-8", "replace")
    with connected(context) as site:
        chosen = one_hardware(site, board, hardware)
        with explained(site, board, chosen):
            made = site.write_post(board, chosen, text, "write_up" if write_up else "comment")
        address = site.address(f"/boards/{board}/{chosen}/discussion")
    Screen().answer(made, f"published as {line(made.get('author', ''), 150)}: {line(address)}", as_json)


def _time_of(case: object) -> str:
    time = number(mapping(case).get("measured_us"))
    return NONE if time is None else duration_us(time)
