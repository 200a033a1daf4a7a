"""Commands of `photofinish admin` for competitions, their boards and problems; and any call of the HTTP interface."""

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from ..client import Client, Misuse, SiteProblem
from ..client.shapes import SetUploadDetail
from ..client.values import JSON, mapping, mappings
from .api import NOT_PASSED
from .config import connected
from .render import AsJson, Columns, Screen, can_ask, line, moment, names_of, when

MAX_ARCHIVE_BYTES: Final = 5_000_000  # of a zip file, as the site takes it
MAX_FILES: Final = 5_000
MAX_FILE_BYTES: Final = 1_000_000
FETCH_S: Final = 300.0  # the site gives git less
POLL_S: Final = 1.0

Words = Annotated[
    list[str], typer.Argument(metavar="FIELD=VALUE…", help="Text, JSON such as null or 3, or @FILE for its text.")
]
Reason = Annotated[str, typer.Option(help="Kept with the change.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

BOARDS: Final[Columns] = {
    "board": "slug",
    "hardware": "hardware",
    "problem": "problem",
    "deadline": when("deadline", "none"),
    "tags": names_of("tags"),
    "version": "digest",
}
PROBLEMS: Final[Columns] = {
    "competition": "competition",
    "problem": "problem",
    "status": "status",
    "hardware": names_of("hardware"),
    "why": "reason",
}


def fields_of(words: list[str]) -> dict[str, Any]:
    """Return the fields that the command names. Raises Misuse."""
    found = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not name or not separator:
            raise Misuse(f"{word!r}: write FIELD=VALUE, such as deadline=2027-03-01T12:00:00Z")
        found[name] = _content(Path(value[1:])) if value.startswith("@") else _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _content(path: Path) -> str:
    try:
        return read(path, MAX_FILE_BYTES).decode()
    except UnicodeDecodeError:
        raise Misuse(f"{path}: is not UTF-8 text") from None


def read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise Misuse(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > most:
        raise Misuse(f"{path}: has more than {most:,} bytes")
    return data


def competitions(context: typer.Context, as_json: AsJson = False) -> None:
    """List the competitions in which you have a role."""
    with connected(context) as site:
        found = site.organised()
    Screen().table(found, {"competition": "slug", "name": "name", "visibility": "visibility"}, as_json=as_json)


def create(
    context: typer.Context,
    slug: Annotated[str, typer.Argument(help="Address: small letters, digits and dashes.")],
    name: str,
    settings: Words = [],  # noqa: B006 - typer reads it
    as_json: AsJson = False,
) -> None:
    """Create a competition, which only its organisers see at first. Administrators only."""
    with connected(context) as site:
        made = site.create_competition(slug, name, **fields_of(settings))
        address = site.address(f"/organise/{slug}")
    Screen().answer(made, f"{line(made['name'])} is created: {address}", as_json)


def edit(
    context: typer.Context, competition: str, settings: Words, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Change settings of a competition, by their names in the HTTP interface. Owners only."""
    with connected(context) as site:
        done = site.edit_competition(competition, reason, **fields_of(settings))
    Screen().answer(done, f"{line(done['name'])} is saved.", as_json)


def publish(
    context: typer.Context,
    competition: str,
    unlisted: Annotated[bool, typer.Option("--unlisted", help="In no list, for people with the link.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let everybody see a competition. Owners only."""
    with connected(context) as site:
        done = site.edit_competition(competition, visibility="unlisted" if unlisted else "public")
        is_empty = not site.organised_boards(competition, most=1)
    text = f"{line(done['name'])} is {line(done['visibility'], 32)}."
    if is_empty:
        text += " It has no boards yet: `photofinish admin add-board` adds one."
    Screen().answer(done, text, as_json)


def clone(
    context: typer.Context,
    competition: str,
    slug: str,
    name: str,
    shift_days: Annotated[int | None, typer.Option(min=0, help="Move all times. Default: no times.")] = None,
    as_json: AsJson = False,
) -> None:
    """Clone a competition with its boards, tracks and rules. Owners only."""
    with connected(context) as site:
        made = site.clone_competition(competition, slug, name, shift_days)
    Screen().answer(made, f"{line(made['name'])} is created, closed at first.", as_json)


def delete(
    context: typer.Context,
    competition: str,
    reason: Annotated[str, typer.Option(help="Kept with the change.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a competition that nobody has entered. Owners only."""
    if not yes:
        if not can_ask():
            raise Misuse("delete: this cannot be undone; add --yes")
        typer.confirm(f"Delete {competition} with its boards, tracks and codes?", abort=True, err=True)
    with connected(context) as site:
        site.delete_competition(competition, reason)
    Screen().answer({"deleted": competition}, f"{competition} is deleted.", as_json)


def state(context: typer.Context, competition: str, as_json: AsJson = False) -> None:
    """Show the waiting work of a competition, its queues and its runners."""
    with connected(context) as site:
        found = site.competition_state(competition)
    screen = Screen()
    if as_json:
        screen.json(found)
        return
    for work in mappings(found.get("waiting")):
        screen.say(f"{work.get('count')} {work.get('what')}")
    numbers = ("queued", "running", "runners")
    queues: Columns = {name: name for name in ("hardware", *numbers, "oldest")}
    screen.table(mappings(found.get("queues")), queues, numbers)
    runners: Columns = {"runner": "name", "hardware": "hardware", "state": "state", "work": "doing", "why": "why"}
    screen.table(mappings(found.get("runners")), runners, least=("why", "work"))


def standing(
    context: typer.Context,
    competition: str,
    act: Annotated[str, typer.Argument(metavar="freeze|unfreeze|reveal|finalise|reopen")],
    reason: Annotated[str, typer.Option(help="Kept with the change.")],
    anyway: Annotated[bool, typer.Option("--anyway", help="Finalise although work is open.")] = False,
    as_json: AsJson = False,
) -> None:
    """Freeze, reveal or finalise the standing of a competition. Owners only."""
    with connected(context) as site:
        done = site.standing_act(competition, act, reason, **({"anyway": True} if anyway else {}))
    frozen = ", frozen" if done["frozen"] else ""
    text = f"{competition}: {line(done['phase'], 32)}{frozen}; {done['held']} held, {done['unjudged']} not judged"
    Screen().answer(done, text, as_json)


def boards(context: typer.Context, competition: str, as_json: AsJson = False) -> None:
    """List the boards of a competition with their problem versions."""
    with connected(context) as site:
        found = site.organised_boards(competition)
    Screen().table(found, BOARDS, least=("tags", "version", "deadline"), as_json=as_json)


def add_board(
    context: typer.Context,
    competition: str,
    digest: Annotated[str, typer.Argument(help="Version of the problem, from `admin boards`, or its beginning.")],
    hardware: str,
    settings: Words = [],  # noqa: B006 - typer reads it
    as_json: AsJson = False,
) -> None:
    """Add a board, which takes submissions after its admission test. Fields: slug, deadline, tags. Owners only."""
    with connected(context) as site:
        made = site.add_board(competition, digest, hardware, **fields_of(settings))
    _tell(made, "is added; it takes submissions after its admission test", as_json)


def edit_board(
    context: typer.Context,
    competition: str,
    board: str,
    hardware: str,
    settings: Words,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Change a board. Fields: digest, deadline, tags. Owners only."""
    with connected(context) as site:
        done = site.edit_board(competition, board, hardware, reason, **fields_of(settings))
    _tell(done, "is saved", as_json)


def close_board(
    context: typer.Context,
    competition: str,
    board: str,
    hardware: str,
    reason: Annotated[str, typer.Option(help="Kept with the change.")],
    as_json: AsJson = False,
) -> None:
    """Close a board for contest submissions from now on; earlier ones stay. Owners only."""
    with connected(context) as site:
        done = site.close_board(competition, board, hardware, reason)
    _tell(done, f"closed at {moment(done['deadline'])}", as_json)


def _tell(board: JSON, done: str, as_json: bool) -> None:
    Screen().answer(board, f"{line(board['slug'], 64)} on {line(board['hardware'], 64)} {done}.", as_json)


def import_sets(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|ARCHIVE|GIT-ADDRESS",
            help="Folder with <set>.yaml or the KernelBench levels, a zip file of it, or https://… of a repository.",
        ),
    ],
    ref: Annotated[str, typer.Option(help="Branch, tag or commit of the repository.")] = "",
    folder: Annotated[str, typer.Option(help="Folder of the sets in the repository.")] = "",
    hardware: Annotated[list[str] | None, typer.Option(help="Instead of the sets' own. Repeat it.")] = None,
    without_deadlines: Annotated[bool, typer.Option("--without-deadlines", help="Leave deadlines out.")] = False,
    precision: Annotated[str, typer.Option(help="Of KernelBench files: fp32, or fp16 or bf16 for variants.")] = "fp32",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Import without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Preview the import of problem sets, then import them. Administrators only.

    A no to the question discards the preview. Without --yes and without a terminal, the preview stays on the site for a
    day. Exit code 1 if the site cannot fetch the set, or refuses a problem.
    """
    screen = Screen()
    choices: dict[str, Any] = {
        "hardware": hardware or (),
        "without_deadlines": without_deadlines,
        "precision": precision,
    }
    with connected(context) as site:
        if "://" in source:
            screen.note("The site fetches the set …")
            upload = _fetched(site, site.fetch_set(source, ref, folder, **choices))
        elif ref or folder:
            raise Misuse("--ref and --folder belong to the address of a repository, https://…")
        else:
            upload = site.upload_set(*packed(Path(source)), **choices)
        address = site.address(f"/sets/{upload['id']}")
        done = f"is not imported; --yes imports it: {address}"
        if fault := upload.get("fault"):
            done = f"cannot be fetched: {line(fault)}"
        elif not as_json:
            _show(screen, upload)
        if not fault and (yes or can_ask()):
            if yes or typer.confirm("Import this?", err=True):
                upload, done = site.apply_set(upload["id"]), f"is imported: {address}"
            else:
                site.discard_set(upload["id"])
                done = "is discarded"
    screen.answer(upload, f"{line(upload['filename'], 200)} {done}", as_json)
    raise typer.Exit(NOT_PASSED if fault or mapping(upload["counts"]).get("refused") else 0)


def _fetched(site: Client, upload: SetUploadDetail) -> SetUploadDetail:
    """Return the upload once the site has fetched it. Raises SiteProblem after FETCH_S."""
    until = time.monotonic() + FETCH_S
    while upload.get("waiting"):
        if time.monotonic() > until:
            address = site.address(f"/sets/{upload['id']}")
            raise SiteProblem(f"the site still fetches the set; the preview will be at {address}")
        time.sleep(POLL_S)
        upload = site.set_upload(upload["id"])
    return upload


def _show(screen: Screen, upload: JSON) -> None:
    rows: list[JSON] = []
    for one in mappings(upload.get("sets")):
        named = {"competition": one.get("competition") or one.get("name") or one.get("file")}
        found = mappings(one.get("problems"))
        if one.get("reason") or not found:
            rows.append(named | {"status": one.get("status"), "reason": one.get("reason")})
        rows += [named | problem for problem in found]
    screen.table(rows, PROBLEMS, least=("hardware",))


def packed(path: Path) -> tuple[str, bytes]:
    """Return name and content of the zip file, or of a folder packed as one. Raises Misuse."""
    if not path.is_dir():
        return path.name, read(path, MAX_ARCHIVE_BYTES)
    buffer, count = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path)
            if file.is_symlink() or not file.is_file() or any(part.startswith(".") for part in name.parts):
                continue
            count += 1
            if count > MAX_FILES or buffer.tell() > MAX_ARCHIVE_BYTES:
                raise Misuse(
                    f"{path}: more than {MAX_FILES:,} files or {MAX_ARCHIVE_BYTES:,} bytes; give the set alone"
                )
            try:
                archive.writestr(name.as_posix(), read(file, MAX_ARCHIVE_BYTES))
            except UnicodeEncodeError:
                raise Misuse(f"{str(name)!r}: its name is not text in UTF-8; rename it") from None
    return f"{path.resolve().name}.zip", buffer.getvalue()


def call(
    context: typer.Context,
    path: Annotated[str, typer.Argument(help="Below /api/v1, such as organise/spring/tracks.")],
    fields: Words = [],  # noqa: B006 - typer reads it
    post: Annotated[bool | None, typer.Option("--post/--get", help="Default: --post with fields, else --get.")] = None,
) -> None:
    """Make any call of the HTTP interface and print its answer as JSON."""
    with connected(context) as site:
        Screen().json(site.call(path, fields_of(fields), post=post))
