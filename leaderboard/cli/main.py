"""`photofinish`: submit a kernel, watch it judged, read the boards.

Exit codes: 0 a pass (or simply done), 1 a verdict that is no pass, 2 wrong use or refused by the site, 3 site or
network failed (or the judging machine did), 130 interrupted. Errors are one sentence on stderr, never a traceback.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from importlib import metadata
from pathlib import Path
from typing import Annotated, Final

import typer

from ..source import SourceError, read_file
from ..wording.figures import NONE, duration_us, interval, speedup
from . import config, contests, lookup, problem, render
from .api import JSON, Api, connected
from .config import Account
from .errors import CliError, Misuse
from .follow import FINAL, follow
from .start import on_terminal
from .text import line, moment, number

MODES: Final = ("test", "benchmark", "ranked")
MAX_TOKEN_BYTES: Final = 4_096

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and usage errors, also in a pipe
)

# Options of `runner`, among them --help, are not ours.
PASSED_ON: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

app.add_typer(problem.app, name="problem")
app.command(context_settings=PASSED_ON)(problem.run)
app.command()(contests.competitions)
app.command()(contests.enter)
app.command()(contests.quota)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Url = Annotated[str, typer.Option("--url", envvar="PHOTOFINISH_URL", help="The site.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Send a token over plain http to another machine.")]


def _say_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        version = metadata.version("photofinish")
    except metadata.PackageNotFoundError:
        version = "from a checkout that is not installed"
    render.Screen().say(f"photofinish {version}")
    raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which and leave.")]


@app.callback()
def main(
    context: typer.Context,
    version: Version = False,
    url: Url = "",
    token: Annotated[str, typer.Option("--token", envvar="PHOTOFINISH_TOKEN", hidden=True)] = "",
    insecure: Insecure = False,
) -> None:
    """Race kernels on Photofinish."""
    context.obj = (url, token, insecure)


@app.command()
def login(
    context: typer.Context,
    token: Annotated[str, typer.Option("--token", help="From the site's token page; else read from stdin.")] = "",
    url: Url = "",
    insecure: Insecure = False,
) -> None:
    """Check a token and remember it, with the site it is for."""
    screen = render.Screen()
    site = config.site_url(url or context.obj[0] or config.load().url)
    token = token or _ask_token(site)
    account = config.check_private(Account(site, config.check_token(token), insecure or context.obj[2]))
    with connected(account) as api:
        me = api.me()
    path = config.save(account)
    screen.say(f"{site}: you are {line(me.get('username', ''), 150)}; the token is kept in {path}")


@app.command()
def logout() -> None:
    """Forget the token (it stays valid: revoke it on the site's token page)."""
    known = config.forget()
    render.Screen().say("The token is forgotten here." if known else "No token was kept.")


@app.command()
def whoami(context: typer.Context) -> None:
    """Say who the site thinks you are."""
    screen = render.Screen()
    with _site(context) as api:
        me = api.me()
    token = me.get("token")
    scopes = ", ".join(map(str, token.get("scopes") or [])) if isinstance(token, dict) else ""
    screen.say(f"{line(me.get('username', ''), 150)} at {api.url}" + (f" (may {line(scopes)})" if scopes else ""))


@app.command()
def boards(context: typer.Context, as_json: AsJson = False) -> None:
    """List the boards."""
    screen = render.Screen()
    with _site(context) as api:
        found = api.boards()
        quota = [] if as_json else api.quota_hint()
    if as_json:
        screen.json(found)
        return
    rows = [
        (
            board.get("slug", ""),
            board.get("title", ""),
            " ".join(map(str, board.get("hardware") or [])),
            moment(board["deadline"]) if board.get("deadline") else "none",
            "open" if board.get("open") else "closed",
        )
        for board in found
    ]
    screen.table(("board", "title", "hardware", "deadline", ""), rows, least=("deadline", "title"))
    _note_short(screen, quota)


@app.command()
def board(
    context: typer.Context,
    slug: str,
    hardware: Annotated[str, typer.Option(help="Needed where a board has several.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show a board's ranking, best first."""
    screen = render.Screen()
    with _site(context) as api:
        entries = lookup.entries(api, slug, hardware, limit)
    if as_json:
        screen.json(entries)
        return
    rows = [
        (
            f"{entry.get('rank', '')}{'=' if entry.get('tied') else ''}",
            entry.get("user", ""),
            speedup(number(entry.get("ratio"))),
            interval(number(entry.get("half_width"))) or NONE,
            duration_us(number(entry.get("score_us"))),
            moment(entry.get("submitted_at")),
        )
        for entry in entries
    ]
    columns = ("rank", "who", "speedup", "interval", "time", "submitted")
    screen.table(
        columns, rows, numbers=("rank", "speedup", "interval", "time"), least=("submitted", "time", "interval")
    )
    screen.note("speedup: how many times as fast as the baseline that was timed beside it")


@app.command()
def submit(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A Python file that defines custom_kernel(data).")],
    board: Annotated[str, typer.Option(help="Which board; see `photofinish boards`.")] = "",
    hardware: Annotated[str, typer.Option(help="Which hardware; needed where a board has several.")] = "",
    mode: Annotated[str, typer.Option(help="test: is it right; benchmark: timed too; ranked: for the board.")] = "test",
    licence: Annotated[str, typer.Option(help="Under which the code is published; else the competition's.")] = "",
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Only send; do not wait for the verdict.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send a kernel and watch it judged. Exit code 0 only for a pass.

    Lines such as `#!PHOTOFINISH leaderboard softmax` at the top of the file give board and hardware; options win. The
    site reads these lines.
    """
    screen = render.Screen()
    if mode not in MODES:
        raise Misuse(f"mode: {mode!r} is not one of {', '.join(MODES)}")
    try:
        code = read_file(file)
    except SourceError as error:
        raise Misuse(f"file: {file}: {error.message}") from None
    with _site(context) as api:
        sent = api.submit(board=board, hardware=hardware, mode=mode, filename=file.name, code=code, licence=licence)
        submission_id = str(sent["id"])
        slug, where = line(str(sent.get("board") or board), 64), line(str(sent.get("hardware") or hardware), 64)
        notes = sent.get("notes")
        for note in notes if isinstance(notes, list) else ():
            screen.note(line(note, 400))
        if not as_json:
            _note_short(
                screen, [one for one in api.quota_hint(slug) if (one.get("hardware"), one.get("mode")) == (where, mode)]
            )
        if no_wait:
            _show_sent(screen, api, sent, as_json)
            return
        screen.note(f"submission {line(submission_id, 64)} to {slug} on {where}, mode {mode}")
        finished = _watch(screen, api, submission_id, quiet=as_json)
        _finish(screen, api, finished, as_json)


@app.command()
def show(
    context: typer.Context, submission: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False
) -> None:
    """Show a submission's verdict; waits for it where there is none yet. Exit code 0 only for a pass."""
    screen = render.Screen()
    number = lookup.submission_id(submission)
    with _site(context) as api:
        found = lookup.submission(api, number)
        if found.get("status") not in FINAL:
            found = _watch(screen, api, number, quiet=as_json)
        _finish(screen, api, found, as_json)


@app.command()
def cancel(
    context: typer.Context, submission: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False
) -> None:
    """Call a submission off that waits or runs; one that is finished stays as it is."""
    screen = render.Screen()
    number = lookup.submission_id(submission)
    with _site(context) as api:
        found = lookup.cancelled(api, number)
    if as_json:
        screen.json(found)
        return
    screen.say(f"submission {number}: {render.headline(found)}")


@app.command("list")
def list_submissions(
    context: typer.Context,
    board: Annotated[str, typer.Option(help="Only of this board.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100)] = 20,
    as_json: AsJson = False,
) -> None:
    """List your submissions, newest first."""
    screen = render.Screen()
    with _site(context) as api:
        found = lookup.submissions(api, board, limit)
    if as_json:
        screen.json(found)
        return
    rows = [
        (
            item.get("id", ""),
            moment(item.get("created_at")),
            item.get("board", ""),
            item.get("hardware", ""),
            item.get("mode", ""),
            render.headline(item),
            speedup(number(item.get("ratio"))),
            duration_us(number(item.get("score_us"))),
        )
        for item in found
    ]
    columns = ("id", "when", "board", "hardware", "mode", "verdict", "speedup", "time")
    screen.table(
        columns, rows, numbers=("speedup", "time"), least=("time", "hardware", "when", "mode", "speedup", "board")
    )


def _site(context: typer.Context) -> AbstractContextManager[Api]:
    url, token, insecure = context.obj
    return connected(config.resolve(url, token, insecure))


def _ask_token(site: str) -> str:
    """Read the token: from a terminal without echo, otherwise from a pipe or file. Raises Misuse."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(typer.prompt(f"Token for {site}", hide_input=True, err=True))
    data = sys.stdin.buffer.read(MAX_TOKEN_BYTES) if sys.stdin is not None else b""
    if not data.strip():
        raise Misuse(f"token: stdin is empty; give --token, or pipe a token from {site}/tokens")
    return data.decode("utf-8", "replace")


def _watch(screen: render.Screen, api: Api, submission_id: str, quiet: bool) -> JSON:
    try:
        with screen.progress(quiet) as progress:
            return follow(api, submission_id, progress)
    except KeyboardInterrupt:
        screen.note(
            f"The submission goes on without you: `photofinish show {line(submission_id, 64)}` has its verdict."
        )
        raise typer.Exit(130) from None


def _note_short(screen: render.Screen, quota: list[JSON]) -> None:
    for note in list(render.short_quotas(quota))[: render.SHOWN_SHORT]:
        screen.note(note)


def _show_sent(screen: render.Screen, api: Api, sent: JSON, as_json: bool) -> None:
    """Print the id alone on stdout, for scripts."""
    if as_json:
        screen.json(sent)
        return
    screen.say(line(sent["id"], 64))
    screen.note(f"watch it: photofinish show {line(sent['id'], 64)}, or {line(api.address(sent.get('url')))}")


def _finish(screen: render.Screen, api: Api, submission: JSON, as_json: bool) -> None:
    """Print the verdict and end the command with its exit code."""
    if as_json:
        screen.json(submission)
    else:
        render.verdict(screen, submission, api.address(submission.get("url")))
    if submission.get("outcome") == "infra_error":
        raise typer.Exit(3)
    raise typer.Exit(0 if render.is_pass(submission) else 1)


def run() -> None:
    """Run the command. An error ends it with a single sentence."""
    on_terminal(_command)


def _command() -> None:
    try:
        app()
    except CliError as error:
        render.Screen().error(str(error))
        sys.exit(error.exit_code)
