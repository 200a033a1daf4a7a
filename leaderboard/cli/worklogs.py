"""`photofinish match worklog`: read a worklog, write its sections in files, hand it in, export it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from ..client import Misuse
from ..client.values import JSON, mapping, mappings, number, sequence
from .config import connected
from .render import AsJson, Columns, Screen, clean, line, moment, when

app = typer.Typer(no_args_is_help=True, help="The worklog of a match: sections as files, hand-in, export.")

MatchId = Annotated[str, typer.Argument(metavar="MATCH", help="Number of the match.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Of the section files (default: worklog-MATCH).")]
HandIn = Annotated[int | None, typer.Option("--hand-in", min=1, help="As handed in, by its number (default: of now).")]
SECTIONS: Final = ("plan", "hand", "model", "head_to_head", "stuck")
STATE: Final = ".worklog.json"  # revisions and digests of the pulled texts
MOST_BYTES: Final = 100_000  # of a section's file

LINES: Final[Columns] = {"section": "section", "title": "title", "characters": "characters", "revision": "revision"}
HAND_INS: Final[Columns] = {"hand-in": "id", "when": when("at"), "by": "by"}


@app.command()
def show(context: typer.Context, match: MatchId, hand_in: HandIn = None, as_json: AsJson = False) -> None:
    """Show the sections of a worklog, the facts of the site, and the hand-ins."""
    with connected(context) as site:
        found: JSON = site.worklog(match, hand_in)
        handed = [] if as_json else list(site.hand_ins(match))
    screen = Screen()
    if as_json:
        screen.json(found)
        return
    titles, texts, revisions = (mapping(found.get(key)) for key in ("titles", "texts", "revisions"))
    rows: list[JSON] = [
        {"section": name, "title": title, "characters": len(str(texts.get(name, ""))), "revision": revisions.get(name)}
        for name, title in titles.items()
    ]
    screen.table(rows, LINES, ("characters", "revision"))
    for name, title in titles.items():
        screen.say(f"\n{line(title)}")
        for fact in mappings(mapping(found.get("facts")).get(name)):
            report = f" (#{line(fact.get('submission'), 20)})" if fact.get("submission") else ""
            screen.say(f"  {line(fact.get('name'))}: {line(fact.get('text'))}{report}")
    screen.say("")
    screen.table([dict(one) for one in handed], HAND_INS)
    if missing := [line(titles.get(str(name), name)) for name in sequence(found.get("missing"))]:
        screen.note(f"still empty: {', '.join(missing)}")


@app.command()
def pull(
    context: typer.Context,
    match: MatchId,
    folder: Folder = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite changed files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write each section into a file, SECTION.md. Files that you have changed since the last pull are kept."""
    with connected(context) as site:
        found: JSON = site.worklog(match)
    into = folder or Path(f"worklog-{match}")
    texts, revisions = mapping(found.get("texts")), mapping(found.get("revisions"))
    state, known = {}, _state(into, match)
    for name in SECTIONS:
        text, path = str(texts.get(name, "")), into / f"{name}.md"
        here = _read(path) if path.exists() else None
        if not force and here is not None and _digest(here) not in (_digest(text), known.get(name, {}).get("digest")):
            raise Misuse(
                f"{path}: changed here; push it with `photofinish match worklog push {match} {name}`, or --force"
            )
        state[name] = {"revision": int(number(revisions.get(name)) or 0), "digest": _digest(text)}
    _write({into / f"{name}.md": f"{texts.get(name, '')}\n" for name in SECTIONS})
    _keep(into, match, state)
    paths = [str(into / f"{name}.md") for name in SECTIONS]
    Screen().answer(paths, "\n".join(paths), as_json)


@app.command()
def push(
    context: typer.Context,
    match: MatchId,
    section: Annotated[str, typer.Argument(metavar="SECTION", help=f"One of {', '.join(SECTIONS)}.")],
    folder: Folder = None,
    revision: Annotated[
        int | None, typer.Option(min=0, help="Of the site's text that you have read (default: of your last pull).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Save a section from its file. If somebody saved meanwhile, nothing is saved: exit code 4."""
    if section not in SECTIONS:
        raise Misuse(f"section: {section!r} is not one of {', '.join(SECTIONS)}")
    at = folder or Path(f"worklog-{match}")
    text, state = _read(at / f"{section}.md"), _state(at, match)
    if revision is None and section not in state:
        raise Misuse(f"revision: {at} was not pulled; run `photofinish match worklog pull {match}` first")
    seen = int(state[section]["revision"]) if revision is None else revision
    with connected(context) as site:
        saved: JSON = site.save_section(match, section, text, revision=seen)
    state[section] = {"revision": int(number(saved.get("revision")) or 0), "digest": _digest(text)}
    _keep(at, match, state)
    Screen().answer(saved, f"{section}: saved as revision {line(saved.get('revision'), 20)}", as_json)


@app.command("hand-in")
def hand_in(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Hand the worklog in as it is saved on the site. The last hand-in counts."""
    with connected(context) as site:
        made: JSON = site.hand_in(match)
    missing = ", ".join(line(name, 64) for name in sequence(made.get("missing")))
    rest = f"; still empty: {missing}" if missing else ""
    sentence = f"handed in as {line(made.get('id'), 20)} at {moment(made.get('at'))}{rest}"
    Screen().answer(made, sentence, as_json)


@app.command()
def publish(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Let a public match show the texts of your last hand-in."""
    _act(context, match, "publish-texts", as_json)


@app.command()
def hide(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Make the texts of the worklog private again."""
    _act(context, match, "hide-texts", as_json)


@app.command()
def export(
    context: typer.Context,
    match: MatchId,
    hand_in: HandIn = None,
    as_json: Annotated[bool, typer.Option("--json/--markdown", help="Format of the file.")] = False,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Default: stdout.")] = None,
) -> None:
    """Export the whole worklog with its facts, as Markdown or as one JSON file."""
    with connected(context) as site:
        if as_json:
            text = json.dumps(site.worklog(match, hand_in), indent=1) + "\n"
        else:
            text = site.worklog_text(match, hand_in).decode("utf-8", "replace")
    if to is not None:
        _write({to: text})
        return
    out = Screen().out
    out.file.write(clean(text, len(text)) if out.is_terminal and not as_json else text)


def _act(context: typer.Context, match: str, act: str, as_json: bool) -> None:
    with connected(context) as site:
        found: JSON = site.act_on_match(match, act)
    state = "public" if found.get("texts_public") else "private"
    Screen().answer(found, f"match {line(match, 32)}: the texts of its worklog are {state}", as_json)


def _digest(text: str) -> str:
    """Return the digest of a text as the site keeps it: without blank space at its end."""
    return hashlib.sha256(text.replace("\r\n", "\n").rstrip().encode()).hexdigest()


def _read(path: Path) -> str:
    try:
        data = path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
        if data is None:
            raise Misuse(f"{path}: over {MOST_BYTES:,} bytes; a section has at most 20,000 characters")
        return data.decode()
    except OSError as error:
        raise Misuse(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Misuse(f"{path}: not UTF-8; save it as UTF-8") from None


def _write(files: Mapping[Path, str]) -> None:
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Misuse(f"{error.filename}: {error.strerror}") from None


def _state(folder: Path, match: str) -> dict[str, JSON]:
    """Return what the last pull or push noted by section. Raises Misuse for the folder of another match."""
    path = folder / STATE
    if not path.exists():
        return {}
    try:
        kept = json.loads(_read(path))
        if str(kept["match"]) != match:
            raise Misuse(f"{folder}: has the worklog of match {line(kept['match'], 20)}; choose another --folder")
        return {
            name: {"revision": int(one["revision"]), "digest": str(one["digest"])}
            for name, one in kept["sections"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misuse(f"{path}: damaged; remove it, and pull again") from None


def _keep(folder: Path, match: str, sections: Mapping[str, JSON]) -> None:
    _write({folder / STATE: json.dumps({"match": match, "sections": sections}, indent=1) + "\n"})
