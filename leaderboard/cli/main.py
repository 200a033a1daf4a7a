"""`photofinish`: submit a kernel, watch it judged, read the boards.

Exit codes: 0 a pass (or simply done), 1 a verdict that is no pass, 2 wrong use or refused by the site, 3 site or
network failed (or the judging machine did), 130 interrupted. Errors are one sentence on stderr, never a traceback.
"""

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from ..source import SourceError, read_file
from ..wording.figures import NONE, duration_us, interval, speedup
from . import config, contests, problem, render
from .api import FINAL, JSON, Api, connected, follow, mapping, number, sequence
from .config import Account, CliError, Misuse
from .render import AsJson, Columns, Screen, line, names_of, when
from .start import on_terminal

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

Url = Annotated[str, typer.Option("--url", envvar="PHOTOFINISH_URL", help="The site.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Send a token over plain http to another machine.")]


def print_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        version = metadata.version("photofinish")
    except metadata.PackageNotFoundError:
        version = "from a checkout that is not installed"
    Screen().say(f"photofinish {version}")
    raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")]


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
    token: Annotated[str, typer.Option("--token", help="From the site's token page (default: read from stdin).")] = "",
    url: Url = "",
    insecure: Insecure = False,
) -> None:
    """Check a token and store it with its site."""
    screen = Screen()
    site = config.site_url(url or context.obj[0] or config.load().url)
    token = token or _ask_token(site)
    account = config.check_private(Account(site, config.check_token(token), insecure or context.obj[2]))
    with connected(account) as api:
        me = api.me()
    path = config.save(account)
    screen.say(f"{site}: you are {line(me.get('username', ''), 150)}; the token is kept in {path}")


@app.command()
def logout() -> None:
    """Delete the stored token. It stays valid until you revoke it on the site's token page."""
    known = config.forget()
    Screen().say("The token is forgotten here." if known else "No token was kept.")


@app.command()
def whoami(context: typer.Context) -> None:
    """Show your account and the scopes of the token."""
    with connected(config.resolve(*context.obj)) as api:
        me = api.me()
    scopes = ", ".join(map(str, sequence(mapping(me.get("token")).get("scopes"))))
    Screen().say(f"{line(me.get('username', ''), 150)} at {api.url}" + (f" (may {line(scopes)})" if scopes else ""))


@app.command()
def boards(context: typer.Context, as_json: AsJson = False) -> None:
    """List the boards."""
    screen = Screen()
    with connected(config.resolve(*context.obj)) as api:
        found = api.boards()
        quotas = [] if as_json else api.quota_hint()
    columns: Columns = {
        "board": "slug",
        "title": "title",
        "hardware": names_of("hardware"),
        "deadline": when("deadline", "none"),
        "": lambda board: "open" if board.get("open") else "closed",
    }
    screen.table(found, columns, least=("deadline", "title"), as_json=as_json)
    screen.note_short(quotas)


@app.command()
def board(
    context: typer.Context,
    slug: str,
    hardware: Annotated[str, typer.Option(help="Required for a board with several.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show a board's ranking, best first."""
    screen = Screen()
    with connected(config.resolve(*context.obj)) as api:
        entries = api.entries(slug, hardware, limit)
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


@app.command()
def submit(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A Python file that defines custom_kernel(data).")],
    board: Annotated[str, typer.Option(help="Name of the board; see `photofinish boards`.")] = "",
    hardware: Annotated[str, typer.Option(help="Required for a board with several.")] = "",
    mode: Annotated[str, typer.Option(help="test: checked; benchmark: also timed; ranked: for the board.")] = "test",
    licence: Annotated[str, typer.Option(help="Licence of the published code (default: the competition's).")] = "",
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for the verdict.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a kernel and wait for its verdict. Exit code 0 only for a pass.

    Lines such as `#!PHOTOFINISH leaderboard softmax` at the top of the file name board and hardware. Options override
    them.
    """
    screen = Screen()
    if mode not in MODES:
        raise Misuse(f"mode: {mode!r} is not one of {', '.join(MODES)}")
    try:
        code = read_file(file)
    except SourceError as error:
        raise Misuse(f"file: {file}: {error.message}") from None
    with connected(config.resolve(*context.obj)) as api:
        sent = api.submit(board=board, hardware=hardware, mode=mode, filename=file.name, code=code, licence=licence)
        number = line(sent["id"], 64)
        slug, where = line(str(sent.get("board") or board), 64), line(str(sent.get("hardware") or hardware), 64)
        for note in sequence(sent.get("notes")):
            screen.note(line(note, 400))
        quotas = [] if as_json else api.quota_hint(slug)
        screen.note_short([quota for quota in quotas if (quota.get("hardware"), quota.get("mode")) == (where, mode)])
        if not no_wait:
            screen.note(f"submission {number} to {slug} on {where}, mode {mode}")
            _finish(screen, api, _watch(screen, api, str(sent["id"]), quiet=as_json), as_json)
        if as_json:
            screen.json(sent)
        else:
            screen.say(number)  # alone on stdout, for scripts
            screen.note(f"watch it: photofinish show {number}, or {line(api.address(sent.get('url')))}")


Submission = Annotated[str, typer.Argument(metavar="ID")]


@app.command()
def show(context: typer.Context, submission: Submission, as_json: AsJson = False) -> None:
    """Show a submission's verdict, and wait for it if necessary. Exit code 0 only for a pass."""
    screen = Screen()
    with connected(config.resolve(*context.obj)) as api:
        found = api.submission(submission)
        if found.get("status") not in FINAL:
            found = _watch(screen, api, submission, quiet=as_json)
        _finish(screen, api, found, as_json)


@app.command()
def cancel(context: typer.Context, submission: Submission, as_json: AsJson = False) -> None:
    """Cancel a submission that waits or runs. A finished submission stays as it is."""
    with connected(config.resolve(*context.obj)) as api:
        found = api.cancel(submission)
    Screen().answer(found, f"submission {submission}: {render.headline(found)}", as_json)


@app.command("list")
def list_submissions(
    context: typer.Context,
    board: Annotated[str, typer.Option(help="Only submissions to this board.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100)] = 20,
    as_json: AsJson = False,
) -> None:
    """List your submissions, newest first."""
    with connected(config.resolve(*context.obj)) as api:
        found = api.submissions(board, limit)
    columns: Columns = {
        "id": "id",
        "when": when("created_at", NONE),
        "board": "board",
        "hardware": "hardware",
        "mode": "mode",
        "verdict": render.headline,
        "speedup": lambda item: speedup(number(item.get("ratio"))),
        "time": lambda item: duration_us(number(item.get("score_us"))),
    }
    least = ("time", "hardware", "when", "mode", "speedup", "board")
    Screen().table(found, columns, ("speedup", "time"), least, as_json)


def _ask_token(site: str) -> str:
    """Read the token: from a terminal without echo, otherwise from a pipe or file. Raises Misuse."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(typer.prompt(f"Token for {site}", hide_input=True, err=True))
    data = sys.stdin.buffer.read(MAX_TOKEN_BYTES) if sys.stdin is not None else b""
    if not data.strip():
        raise Misuse(f"token: stdin is empty; give --token, or pipe a token from {site}/tokens")
    return data.decode("utf-8", "replace")


def _watch(screen: Screen, api: Api, submission: str, quiet: bool) -> JSON:
    try:
        if quiet:
            return follow(api, submission, lambda event: None)
        with screen.progress() as progress:
            return follow(api, submission, progress)
    except KeyboardInterrupt:
        screen.note(f"The submission goes on without you: `photofinish show {line(submission, 64)}` has its verdict.")
        raise typer.Exit(130) from None


def _finish(screen: Screen, api: Api, submission: JSON, as_json: bool) -> NoReturn:
    """Print the verdict and end the command with its exit code."""
    if as_json:
        screen.json(submission)
    else:
        render.verdict(screen, submission, api.address(submission.get("url")))
    raise typer.Exit(3 if submission.get("outcome") == "infra_error" else 0 if render.is_pass(submission) else 1)


def run() -> None:
    """Run the command. An error ends it with a single sentence."""

    def command() -> None:
        try:
            app()
        except CliError as error:
            Screen().error(str(error))
            sys.exit(error.exit_code)

    on_terminal(command)
