"""Your kernels and their verdicts: `photofinish submit`, `watch`, `list`, `show`, `diff`, `report`, `reward`, `cancel`,
`rm`."""

import datetime as dt
import difflib
import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from ..client import Client, ClientError, Misuse, Refused, calls
from ..client.clients import FINAL
from ..client.values import JSON, mapping, mappings, number, sequence
from ..source import MAX_SOURCE_BYTES, SourceError, read_file, read_source
from ..wording.figures import NONE, duration_us, significant, speedup
from . import api, render
from .api import known, own_submissions, quietly, verdict_code
from .config import connected
from .render import AsJson, Columns, Screen, clean, line, when

MODES: Final = ("test", "benchmark", "ranked", "profile")
PROFILE_FILES: Final = ("operators.txt", "trace.json.gz", "counters.txt", "counters.csv", "counters.ncu-rep.gz")
MAX_HARDWARE: Final = 16  # of a submit command
MAX_DIFF_LINES: Final = 5_000  # of a side; comparing takes the square of it at worst
SHOWN_CHOICES: Final = 20
MAX_QUESTIONS: Final = 10
# The fields of a lineage, and how their text on the command line is read.
LINEAGE: Final[Mapping[str, Callable[[str], object]]] = {
    "parents": lambda text: [int(calls.submission_id(one.strip())) for one in text.split(",")],
    "sampling": json.loads,
    "cost_usd": float,
    **dict.fromkeys(("idea", "model", "prompt_sha256", "strategy", "run"), str),
}

REWARDS: Final[Columns] = {
    "id": "id",
    "reward": lambda one: figure(number(one.get("reward"))),
    "from": lambda one: figure(number(one.get("low"))),
    "to": lambda one: figure(number(one.get("high"))),
    "why": "message",
}

Submission = Annotated[str, typer.Argument(metavar="ID")]
Lineage = Annotated[
    list[str] | None,
    typer.Option(
        "--lineage",
        metavar="FIELD=VALUE",
        help=f"How a program came to it: {', '.join(LINEAGE)}. Repeat it.",
    ),
]
OrNewest = Annotated[str | None, typer.Argument(metavar="[ID]", help="Default: your newest submission.")]


def submit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A Python file that defines custom_kernel(data); - reads stdin.")],
    board: Annotated[str, typer.Option(help="Name of the board; see `photofinish boards`.")] = "",
    hardware: Annotated[
        list[str] | None, typer.Option(help="Required for a board with several. Repeat it, or separate by commas.")
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            metavar="|".join(MODES),
            help="test: checked; benchmark: also timed; ranked: for the board; profile: what bounds it.",
        ),
    ] = "test",
    licence: Annotated[str, typer.Option(help="Licence of the published code (default: the competition's).")] = "",
    filename: Annotated[str, typer.Option(help="Name of the file on the site (default: its own).")] = "",
    remix_of: Annotated[int, typer.Option(min=0, help="Number of the submission whose code this began with.")] = 0,
    lineage: Lineage = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Wait for the verdict.")] = True,
    no_wait: Annotated[bool, typer.Option("--no-wait", hidden=True)] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Refuse Python with a syntax error.")] = True,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write the verdict as JSON there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Submit a kernel and wait for its verdict. Exit code 0 only for a pass, 5 for a pass that is held.

    Lines such as `#!PHOTOFINISH leaderboard softmax` at the top of the file name board and hardware. Options override
    them. On a terminal, a missing board or hardware is asked for.
    """
    screen = Screen()
    if mode not in MODES:
        raise Misuse(f"mode: {mode!r} is not one of {', '.join(MODES)}")
    wanted = [name for part in hardware or () for name in part.split(",") if name] or [""]
    if len(wanted) > MAX_HARDWARE:
        raise Misuse(f"hardware: name at most {MAX_HARDWARE}")
    code, name = read(file, filename)
    if check:
        check_syntax(code, name)
    told = {"filename": name, "licence": licence, "remix_of": remix_of, "lineage": lineage_of(lineage)}
    found: list[Mapping[str, Any]] = []
    with connected(context) as site:
        sent = []
        for where in dict.fromkeys(wanted):
            taken = _send(screen, site, board, where, mode, {"code": code, **told})
            board = str(taken.get("board") or board)
            sent.append(taken)
            _tell_sent(screen, site, taken, where, mode, as_json)
        for taken in sent:
            number_ = line(taken["id"], 64)
            if no_wait or not watch:
                if not as_json:
                    screen.say(number_)  # alone on stdout, for scripts
                    where_to = line(site.address(taken.get("url")))
                    screen.note(f"watch it: photofinish watch {number_}, or {where_to}")
                continue
            verdict = _watch(screen, site, str(taken["id"]), quiet=as_json)
            found.append(verdict)
            if not as_json:
                render.verdict(screen, verdict, site.address(verdict.get("url")))
    answers: Sequence[Mapping[str, Any]] = found or sent
    answer: object = answers[0] if len(answers) == 1 else answers
    if as_json:
        screen.json(answer)
    if output is not None:
        _write(output, json.dumps(answer, indent=2) + "\n")
    raise typer.Exit(api.worst([verdict_code(verdict) for verdict in found]) if found else 0)


def _newest(site: Client) -> str:
    newest = own_submissions(site, "", 1)
    if not newest:
        raise Misuse("ID: you have no submission yet; `photofinish submit` sends one")
    return str(newest[0].get("id", ""))


def watch(
    context: typer.Context,
    submission: OrNewest = None,
    as_json: AsJson = False,
) -> None:
    """Watch a submission until its verdict. Exit code 0 only for a pass, 5 for a pass that is held."""
    screen = Screen()
    with connected(context) as site:
        submission = _newest(site) if submission is None else submission
        with known(submission):
            found = site.submission(submission)
        if found.get("status") not in FINAL:
            found = _watch(screen, site, submission, quiet=as_json)
        _finish(screen, site, found, as_json)


def show(
    context: typer.Context,
    submission: OrNewest = None,
    cases: Annotated[bool, typer.Option("--cases/--no-cases", help="Print every case.")] = True,
    files: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the files of its profile there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a submission's verdict with cases and profile, and wait for it if necessary. Exit codes as for `submit`."""
    screen = Screen()
    with connected(context) as site:
        submission = _newest(site) if submission is None else submission
        with known(submission):
            found = site.submission(submission)
        if found.get("status") not in FINAL:
            found = _watch(screen, site, submission, quiet=as_json)
        if files is not None:
            _save_files(screen, site, found, files)
        _finish(screen, site, found, as_json, cases=cases)


def reward(
    context: typer.Context,
    submissions: Annotated[list[str], typer.Argument(metavar="ID…")],
    correct: Annotated[float | None, typer.Option(help="Weight of correctness; the site's default is 0.3.")] = None,
    cap: Annotated[float | None, typer.Option(help="Largest speedup that counts; the site's default is 10.")] = None,
    only_correct: Annotated[bool, typer.Option("--only-correct", help="Leave out the speedup.")] = False,
    formula: Annotated[str, typer.Option(help="Name with version; the default is reward/1.")] = "",
    as_json: AsJson = False,
) -> None:
    """Print the rewards of submissions, for programs that learn: at most 256. A waiting submission has none yet."""
    with connected(context) as site:
        options = {"correct": correct, "cap": cap, "only_correct": only_correct or None}
        found = site.rewards(submissions, formula=formula, **options)
    if as_json:
        Screen().json(found)
        return
    Screen().table(found["rewards"], REWARDS, numbers=("id", "reward", "from", "to"))


def cancel(context: typer.Context, submission: Submission, as_json: AsJson = False) -> None:
    """Cancel a submission that waits or runs. A finished submission stays as it is."""
    with connected(context) as site, known(submission):
        found = site.cancel(submission)
    Screen().answer(found, f"submission {submission}: {render.headline(found)}", as_json)


def remove(
    context: typer.Context,
    submissions: Annotated[list[str], typer.Argument(metavar="ID…")],
    reason: Annotated[str, typer.Option(help="Reason; required from organisers.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take submissions back: cancel unfinished ones, withdraw ranked kernels from their boards for good.

    The site keeps every submission for its owner. A finished submission that does not rank stays as it is.
    """
    screen = Screen()
    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            raise Misuse("rm: a withdrawn kernel never ranks again; add --yes")
        typer.confirm("A withdrawn kernel never ranks again. Go on?", abort=True, err=True)
    done: list[JSON] = []
    with connected(context) as site:
        for submission in submissions:
            with known(submission):
                done.append(_remove(site, submission, reason))
            if not as_json:
                screen.say(f"submission {submission}: {done[-1]['done']}")
    if as_json:
        screen.json(done)


def list_submissions(
    context: typer.Context,
    board: Annotated[str, typer.Option(help="Only submissions to this board.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = 20,
    as_json: AsJson = False,
) -> None:
    """List your submissions, newest first."""
    screen = Screen()
    with connected(context) as site:
        found = own_submissions(site, board, limit)
    now = dt.datetime.now(dt.UTC)
    is_terminal = screen.out.is_terminal
    columns: Columns = {
        "id": "id",
        "when": (lambda item: render.age(item.get("created_at"), now)) if is_terminal else when("created_at", NONE),
        "file": "filename",
        "board": "board",
        "hardware": "hardware",
        "mode": "mode",
        "verdict": render.in_short,
        "speedup": lambda item: speedup(number(item.get("ratio"))),
        "time": lambda item: duration_us(number(item.get("score_us"))),
    }
    least = ("time", "mode", "speedup", "hardware", "board", "when")
    screen.table(found, columns, ("speedup", "time"), least, as_json)


def diff(
    context: typer.Context,
    first: Annotated[str | None, typer.Argument(metavar="[ID|FILE]", help="Default: your newest submission.")] = None,
    second: Annotated[str, typer.Argument(metavar="[ID|FILE]", help="Default: your submission before.")] = "",
    as_json: AsJson = False,
) -> None:
    """Compare the code of two submissions, or of a submission and a file. Exit code 1 if they differ."""
    screen = Screen()
    with connected(context) as site:
        first = _newest(site) if first is None else first
        other = second or _one_before(site, first)
        (name_a, code_a), (name_b, code_b) = (
            _code_of(site, one) for one in ((first, other) if second else (other, first))
        )
    lines_a, lines_b = clean(code_a, MAX_SOURCE_BYTES).split("\n"), clean(code_b, MAX_SOURCE_BYTES).split("\n")
    if max(len(lines_a), len(lines_b)) > MAX_DIFF_LINES:
        raise Misuse(f"diff: a file has more than {MAX_DIFF_LINES:,} lines; save both and use diff")
    lines = list(difflib.unified_diff(lines_a, lines_b, name_a, name_b, lineterm=""))
    if as_json:
        screen.json({"from": name_a, "to": name_b, "diff": lines})
    else:
        screen.diff(lines)
        if not lines:
            screen.note("no difference")
    raise typer.Exit(1 if lines else 0)


def report(
    context: typer.Context,
    submission: Submission,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print all of a submission's verdict as Markdown: cases, notes, logs and code, to keep or to hand on."""
    screen = Screen()
    with connected(context) as site:
        with known(submission):
            found = site.submission(submission)
        address = site.address(found.get("url"))
        seeds: Any = {}
        with suppress(ClientError):  # without a verdict, or from an older site, there are none
            seeds = site.once(calls.seeds(submission))
    text = json.dumps(found, indent=2) + "\n" if as_json else "\n".join(_report(found, address, seeds)) + "\n"
    if output is None:
        screen.out.file.write(text)
    else:
        _write(output, text)
        screen.note(f"written: {output}")


def figure(value: float | None) -> str:
    return NONE if value is None else significant(value)


def lineage_of(given: Sequence[str] | None) -> dict[str, object]:
    """Return the lineage that the options of a command name. Raises Misuse."""
    found = dict[str, object]()
    for name, sign, value in (text.partition("=") for text in given or ()):
        if not sign or name not in LINEAGE:
            raise Misuse(f"--lineage: {name[:64]!r} is no field with a value, such as model=NAME; see `--help`")
        try:
            found[name] = LINEAGE[name](value)
            json.dumps(found[name], allow_nan=False)
        except (ValueError, RecursionError):
            kind = "a JSON object of finite numbers" if name == "sampling" else "a number of US dollars"
            raise Misuse(f"--lineage {name}: {value[:64]!r} is not {kind}") from None
    return found


def read(file: str, filename: str) -> tuple[str, str]:
    """Return the code and its name on the site. Raises Misuse."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_SOURCE_BYTES + 1) if sys.stdin is not None else b""
            return read_source(data), filename
        return read_file(Path(file)), filename or Path(file).name
    except SourceError as error:
        raise Misuse(f"file: {'stdin' if file == '-' else file}: {error.message}") from None


def check_syntax(code: str, name: str) -> None:
    """Refuse Python that this Python cannot compile, before it costs a submission. Raises Misuse."""
    if name and not name.endswith(".py"):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a string is no error
            compile(code, name or "stdin", "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f"{name or 'stdin'}, line {error.lineno or 1}, column {error.offset or 1}"
        raise Misuse(f"{place}: {error.msg}; nothing was sent (--no-check sends it anyway)") from None
    except (MemoryError, RecursionError, ValueError, OverflowError):
        return  # too deep or too odd for the compiler: the judge decides


def _send(
    screen: Screen, site: Client, board: str, hardware: str, mode: str, more: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Send a submission. On a terminal, ask for a board or hardware that the site finds missing."""
    for _ in range(3):
        try:
            sent = site.submit(board=board, hardware=hardware, mode=mode, **more)
        except Refused as error:
            field = str(error.errors[0].get("field")) if error.errors else ""
            if (
                error.status != 400
                or not render.can_ask()
                or (board and field == "board")
                or field
                not in (
                    "board",
                    "hardware",
                )
            ):
                raise
            if field == "board":
                board = _choose_board(screen, site)
            elif hardware:
                raise
            else:
                hardware = _choose_hardware(screen, site, board, str(error))
        else:
            if not isinstance(sent.get("id"), str | int):
                raise render.odd_answer(site.url)
            return sent
    raise Misuse("board: choose one with --board and --hardware")


def _choose_board(screen: Screen, site: Client) -> str:
    found = site.boards(open=True)
    for _ in range(MAX_QUESTIONS):
        if len(found) == 1:
            return str(found[0]["slug"])
        screen.note("\n".join(f"  {line(one['slug'], 64)}  {line(one['title'], 80)}" for one in found[:SHOWN_CHOICES]))
        if len(found) > SHOWN_CHOICES:
            screen.note(f"  … and {len(found) - SHOWN_CHOICES} more")
        word = str(typer.prompt("Board, or a part of its name", err=True)).strip().lower()
        if any(one["slug"] == word for one in found):
            return word
        fits = [one for one in found if word in f"{one['slug']} {one['title']}".lower()]
        if fits:
            found = fits
        else:
            screen.note(f"no open board fits {line(word, 64)!r}")
    raise Misuse("board: none was chosen; name it with --board")


def _choose_hardware(screen: Screen, site: Client, board: str, problem: str) -> str:
    known_names = api.hardware_of(site.board(board)) if board else []
    if not known_names:
        raise Misuse(problem)
    for place, name in enumerate(known_names, 1):
        screen.note(f"  {place}  {line(name, 64)}")
    for _ in range(MAX_QUESTIONS):
        word = str(typer.prompt("Hardware", err=True)).strip()
        if word in known_names:
            return word
        if word.isascii() and word.isdecimal() and 1 <= int(word[:4]) <= len(known_names):
            return known_names[int(word[:4]) - 1]
    raise Misuse("hardware: none was chosen; name it with --hardware")


def _tell_sent(screen: Screen, site: Client, sent: Mapping[str, Any], wanted: str, mode: str, as_json: bool) -> None:
    slug, where = line(str(sent.get("board") or ""), 64), line(str(sent.get("hardware") or wanted), 64)
    for note in sequence(sent.get("notes")):
        screen.note(line(note, 400))
    quotas = [] if as_json else quietly(site, calls.quota(slug))
    screen.note_short([quota for quota in quotas if (quota.get("hardware"), quota.get("mode")) == (where, mode)])
    screen.note(f"submission {line(sent['id'], 64)} to {slug} on {where}, mode {mode}")


def _watch(screen: Screen, site: Client, submission: str, quiet: bool) -> Any:
    try:
        if quiet:
            return site.follow(submission)
        with screen.progress() as progress:
            return site.follow(submission, progress)
    except KeyboardInterrupt:
        screen.note(f"The submission goes on without you: `photofinish show {line(submission, 64)}` has its verdict.")
        raise typer.Exit(130) from None


def _finish(screen: Screen, site: Client, submission: JSON, as_json: bool, cases: bool = False) -> NoReturn:
    """Print the verdict and end the command with its exit code."""
    if as_json:
        screen.json(submission)
    else:
        render.verdict(screen, submission, site.address(submission.get("url")))
        if cases:
            render.cases(screen, submission)
            render.operators(screen, submission)
    raise typer.Exit(verdict_code(submission))


def _save_files(screen: Screen, site: Client, found: JSON, folder: Path) -> None:
    """Write the files of a profile into a folder. Raises Misuse if there are none or the folder cannot be written."""
    names = [str(one.get("name")) for one in mappings(found.get("files"))]
    names = [name for name in names if name in PROFILE_FILES]  # a site chooses no path here
    if not names:
        raise Misuse(f"files: submission {line(found.get('id', ''), 64)} has none; `submit --mode profile` makes them")
    for name in names:
        content = site.profile_file(str(found.get("id", "")), name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        except OSError as error:
            raise Misuse(f"files: {folder / name} cannot be written ({error.strerror})") from None
        screen.note(f"written: {folder / name}")


def _remove(site: Client, submission: str, reason: str) -> JSON:
    found = site.submission(submission)
    if found.get("status") not in FINAL:
        site.cancel(submission)
        return {"id": submission, "done": "cancelled"}
    if found.get("published") or found.get("review") == "under_review":
        site.retract(submission, reason)
        return {"id": submission, "done": "withdrawn from its board"}
    return {"id": submission, "done": "does not rank; it stays in your list, where only you and organisers see it"}


def _one_before(site: Client, submission: str) -> str:
    """Return the caller's submission before this one to the same board and hardware. Raises Misuse."""
    with known(submission):
        found = site.submission(submission)
    place = (found.get("board"), found.get("hardware"))
    for other in site.submissions(str(found.get("board", "")), 200):
        if (other.get("board"), other.get("hardware")) == place and _whole(other.get("id")) < _whole(submission):
            return str(other["id"])
    raise Misuse(f"ID: {submission} is your first submission there; name the other side, a number or a file")


def _whole(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= calls.MAX_ID_DIGITS else 0


def _code_of(site: Client, name: str) -> tuple[str, str]:
    """Return a title and the code of a submission, of a published entry, or of a file. Raises Misuse, Refused."""
    if not name.isdecimal():
        code, _ = read(name, "")
        return name, code
    try:
        with known(name):
            found: Mapping[str, Any] = site.submission(name)
    except Refused as error:
        if error.status != api.NOT_FOUND:
            raise
        found = site.entry(name)
    if not isinstance(found.get("code"), str):
        raise Misuse(f"ID: the code of {name} is not public")
    return f"{name}/{line(found.get('filename') or 'kernel', 64)}", str(found["code"])


def _report(found: JSON, address: str, seeds: JSON) -> list[str]:
    where = " on ".join(line(found.get(key, ""), 64) for key in ("board", "hardware"))
    rows = [f"# Submission {line(found.get('id', ''), 32)}: {render.headline(found)}", "", line(address, 500), ""]
    rows += [f"- {where}, mode {line(found.get('mode', ''), 16)}, file {line(found.get('filename', ''), 255)}"]
    rows += [f"- {line(text, 1_000)}" for text in render.facts(found)]
    cases = mappings(found.get("cases"))
    if cases:
        rows += ["", "## Cases", "", "| case | result | time | baseline | speedup |", "| --- | --- | --- | --- | --- |"]
        for case in cases[: render.MAX_CASES]:
            result = "ok" if case.get("good") else line(f"{case.get('reason', '')}: {case.get('message', '')}", 1_000)
            times = " | ".join(line(render.duration_of(case, key)) for key in ("measured_us", "baseline_us"))
            ratio = speedup(number(case.get("ratio"))) if case.get("ratio") else ""
            rows.append(f"| {line(case.get('name', ''), 200)} | {result.replace('|', '/')} | {times} | {ratio} |")
    if inputs := mappings(seeds.get("cases")):
        rows += ["", "## Seeds", "", "| case | kind | arguments | seeds |", "| --- | --- | --- | --- |"]
        for one in inputs[: render.MAX_CASES]:
            arguments = " ".join(f"{name}={value}" for name, value in mapping(one.get("arguments")).items())
            cells = (
                one.get("case", ""),
                one.get("kind", ""),
                arguments,
                " ".join(map(str, sequence(one.get("seeds")))),
            )
            rows.append(f"| {' | '.join(line(cell, 500).replace('|', '/') for cell in cells)} |")
    elif seeds.get("public_at"):
        rows += ["", f"The seeds of the cases are public from {render.moment(seeds['public_at'])} on."]
    for name, text in [*mapping(found.get("logs")).items(), ("code", found.get("code"))]:
        if text:
            # Four spaces make a block that no text inside can end.
            rows += ["", f"## {line(name, 64)}", "", *(f"    {row}" for row in clean(text, 1_000_000).split("\n"))]
    return rows


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"output: {path} cannot be written ({error.strerror})") from None
