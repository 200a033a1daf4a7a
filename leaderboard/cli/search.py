"""`photofinish search`: have a proposer write kernels and the site judge them, round by round; its view and report."""

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Final

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..client import AsyncClient, Client, ClientError, Misuse
from ..client.search import (
    STRATEGIES,
    Budget,
    Journal,
    Known,
    Search,
    Settings,
    Shape,
    State,
    Task,
    make_proposer,
    summary,
)
from ..client.search import journal as journals
from ..client.search.state import SHOWN, outcomes
from ..client.values import mapping, number
from ..source import MAX_SOURCE_BYTES
from ..wording.figures import interval, speedup
from .api import NOT_PASSED, explained, one_hardware
from .config import client_of, proposer_key, resolve
from .kernels import read
from .render import AsJson, Screen, line

MODES: Final = ("benchmark", "ranked")
MOST_STARTS: Final = 64
MOST_IN_MATCH: Final = 200  # versions of a side
MOST_BANK: Final = 64
SHOWN_LINES: Final = 8  # of the live view
SHOWN_KERNELS: Final = 5
REPORT: Final = "report.md"


def search(
    context: typer.Context,
    board: Annotated[str, typer.Argument(metavar="PROBLEM", help="Name of the problem's board.")],
    proposer: Annotated[
        str,
        typer.Option(
            metavar="CMD|URL", help="Command that reads JSON and writes JSON lines, or address of a chat API."
        ),
    ] = "",
    hardware: Annotated[str, typer.Option(help="Required for a board with several.")] = "",
    strategy: Annotated[str, typer.Option(help=f"{', '.join(STRATEGIES)}.")] = "evolve",
    rounds: Annotated[int, typer.Option(min=1, max=1_000, help="Winners appear late: use five or more.")] = 5,
    candidates: Annotated[int, typer.Option(min=1, max=10_000, help="Kernels to judge in all.")] = 64,
    budget: Annotated[float, typer.Option(min=1, max=1_000_000, help="Device seconds of all kernels.")] = 1_800.0,
    time: Annotated[float, typer.Option(min=1, max=604_800, help="Seconds that the search may take.")] = 7_200.0,
    per_round: Annotated[int, typer.Option(min=1, max=256, help="Kernels of a round.")] = 8,
    realisations: Annotated[int, typer.Option(min=1, max=32, help="Kernels of each idea.")] = 2,
    start: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Kernel to begin with. Repeat it.")] = None,
    bank: Annotated[
        list[str] | None,
        typer.Option(metavar="WHERE", help="Known good kernels: file, folder of a search, or board. Repeat it."),
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="benchmark|ranked", help="ranked: every kernel is for the board.")
    ] = "benchmark",
    into: Annotated[Path | None, typer.Option(help="Folder of the search (default: search-PROBLEM-HARDWARE).")] = None,
    model: Annotated[str, typer.Option(help="Model of a chat API.")] = "",
    temperature: Annotated[float | None, typer.Option(min=0, max=10, help="Of the model (default: its own).")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of an answer (default: the API's).")] = None,
    proposer_timeout: Annotated[float, typer.Option(min=0.1, max=3_600, help="Seconds for an answer.")] = 300.0,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="Questions to the proposer at the same time.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the strategy's choices.")] = 0,
    match: Annotated[int, typer.Option(min=0, help="Match whose machine side the kernels are versions of.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Search for faster kernels: a proposer writes them, the site judges them, the fastest seed the next round.

    The same command goes on after Ctrl-C or a kill. The key of a chat API comes from PROPOSER_API_KEY.
    """
    if not proposer:
        raise Misuse("proposer: missing; give a command or an address, or look names up with `photofinish find`")
    if strategy not in STRATEGIES:
        raise Misuse(f"strategy: {strategy!r} is not one of {', '.join(STRATEGIES)}")
    if mode not in MODES:
        raise Misuse(f"mode: {mode!r} is not one of {', '.join(MODES)}")
    if len(start or ()) > MOST_STARTS:
        raise Misuse(f"start: {len(start or ())} files; give at most {MOST_STARTS}")
    if match and (mode != "benchmark" or candidates > MOST_IN_MATCH):
        raise Misuse(f"match: takes at most {MOST_IN_MATCH} candidates, in mode benchmark; change these options")
    account, sampling = resolve(context.obj), {"temperature": temperature, "max_tokens": max_tokens}
    asked = make_proposer(
        proposer,
        key=proposer_key(),
        model=model,
        timeout_s=proposer_timeout,
        sampling={name: value for name, value in sampling.items() if value is not None},
        insecure=context.obj.insecure,
    )
    with client_of(account) as site:
        site.need_token()
        hardware = one_hardware(site, board, hardware)
        task, digest = task_of(site, board, hardware)
        against = _model_of(site, match, task) if match else ""
        known = [one for where in bank or () for one in _bank(site, where, hardware)][:MOST_BANK]
    folder = into or Path(f"search-{task.board}-{task.hardware}")
    run = f"search-{secrets.token_hex(4)}"
    settings = Settings(site.url, task.board, task.hardware, digest, mode, strategy, seed, run, match, against)
    screen, codes = Screen(), [read(file, "")[0] for file in start or ()]
    with Journal(folder) as journal, _view(screen, as_json) as tell:

        async def searched() -> Search:
            async with AsyncClient(account.url, account.token, insecure=account.insecure) as connection:
                shape = Shape(per_round, realisations, at_once)
                limits = Budget(rounds, candidates, budget, time)
                found = Search(connection, asked, journal, settings, task, limits, shape, known, codes, tell)
                if len(journal.records) > 1:
                    tell(found.state, f"The search of {folder} goes on in round {found.state.round}.")
                try:
                    await found.run()
                finally:
                    await asked.close()
                    _write(folder, found, task.suffix)
                return found

        try:
            found = asyncio.run(searched())
        except KeyboardInterrupt:
            screen.note(f"Stopped. The same command goes on; {folder} has the state. A sent batch is judged meanwhile.")
            raise typer.Exit(130) from None
        except ClientError:
            screen.note(f"{folder} has the state: the same command goes on.")
            raise
    result = summary(found.state)
    if as_json:
        screen.json({**result, "folder": str(folder)})
    else:
        screen.say(_report(found.state))
        screen.note(f"{folder} has the journal, {REPORT} and the best kernel.")
    raise typer.Exit(0 if found.state.best() else NOT_PASSED)


def _model_of(site: Client, match: int, task: Task) -> str:
    """Return the model that plays a match. Raises Misuse where the kernels of this search cannot be its versions."""
    found = mapping(site.match(match))
    if found.get("closed_at"):
        raise Misuse(f"match: {match} is closed; open another with `photofinish match open`")
    where = (str(found.get("board", "")), str(found.get("hardware", "")))
    if where != (task.board, task.hardware):
        raise Misuse(f"match: {match} is played on {where[0]} with hardware {where[1]}; search there")
    return str(found.get("model", ""))


def task_of(site: Client, board: str, hardware: str) -> tuple[Task, str]:
    """Return the problem of a board for prompts, and the digest of its version."""
    with explained(site, board, hardware):
        shown, found = site.board(board), site.problem(board, hardware)
    problem = mapping(found.get("problem"))
    suffix = Path(str(problem.get("submission_name", ""))).suffix
    task = Task(
        board=str(shown.get("slug", "")),
        hardware=hardware,
        title=str(shown.get("title", "")),
        description=str(shown.get("description", "")),
        reference=str(shown.get("reference") or ""),
        starters={str(name): str(text) for name, text in mapping(shown.get("templates")).items()},
        suffix=suffix if suffix in (".py", ".cu") else ".py",
    )
    return task, str(found.get("digest", ""))


def _bank(site: Client, where: str, hardware: str) -> Iterator[Known]:
    """Yield the known good kernels of a file, of another search's folder, or of a board."""
    path = Path(where)
    if path.is_dir():
        state = State()
        try:
            records, _ = journals.read(path / journals.NAME)
            for record in records:
                state.take(record)
        except FileNotFoundError:
            raise Misuse(
                f"bank: {where} has no {journals.NAME}; give the folder of a search, a file or a board"
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise Misuse(f"bank: {path / journals.NAME} has a record that this version does not read") from None
        name = f"{state.settings.board} on {state.settings.hardware}" if state.settings else where
        yield from (Known(name, one.code, one.speedup) for one in state.best())
    elif path.is_file():
        yield Known(path.name, read(where, "")[0])
    else:
        with explained(site, where, hardware):
            for one in site.parents(where, hardware):
                ratio = number(one.get("ratio"))
                code = str(one.get("code") or "")[:MAX_SOURCE_BYTES]
                yield Known(f"{where} on {hardware}", code, 1 / ratio if ratio else 0.0)


# -- view and report ---------------------------------------------------------------------------------------------------


@contextmanager
def _view(screen: Screen, as_json: bool) -> Iterator[Any]:
    """Show a search on stderr: live on a terminal, as lines elsewhere."""
    if not screen.err.is_terminal:
        yield lambda state, news: screen.note(line(news))
        return
    began, lines = monotonic(), deque[str](maxlen=SHOWN_LINES)
    head, body = "", Group()

    def shown() -> Group:
        """Return the last view. A thread of rich draws it, and must not read the state that the search changes."""
        return Group(Text(f"{head}{monotonic() - began:.0f} s"), body)

    def tell(state: State, news: str) -> None:
        nonlocal head, body
        lines.append(line(news))
        batch = state.open_batch
        judged = f"judging, {batch.arrived} of {len(batch.numbers)}" if batch else "asking the proposer"
        head = f"round {state.round} · {judged} · {state.sent} sent · {state.spent_s:.0f} device seconds · "
        body = Group(*_now(state), *(Text(text, style="dim") for text in lines))

    with Live(console=screen.err, refresh_per_second=4, transient=True, get_renderable=shown):
        yield tell


def _now(state: State) -> Iterator[Text | Table]:
    """Yield the outcomes and the best kernels of a search for the live view."""
    yield Text(_counted(outcomes(state.candidates.values())))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("candidate", "speedup", "idea"):
        table.add_column(heading, overflow="fold")
    for one in state.best()[:SHOWN_KERNELS]:
        table.add_row(str(one.number), speedup(one.ratio), Text(line(one.idea, 120)))
    yield table


def _write(folder: Path, found: Search, suffix: str) -> None:
    """Write the report and the best kernel beside the journal."""
    try:
        (folder / REPORT).write_text(_report(found.state) + "\n", encoding="utf-8")
        for best in found.state.best()[:1]:
            (folder / f"best{suffix}").write_text(best.code, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{error.filename}: {error.strerror}") from None


def _report(state: State) -> str:
    """Return the report of a search in Markdown."""
    found, best = summary(state), state.best()
    settings = state.settings or Settings("", "", "", "")
    parts = [f"# Search for {settings.board} on {settings.hardware}", ""]
    if best and (verdict := best[0].verdict):
        speed = f"{speedup(best[0].ratio)} {interval(verdict.half_width)}".strip()
        parts.append(
            f"Best: candidate {best[0].number}, submission {verdict.submission}, {speed} as fast as the baseline."
        )
    else:
        parts.append("No kernel was correct, timed and free of findings.")
    parts.append("")
    cost = f", {found['tokens']:,} tokens" if found["tokens"] else ""
    cost += f", {found['cost_usd']:.2f} US dollars" if found["cost_usd"] else ""
    parts.append(
        f"{found['rounds']} rounds by {settings.strategy}: {found['candidates']} candidates sent, "
        f"{found['left_out']} left out, {found['faults']} faults of the proposer; "
        f"{found['device_s']:.1f} device seconds, {found['elapsed_s']:.0f} s{cost}."
    )
    rows = [
        (one["round"], one["candidates"], _counted(one["outcomes"]), speedup(one["best_ratio"]))
        for one in found["by_round"]
    ]
    parts += ["", "## Rounds", "", *_table(("round", "candidates", "outcomes", "best so far"), rows)]
    kernels = [
        (
            one["candidate"],
            one["submission"],
            speedup(one["ratio"]),
            interval(one["half_width"]),
            line(one["idea"], 300),
        )
        for one in found["best"]
    ]
    if kernels:
        parts += ["", "## Fastest kernels that differ", ""]
        parts += _table(("candidate", "submission", "speedup", "interval", "idea"), kernels)
    ideas = [
        (f"{one['speedup']:.3g}×" if one["speedup"] else one["outcome"].replace("_", " "), one["text"])
        for one in found["ideas"]
    ]
    if ideas:
        parts += ["", "## Ideas", "", *_table(("best", "idea"), ideas)]
    if state.faults:
        parts += ["", "## Faults of the proposer", "", *(f"- {line(fault, 300)}" for fault in state.faults[-SHOWN:])]
    return "\n".join(parts)


def _counted(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{count} {line(name, 32).replace('_', ' ')}" for name, count in outcomes.items())


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    cells = [[line(cell, 300).replace("|", "\\|") for cell in row] for row in rows]
    lines = (" | ".join(row) for row in (headings, ["---"] * len(headings), *cells))
    return [f"| {text} |" for text in lines]
