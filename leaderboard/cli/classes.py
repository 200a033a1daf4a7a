"""`photofinish class`: rosters, assignments, extensions, the grid and the start-up check; a student's own work."""

import datetime as dt
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..client import Client, Misuse
from ..client.values import JSON, mappings, number
from ..wording.figures import NONE, times
from ..wording.spreadsheet import csv_lines
from .api import NOT_PASSED, one_hardware
from .config import connected
from .matches import MACHINES
from .organising import read
from .render import AsJson, Columns, Screen, line, when

app = typer.Typer(no_args_is_help=True, help="Classes: roster, assignments, grid and start-up check; your own work.")

Slug = Annotated[str, typer.Argument(metavar="CLASS", help="Name of the class, as in its address.")]
AssignmentId = Annotated[str, typer.Argument(metavar="ASSIGNMENT", help="Number; `photofinish class show` has it.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Hardware = Annotated[str, typer.Option(help="Of the boards; required for a board with several.")]
MOST_BYTES: Final = 500_000  # of a file

CLASSES: Final[Columns] = {"class": "slug", "name": "name", "you are": "role"}
ASSIGNMENTS: Final[Columns] = {
    "assignment": "id",
    "title": "title",
    "level": "tier",
    "due": when("due_at"),
    "boards": lambda one: ", ".join(f"{board.get('board')} on {board.get('hardware')}" for board in _boards(one)),
    "group": "group_size",
}
ROSTER: Final[Columns] = {
    "login": "login",
    "name": "name",
    "section": "section",
    "seat": lambda one: NONE if one.get("seat") is None else one["seat"],
    "joined": when("joined_at", "expected"),
}
EXTENSIONS: Final[Columns] = {"extension": "id", "student": "student", "until": when("until"), "reason": "reason"}
GRID: Final[Columns] = {
    "student": lambda one: one.get("student") or one.get("username", ""),
    "section": "section",
    "assignment": "assignment",
    "stage": "stage",
    "due": when("due_at"),
    "late": lambda one: _late(one),
    "by hand": lambda one: times(number(one.get("best_speedup"))),
    "model": lambda one: times(number(one.get("model_speedup"))),
    "last activity": when("last_activity_at", "never"),
    "stuck": "stuck",
    "match": lambda one: NONE if one.get("match") is None else one["match"],
}
CHECKS: Final[Columns] = {
    "board": "board",
    "hardware": "hardware",
    "planted": lambda one: ", ".join(_planted(check) for check in mappings(one.get("planted"))) or NONE,
    "": lambda one: "ready" if one.get("ready") else one.get("missing", ""),
}


@app.command("list")
def list_classes(context: typer.Context, as_json: AsJson = False) -> None:
    """List the classes that you teach, grade or attend."""
    with connected(context) as site:
        found = site.classes()
    Screen().table(found, CLASSES, as_json=as_json)


@app.command()
def join(
    context: typer.Context,
    code: Annotated[str, typer.Argument(help="An invite code; - reads stdin.")] = "",
    by_roster: Annotated[str, typer.Option("--roster", metavar="CLASS", help="A class that expects you.")] = "",
    as_json: AsJson = False,
) -> None:
    """Join a class by an invite code, or because its roster has you."""
    if bool(code) == bool(by_roster):
        raise Misuse("code: give an invite code, or --roster CLASS")
    if code == "-":
        code = sys.stdin.readline(1_000).strip() if sys.stdin is not None else ""
    with connected(context) as site:
        joined: JSON = site.join_class_by_roster(by_roster) if by_roster else site.join_class(code)
    Screen().answer(
        joined, f"joined {line(joined.get('name'))}: photofinish class show {line(joined.get('slug'), 64)}", as_json
    )


@app.command()
def show(context: typer.Context, slug: Slug, as_json: AsJson = False) -> None:
    """Show a class with its assignments; a student also sees the own work."""
    with connected(context) as site:
        found: dict[str, Any] = dict(site.class_detail(slug))
        is_student = found.get("role") == "student"
        rows: Sequence[JSON] = site.own_work(slug) if is_student else site.class_sections(slug)
    screen = Screen()
    if as_json:
        screen.json(found | {"work" if is_student else "sections": rows})
        return
    screen.say(f"{line(found.get('name'))}; you are {line(found.get('role'), 16)}")
    screen.table(mappings(found.get("assignments")), ASSIGNMENTS, ("assignment", "level"), ("group", "level"))
    screen.say("")
    if is_student:
        screen.table(
            rows, {name: GRID[name] for name in ("assignment", "stage", "due", "late", "by hand", "model", "match")}
        )
    else:
        columns: Columns = {"section": "name", "students": "students", "expected": "expected"}
        screen.table(rows, columns, ("students", "expected"))


@app.command()
def settings(
    context: typer.Context,
    slug: Slug,
    stuck_days: Annotated[int, typer.Option(min=1, max=60, help="Days without progress until a student is stuck.")],
    as_json: AsJson = False,
) -> None:
    """Change the settings of a class. Teachers only."""
    with connected(context) as site:
        done: JSON = site.edit_class(slug, stuck_days=stuck_days)
    Screen().answer(done, f"{slug}: a student is stuck after {stuck_days} days without progress", as_json)


@app.command()
def roster(
    context: typer.Context,
    slug: Slug,
    file: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="CSV: username or e-mail, name, section.")
    ] = None,
    remove: Annotated[str, typer.Option(metavar="LOGIN", help="Take a person off who has not joined.")] = "",
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Show the roster, or import CSV, or remove a line. An import takes all lines, or none."""
    screen = Screen()
    with connected(context) as site:
        if file is not None:
            made: JSON = site.import_roster(slug, text_of(file))
            counts = ", ".join(f"{line(made.get(name), 20)} {name}" for name in ("added", "changed", "unchanged"))
            screen.answer(made, counts, as_json)
            return
        if remove:
            site.remove_roster_line(slug, remove)
            screen.answer({"removed": remove}, f"{line(remove, 254)}: off the roster", as_json)
            return
        found = site.class_roster(slug)
    print_rows(screen, found, ROSTER, as_csv, as_json)


@app.command()
def assign(
    context: typer.Context,
    slug: Slug,
    title: Annotated[str, typer.Option(help="Required for a new assignment.")] = "",
    level: Annotated[int | None, typer.Option(min=1, max=3, help="1 one operator, 2 a fusion, 3 a block.")] = None,
    due: Annotated[str, typer.Option(help="Such as 2027-03-01T12:00; UTC unless it names a zone.")] = "",
    board: Annotated[list[str] | None, typer.Option(help="Repeat it: a student chooses one.")] = None,
    hardware: Hardware = "",
    group: Annotated[int | None, typer.Option(min=1, max=6, help="Members of a group, at level 3.")] = None,
    graders: Annotated[int | None, typer.Option(min=1, max=2, help="Graders of each work.")] = None,
    moderate_from: Annotated[int | None, typer.Option(min=1, max=100, help="Points between two graders.")] = None,
    rubric: Annotated[int | None, typer.Option(min=1, help="Number of a rubric; without it, the site's.")] = None,
    change: Annotated[str, typer.Option(metavar="ASSIGNMENT", help="Change this assignment; the rest stays.")] = "",
    as_json: AsJson = False,
) -> None:
    """Add an assignment, or change one. Teachers only."""
    given: dict[str, Any] = {"title": title, "tier": level, "due_at": _moment("due", due) if due else ""}
    given |= {"group_size": group, "graders_each": graders, "moderate_from": moderate_from, "rubric": rubric}
    sent = {name: value for name, value in given.items() if value}
    if not change and (missing := [name for name in ("title", "tier", "due_at") if name not in sent]):
        options = {"title": "--title", "tier": "--level", "due_at": "--due"}
        raise Misuse(f"{', '.join(options[name] for name in missing)}: required for a new assignment")
    if not change and not board:
        raise Misuse("--board: name at least one board of the class")
    with connected(context) as site:
        if board:
            sent["boards"] = [{"board": name, "hardware": one_hardware(site, name, hardware)} for name in board]
        made: JSON = site.edit_assignment(slug, change, **sent) if change else site.add_assignment(slug, **sent)
    Screen().answer(made, f"assignment {line(made.get('id'), 20)}: {line(made.get('title'))}", as_json)


@app.command()
def extend(
    context: typer.Context,
    slug: Slug,
    assignment: AssignmentId,
    student: Annotated[str, typer.Argument(help="Username; without it, the extensions are listed.")] = "",
    until: Annotated[str, typer.Option(help="Such as 2027-03-08T12:00; UTC unless it names a zone.")] = "",
    reason: Annotated[str, typer.Option(help="The student reads it, too.")] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw the student's extension.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give a student a later due time, withdraw it, or list the extensions. Teachers only."""
    screen = Screen()
    if student and not withdraw and not (until and reason):
        raise Misuse("until, reason: an extension needs both --until and --reason")
    with connected(context) as site:
        if not student:
            screen.table(site.extensions(slug, assignment), EXTENSIONS, as_json=as_json)
        elif withdraw:
            known = next((one for one in site.extensions(slug, assignment) if one["student"] == student), None)
            if known is None:
                raise Misuse(f"student: {student!r} has no extension of this assignment")
            site.withdraw_extension(slug, known["id"])
            screen.answer(known, f"{line(student, 150)}: the extension is withdrawn", as_json)
        else:
            wanted = {"student": student, "until": _moment("until", until), "reason": reason}
            made: JSON = site.extend(slug, assignment, **wanted)
            screen.answer(made, f"{line(student, 150)}: until {when('until')(made)}", as_json)


@app.command()
def grid(
    context: typer.Context,
    slug: Slug,
    section: Annotated[str, typer.Option(help="Only students of this section.")] = "",
    stuck: Annotated[bool, typer.Option("--stuck", help="Only work that is stuck.")] = False,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Show the work of every student for every assignment."""
    with connected(context) as site:
        found = [one for one in site.class_grid(slug, section) if not stuck or one["stuck"]]
    print_rows(
        Screen(), found, GRID, as_csv, as_json, ("by hand", "model"), ("model", "section", "last activity", "due")
    )


@app.command()
def check(
    context: typer.Context,
    slug: Slug,
    must_fail: Annotated[str, typer.Option(metavar="ID", help="Plant a submission that must fail.")] = "",
    must_pass: Annotated[str, typer.Option(metavar="ID", help="Plant a submission that must pass.")] = "",
    remove: Annotated[str, typer.Option(metavar="ID", help="Remove a planted submission.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the start-up check; plant or remove submissions first. Exit code 0: every board is ready, else 1."""
    with connected(context) as site:
        for submission, wrong in ((must_fail, True), (must_pass, False)):
            if submission:
                site.plant(slug, submission, must_fail=wrong)
        if remove:
            site.unplant(slug, _planted_as(site, slug, remove))
        found = site.class_check(slug)
    screen = Screen()
    screen.table(found, CHECKS, as_json=as_json)
    if not found:
        screen.note("no assignment has a board yet")
    raise typer.Exit(0 if found and all(one["ready"] for one in found) else NOT_PASSED)


@app.command()
def work(
    context: typer.Context,
    slug: Slug,
    assignment: AssignmentId,
    model: Annotated[str, typer.Option(help="Name of the model that you play against.")],
    board: Annotated[str, typer.Option(help="One of the assignment's boards (default: its only one).")] = "",
    hardware: Hardware = "",
    machine: Annotated[str, typer.Option(help=f"How the machine plays: {', '.join(MACHINES)}.")] = "prompts",
    as_json: AsJson = False,
) -> None:
    """Start the work of an assignment: your match on one of its boards."""
    if machine not in MACHINES:
        raise Misuse(f"machine: {machine!r} is not one of {', '.join(MACHINES)}")
    with connected(context) as site:
        chosen = _board(site.class_detail(slug), assignment, board, hardware)
        made: JSON = site.start_work(slug, assignment, **chosen, model=model, machine=machine)
        address = site.address(made.get("url"))
    screen, match = Screen(), line(made.get("id", ""), 32)
    screen.answer(made, match, as_json)
    screen.note(f"predict first: photofinish match predict {match}, or {line(address)}")


def _board(found: JSON, assignment: str, board: str, hardware: str) -> dict[str, str]:
    """Return the chosen board of an assignment. Raises Misuse unless it is exactly one."""
    own = next((one for one in mappings(found.get("assignments")) if str(one.get("id")) == assignment), None)
    if own is None:
        raise Misuse(f"ASSIGNMENT: {assignment!r} is none of this class; see `photofinish class show`")
    names = [(str(one.get("board")), str(one.get("hardware"))) for one in _boards(own)]
    left = [one for one in names if board in ("", one[0]) and hardware in ("", one[1])]
    if len(left) != 1:
        listed = ", ".join(f"{name} on {where}" for name, where in names)
        raise Misuse(f"board: choose one of {listed} with --board and --hardware")
    return dict(zip(("board", "hardware"), left[0], strict=True))


def _planted_as(site: Client, slug: str, submission: str) -> int:
    for one in site.class_check(slug):
        for planted in one["planted"]:
            if str(planted["submission"]) == submission:
                return planted["id"]
    raise Misuse(f"submission: {submission!r} is not planted in this class")


def _boards(assignment: JSON) -> list[dict[str, Any]]:
    return mappings(assignment.get("boards"))


def _planted(check: JSON) -> str:
    wanted = "fail" if check.get("must_fail") else "pass"
    state = "waiting" if check.get("right") is None else "yes" if check.get("right") else "NO"
    return f"{line(check.get('submission'), 20)} must {wanted}: {state}"


def _late(row: JSON) -> str:
    late = number(row.get("late_s"))
    return "" if late is None else str(dt.timedelta(seconds=min(int(late), 10**9)))


def _moment(field: str, text: str) -> str:
    """Return a time as the site reads it; a time without a zone is UTC. Raises Misuse."""
    try:
        parsed = dt.datetime.fromisoformat(text)
    except ValueError:
        raise Misuse(f"{field}: {text!r} is no time; write it as 2027-03-01T12:00") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.UTC)).isoformat()


def text_of(file: Path) -> str:
    try:
        return read(file, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Misuse(f"{file}: is not UTF-8 text; save it as “CSV UTF-8”") from None


def print_rows(
    screen: Screen,
    rows: Sequence[JSON],
    columns: Columns,
    as_csv: bool,
    as_json: bool,
    numbers: Sequence[str] = (),
    least: Sequence[str] = (),
) -> None:
    """Print rows as a table, as JSON, or as CSV with the fields of the HTTP interface."""
    if not as_csv:
        screen.table(rows, columns, numbers, least, as_json)
        return
    screen.out.file.write(csv_lines([list(rows[0]) if rows else [], *(list(row.values()) for row in rows)]))
