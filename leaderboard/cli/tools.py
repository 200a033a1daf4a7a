"""`photofinish completion`, `doctor` and `skill`: help with the terminal, the installation and coding agents."""

import datetime as dt
import shutil
import stat
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import typer

from ..client import Client, ClientError, Misuse
from ..client.values import mapping, mappings, sequence
from . import config
from .completion import SHELLS, WHERE, script
from .render import AsJson, Columns, Screen, line

SKILL_FILE: Final = "SKILL.md"
MAX_SKEW_S: Final = 120


@dataclass(frozen=True)
class Check:
    name: str
    good: bool
    found: str


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(envvar="SHELL", help=f"{', '.join(SHELLS)} (default: yours).")] = "",
) -> None:
    """Print the completion script of a shell, for its start-up file."""
    chosen = Path(shell).name
    if chosen not in SHELLS:
        raise Misuse(f"shell: {chosen!r} is none of {', '.join(SHELLS)}")
    screen = Screen()
    screen.out.file.write(script(chosen, context.find_root().command))
    if screen.out.is_terminal:
        screen.note(f"put it into {WHERE[chosen]}")


def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check this installation: its file, the site, the token and the judge. Exit code 1 if something must be fixed."""
    screen = Screen()
    found = [_file()]
    try:
        connection = config.connected(context)
    except ClientError as error:
        found.append(Check("settings", False, str(error)))
    else:
        with connection as site:
            found += [_tried("site", lambda: _site(site)), _tried("token", lambda: _token(site))]
    found.append(_judge())
    columns: Columns = {"": lambda check: "ok" if check["good"] else "fix", "check": "name", "found": "found"}
    screen.table([asdict(check) for check in found], columns, as_json=as_json)
    raise typer.Exit(0 if all(check.good for check in found) else 1)


def skill(
    into: Annotated[Path | None, typer.Option(help="Folder for SKILL.md, such as .claude/skills/photofinish.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print instructions for coding agents, or write them into a folder as SKILL.md."""
    text = (resources.files(__package__) / "skill.md.txt").read_text("utf-8")
    screen = Screen()
    if into is None:
        if as_json:
            screen.json({"text": text})
        else:
            screen.out.file.write(text)
        return
    path = into / SKILL_FILE
    if path.exists():
        raise Misuse(f"{path} is there already; remove it first")
    try:
        into.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{path}: {error.strerror}") from None
    screen.answer({"path": str(path)}, str(path), as_json)


def _tried(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except ClientError as error:
        return Check(name, False, line(error, 500))


def _file() -> Check:
    path = config.config_path()
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return Check("profiles", True, f"none kept in {path}")
    if mode & 0o077:
        return Check("profiles", False, f"{path} can be read by others; run: chmod 600 {path}")
    return _tried("profiles", lambda: Check("profiles", True, f"{', '.join(config.read().profiles)} in {path}"))


def _site(site: Client) -> Check:
    status = site.status()
    machines = mappings(status.get("machines"))
    ready = ", ".join(f"{line(one.get('hardware', ''), 64)} {one.get('ready', 0)}" for one in machines)
    try:
        sent = dt.datetime.fromisoformat(str(status.get("at")))
        skew = abs((dt.datetime.now(dt.UTC) - sent).total_seconds())
    except (ValueError, TypeError):
        skew = 0.0
    if skew > MAX_SKEW_S:
        return Check("site", False, f"{site.url} answers, but your clock differs from its clock by {skew:.0f} s")
    return Check("site", True, f"{site.url}: {line(status.get('summary', ''), 200)}; machines ready: {ready or 'none'}")


def _token(site: Client) -> Check:
    if not site.account.token:
        return Check("token", False, "none; run `photofinish login`")
    me = site.me()
    scopes = [str(scope) for scope in sequence(mapping(me.get("token")).get("scopes"))]
    name = line(me.get("username", ""), 150)
    if "submit" not in scopes:
        return Check("token", False, f"of {name}, may {', '.join(scopes)}; submitting needs the scope submit")
    return Check("token", True, f"of {name}, may {', '.join(scopes)}")


def _judge() -> Check:
    missing = [program for program in ("runner", "docker") if shutil.which(program) is None]
    if missing:
        return Check("judge", True, f"{' and '.join(missing)} not installed: `photofinish run` is off, the rest works")
    return Check("judge", True, "`photofinish run` judges here")
