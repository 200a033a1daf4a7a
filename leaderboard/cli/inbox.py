"""`photofinish inbox`: your messages, their channels, and a webhook."""

import sys
from typing import Annotated, Final

import typer

from ..client import Client, Misuse
from ..client.values import JSON, sequence
from .config import connected
from .render import AsJson, Columns, Screen, line, when

app = typer.Typer(invoke_without_command=True, help="Your messages, their channels, and a webhook.")

CHANNELS: Final = ("page", "mail", "webhook")
WEBHOOK_ACTS: Final = ("show", "set", "rotate", "test", "remove")
MAX_ADDRESS_BYTES: Final = 2_000
Kinds = Annotated[str | None, typer.Option(help="Kinds of messages with commas between, or none.")]


@app.callback()
def inbox(
    context: typer.Context,
    unread: Annotated[bool, typer.Option("--unread", help="Only unread messages.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show your messages, newest first: verdicts, overtakings, reviews, news. They stay unread."""
    if context.invoked_subcommand is not None:
        return
    with connected(context) as site:
        found: list[JSON] = [
            {**one, "page": site.address(one.get("url"))} for one in site.notifications(unread=unread, most=limit)
        ]
    columns: Columns = {
        "": lambda one: "" if one.get("read_at") else "new",
        "id": "id",
        "when": when("updated_at"),
        "message": lambda one: f"{one.get('title', '')}{_times(one)}",
        "text": "text",
        "page": "page",
    }
    screen = Screen()
    screen.table(found, columns, least=("text", "when", "id"), as_json=as_json)
    if not (found or as_json):
        screen.note("no messages")


@app.command()
def read(
    context: typer.Context,
    ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Messages; without: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Mark messages as read."""
    with connected(context) as site:
        done = site.read_notifications(ids or ())
    Screen().answer(done, f"read: {done.get('read', '')}", as_json)


@app.command()
def channels(
    context: typer.Context, page: Kinds = None, mail: Kinds = None, webhook: Kinds = None, as_json: AsJson = False
) -> None:
    """Show which kinds of messages come where, or choose: `inbox channels --mail review,verdict --webhook none`."""
    given = {name: kinds for name, kinds in zip(CHANNELS, (page, mail, webhook), strict=True) if kinds is not None}
    chosen = {
        name: [] if kinds == "none" else [kind.strip() for kind in kinds.split(",")] for name, kinds in given.items()
    }
    with connected(context) as site:
        found = site.choose_notifications(**chosen) if chosen else site.notification_settings()
    _show(found, as_json)


@app.command()
def webhook(
    context: typer.Context,
    act: Annotated[str, typer.Argument(help=f"{', '.join(WEBHOOK_ACTS)}.")] = "show",
    form: Annotated[str, typer.Option("--format", metavar="json|discord|slack")] = "json",
    as_json: AsJson = False,
) -> None:
    """Show your webhook, or change it. `set` asks for the address, or reads stdin; `rotate` makes a new secret."""
    if act not in WEBHOOK_ACTS:
        raise Misuse(f"act: {act!r} is none of {', '.join(WEBHOOK_ACTS)}")
    screen = Screen()
    with connected(context) as site:
        match act:
            case "set":
                saved = site.set_webhook(_address(site), form)
                screen.answer(saved, f"messages go to {line(saved.get('host', ''), 255)}", as_json)
                _note_secret(screen, saved.get("secret"), as_json)
            case "rotate":
                made = site.rotate_webhook()
                screen.answer(made, "The secret before signs for 24 more hours.", as_json)
                _note_secret(screen, made.get("secret"), as_json)
            case "test":
                tested = site.test_webhook()
                screen.answer(tested, f"a test message arrived at {line(tested.get('host', ''), 255)}", as_json)
            case _:
                _show(site.remove_webhook() if act == "remove" else site.notification_settings(), as_json)


def _address(site: Client) -> str:
    site.need_token()
    if sys.stdin is not None and sys.stdin.isatty():
        return str(typer.prompt("Address of the webhook", hide_input=True, err=True))
    data = sys.stdin.buffer.read(MAX_ADDRESS_BYTES) if sys.stdin is not None else b""
    return data.decode("utf-8", "replace").strip()


def _note_secret(screen: Screen, secret: object, as_json: bool) -> None:
    if secret and not as_json:
        screen.say(f"secret, shown only now: {line(secret, 200)}")


def _show(found: JSON, as_json: bool) -> None:
    screen = Screen()
    if as_json:
        screen.json(found)
        return
    for name in CHANNELS:
        screen.say(f"{name}: {', '.join(line(kind, 32) for kind in sequence(found.get(name))) or 'none'}")
    if host := line(found.get("webhook_host", ""), 255):
        state = "on" if found.get("webhook_on") else "off"
        failure = f"; {line(found['webhook_failure'], 200)}" if found.get("webhook_failure") else ""
        screen.say(f"webhook at {host}, format {line(found.get('webhook_format', ''), 16)}: {state}{failure}")
    if not found.get("sends_mail"):
        screen.note("this site sends no mail")


def _times(message: JSON) -> str:
    count = message.get("count")
    return f" ({count} times)" if isinstance(count, int) and count > 1 else ""
