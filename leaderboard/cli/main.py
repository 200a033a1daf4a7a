"""`photofinish`: submit a kernel, watch it judged, read the boards.

Exit codes: 0 a pass (or simply done), 1 a verdict that is no pass, 2 wrong use, 3 site or network failed (or the
judging machine did), 4 not allowed (sign-in, permission, state, quota or rate), 5 a pass that is held for review, 130
interrupted. Errors are one sentence on stderr, never a traceback.
"""

import sys
from importlib import metadata
from typing import Annotated, Final

import typer

from ..client import ClientError
from . import (
    accounts,
    admin,
    agents,
    batches,
    boards,
    classes,
    contests,
    dataset,
    grading,
    inbox,
    kernels,
    matches,
    people,
    problem,
    search,
    teams,
    tools,
)
from .api import USAGE, exit_code
from .config import Options
from .render import Screen
from .start import on_terminal

EXIT_CODES: Final = (
    "Exit codes: 0 passed, or done; 1 not passed; 2 wrong use; 3 site or network failed; 4 not allowed; "
    "5 held for review."
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and usage errors, also in a pipe
    epilog=EXIT_CODES,
)

app.command()(accounts.login)
app.command()(accounts.logout)
app.command()(accounts.whoami)
app.add_typer(accounts.profiles, name="profile")
app.command()(boards.boards)
app.command()(boards.board)
app.command("open")(boards.open_page)
app.add_typer(problem.app, name="problem")
app.command(context_settings=problem.PASSED_ON)(problem.run)
app.command()(kernels.submit)
app.command()(kernels.watch)
app.command("list")(kernels.list_submissions)
app.command()(kernels.show)
app.command()(kernels.diff)
app.command()(kernels.report)
app.command()(kernels.reward)
app.command()(kernels.cancel)
app.command("rm")(kernels.remove)
app.add_typer(batches.app, name="batch")
app.command()(batches.feedback)
app.command()(batches.parents)
app.command()(search.search)
app.add_typer(dataset.app, name="dataset")
app.add_typer(matches.app, name="match")
app.add_typer(classes.app, name="class")
classes.app.add_typer(grading.app, name="grading")
for command in (grading.grades, grading.grade, grading.appeal):
    classes.app.command()(command)
app.command()(contests.competitions)
app.command()(contests.enter)
app.command()(contests.quota)
app.command()(contests.models)
app.add_typer(teams.app, name="team")
app.add_typer(agents.app, name="agent")
app.add_typer(inbox.app, name="inbox")
app.command()(people.person)
app.command()(people.compare)
app.command()(people.find)
app.command()(people.problems)
app.command()(people.comments)
app.command()(people.comment)
app.add_typer(admin.app, name="admin")
app.command()(tools.completion)
app.command()(tools.doctor)
app.command()(tools.skill)


def print_version(wanted: bool) -> None:
    if wanted:
        Screen().say(f"photofinish {version()}")
        raise typer.Exit


def version() -> str:
    try:
        return metadata.version("photofinish")
    except metadata.PackageNotFoundError:
        return "from a checkout that is not installed"


Version = Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")]


@app.callback()
def main(
    context: typer.Context,
    version: Version = False,
    url: accounts.Url = "",
    token: Annotated[str, typer.Option("--token", envvar="PHOTOFINISH_TOKEN", hidden=True)] = "",
    insecure: accounts.Insecure = False,
    profile: accounts.Profile = "",
) -> None:
    """Race kernels on Photofinish."""
    context.obj = Options(url, token, insecure, profile)


def run() -> None:
    """Run the command. An error ends it with a single sentence."""

    def command() -> None:
        try:
            app(prog_name="photofinish")
        except ClientError as error:
            Screen().error(str(error))
            sys.exit(exit_code(error))
        except OSError as error:
            if error.filename is None:  # a stream: on_terminal reports it
                raise
            Screen().error(f"{error.filename}: {error.strerror}")
            sys.exit(USAGE)

    on_terminal(command)
