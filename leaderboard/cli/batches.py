"""`photofinish batch`, `feedback` and `parents`: many kernels at once, feedback for programs, kernels to build on."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from ..client import Misuse
from ..client.values import JSON, mapping, mappings, number
from ..wording.figures import NONE, duration_us, significant, speedup, times
from . import api, render
from .api import known
from .config import connected
from .kernels import Lineage, lineage_of, read
from .render import AsJson, Columns, Screen, clean, estimate, line, when

app = typer.Typer(no_args_is_help=True, help="Many kernels at once, under one budget of device time.")

MODES: Final = ("test", "benchmark", "ranked")
MOST: Final = 256
OrNewest = Annotated[str | None, typer.Argument(metavar="[BATCH]", help="Default: your newest batch.")]
BatchId = Annotated[str, typer.Argument(metavar="BATCH", help="Number of the batch.")]
COUNTS: Final = {"judged": "judged", "correct": "correct", "faster": "surely faster than the baseline"}
BATCHES: Final[Columns] = {
    "batch": "id",
    "when": when("created_at", NONE),
    "mode": "mode",
    "state": lambda item: line(item.get("state", ""), 32).replace("_", " "),
    "candidates": "size",
    "ended": "arrived",
    "device time": lambda item: _spent(item),
}

PARENTS: Final[Columns] = {
    "submission": "submission",
    "speedup": lambda item: speedup(number(item.get("ratio"))),
    "shared": lambda item: f"{100 * (number(item.get('similarity')) or 0):.0f} %",
    "by": lambda item: "you" if item.get("own") else line(item.get("user", ""), 64),
    "model": "model",
    "licence": "licence",
    "idea": "idea",
}


@app.command()
def submit(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Up to 256 source files.")],
    board: Annotated[str, typer.Option(help="Name of the board (default: the files' directives).")] = "",
    hardware: Annotated[str, typer.Option(help="Required for a board with several.")] = "",
    mode: Annotated[
        str,
        typer.Option(metavar="|".join(MODES), help="test: checked; benchmark: also timed; ranked: for the board."),
    ] = "test",
    budget: Annotated[float, typer.Option(help="Device seconds of all files together.")] = 600.0,
    bar: Annotated[
        float | None,
        typer.Option(
            metavar="RATIO",
            help="With --mode benchmark: end the timing of files that cannot take less than RATIO times the baseline's "
            "time.",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Have kernels that were judged before judged again.")] = False,
    licence: Annotated[str, typer.Option(help="Licence of the published code (default: the competition's).")] = "",
    lineage: Lineage = None,
    watch: Annotated[bool, typer.Option("--watch", help="Wait, and print each verdict as it comes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit files as a batch, all or none. With --watch, the exit code is the first of 3, 1, 5 that a verdict has."""
    if mode not in MODES:
        raise Misuse(f"mode: {mode!r} is not one of {', '.join(MODES)}")
    if len(files) > MOST:
        raise Misuse(f"files: a batch has at most {MOST}, and these are {len(files)}; send several")
    candidates, told = list[JSON](), lineage_of(lineage)
    for file in files:
        code, name = read(file, "")
        candidates.append({"code": code, "filename": name, "licence": licence, **({"lineage": told} if told else {})})
    with connected(context) as site:
        sent: JSON = site.submit_batch(
            candidates, mode=mode, budget_s=budget, board=board, hardware=hardware, bar=bar, fresh=fresh
        )
        if not watch:
            Screen().answer(sent, line(sent["id"], 64), as_json)
            return
        _watch(site, str(sent["id"]), as_json)


@app.command()
def show(
    context: typer.Context,
    batch: OrNewest = None,
    watch: Annotated[bool, typer.Option("--watch", help="Wait until its end, and print each verdict.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a batch, by default your newest: its state, device time, and candidates."""
    with connected(context) as site:
        if batch is None:
            newest: Sequence[JSON] = site.batches(1)
            if not newest:
                raise Misuse("batch: you have sent none yet; `photofinish batch submit FILE…` sends one")
            batch = str(newest[0]["id"])
        if watch:
            _watch(site, batch, as_json)
        found: JSON = site.batch(batch)
    screen = Screen()
    if as_json:
        screen.json(found)
        return
    screen.say(_headline(found))
    columns: Columns = {
        "candidate": "number",
        "submission": "submission",
        "board": "board",
        "hardware": "hardware",
        "verdict": lambda item: (
            line(item.get("outcome") or item.get("status", ""), 32).replace("_", " ")
            + (f", judged before as {line(before, 32)}" if (before := item.get("same_as")) is not None else "")
        ),
    }
    screen.table(mappings(found.get("candidates")), columns)


@app.command("list")
def list_batches(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = 20,
    as_json: AsJson = False,
) -> None:
    """List your batches, newest first."""
    with connected(context) as site:
        found = site.batches(limit)
    Screen().table(found, BATCHES, ("candidates", "ended"), ("when", "mode"), as_json)


@app.command()
def report(
    context: typer.Context,
    batch: BatchId,
    p: Annotated[float, typer.Option(min=0, max=1_000, help="Of fast_p@k: a speedup.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Print pass@k, fast_p@k, best-of-k, stages and costs of a batch."""
    with connected(context) as site:
        found: JSON = site.batch_report(batch, p)
    screen = Screen()
    if as_json:
        screen.json(found)
        return
    counts = [f"{line(found.get(name, ''), 8)} {title}" for name, title in COUNTS.items()]
    screen.say(f"batch {line(found.get('id', ''), 32)}: {', '.join(counts)}")
    columns: Columns = {
        "k": "k",
        "pass@k": lambda row: estimate(row.get("pass_at_k")),
        f"fast_{p:g}@k": lambda row: estimate(row.get("fast_p_at_k")),
        "best of k": lambda row: times(number(row.get("best_of_k"))),
    }
    screen.table(mappings(found.get("figures")), columns)
    stages = mapping(found.get("stages"))
    screen.say(f"stages: {', '.join(f'{line(name, 16)} {line(count, 8)}' for name, count in stages.items())}")
    screen.say(f"device time: {_amount(found.get('spent_s'), found.get('device_s_per_speedup'), 's')}")
    if found.get("cost_usd") is not None:
        screen.say(f"cost: {_amount(found.get('cost_usd'), found.get('cost_usd_per_speedup'), 'US dollars')}")


@app.command()
def cancel(context: typer.Context, batch: BatchId, as_json: AsJson = False) -> None:
    """Cancel the candidates of a batch that wait or run."""
    with connected(context) as site:
        found: JSON = site.cancel_batch(batch)
    Screen().answer(found, _headline(found), as_json)


def feedback(
    context: typer.Context,
    submission: Annotated[str, typer.Argument(metavar="ID")],
    text: Annotated[bool, typer.Option("--text", help="As text for a prompt.")] = False,
    limit: Annotated[int, typer.Option(min=100, max=20_000, help="Characters of the text.")] = 2_000,
) -> None:
    """Print feedback on a submission for a program: as JSON, or as text of limited length."""
    screen = Screen()
    with connected(context) as site, known(submission):
        if text:
            screen.say(site.feedback_text(submission, limit).decode("utf-8", "replace"))
        else:
            screen.json(site.feedback(submission))


def parents(
    context: typer.Context,
    board: Annotated[str, typer.Argument(help="Name of the board.")],
    hardware: Annotated[str, typer.Option(help="Hardware of the board.")],
    limit: Annotated[int, typer.Option(min=1, max=16)] = 8,
    similarity: Annotated[float, typer.Option(min=0.0, max=1.0, help="Largest shared part of two kernels.")] = 0.7,
    as_json: AsJson = False,
) -> None:
    """List the fastest kernels that differ from each other: public ones and yours. With --json, with their code."""
    with connected(context) as site:
        found = site.parents(board, hardware, limit=limit, similarity=similarity)
    Screen().table(found, PARENTS, ("speedup", "shared"), ("idea", "licence"), as_json)


def _amount(total: object, each: object, unit: str) -> str:
    per = f", {significant(cost)} {unit} per verified speedup" if (cost := number(each)) is not None else ""
    return f"{significant(number(total) or 0)} {unit}{per}"


def _watch(site: Any, batch: str, as_json: bool) -> None:
    """Print the verdicts of a batch as they come, and end the command with their exit code."""
    screen, found = Screen(), list[JSON]()

    def tell(one: JSON) -> None:
        found.append(one)
        if not as_json:
            screen.say(_verdict(one))

    try:
        ended: JSON = site.follow_batch(batch, tell)
    except KeyboardInterrupt:
        screen.note(f"The batch goes on without you: `photofinish batch show {line(batch, 64)}` has its state.")
        raise typer.Exit(130) from None
    if as_json:
        screen.json({**ended, "results": found})
    else:
        screen.note(_headline(ended))
    verdicts = [{**mapping(one.get("about")), "outcome": one.get("outcome")} for one in found]
    raise typer.Exit(api.worst([api.verdict_code(verdict) for verdict in verdicts]))


def _verdict(found: JSON) -> str:
    about = mapping(found.get("about"))
    name = f"{line(about.get('candidate', ''), 8)} {line(about.get('filename', ''), 64)}"
    title = render.headline({**about, "outcome": found.get("outcome"), "reason": found.get("reason")})
    figures = f": {speedup(number(found.get('ratio')))}, {duration_us(number(found.get('score_us')))}"
    why = line(clean(found.get("message") or "").split("\n")[0], 200)
    return f"{name}: {title}{figures if found.get('ratio') else f': {why}' if why else ''}"


def _spent(found: Mapping[str, Any]) -> str:
    return f"{number(found.get('spent_s')) or 0:.1f} of {number(found.get('budget_s')) or 0:g} s"


def _headline(found: Mapping[str, Any]) -> str:
    state = line(found.get("state", ""), 32).replace("_", " ")
    outcomes = ", ".join(
        f"{line(count, 8)} {line(name, 32).replace('_', ' ')}" for name, count in mapping(found.get("outcomes")).items()
    )
    before = sum(one.get("same_as") is not None for one in mappings(found.get("candidates")))
    ended = f"{line(found.get('arrived', ''), 8)} of {line(found.get('size', ''), 8)} candidates ended"
    ended += f", {before} of them judged before" if before else ""
    return f"batch {line(found.get('id', ''), 32)}: {state}, {ended}{f' ({outcomes})' if outcomes else ''}, " + (
        f"{_spent(found)} of device time"
    )
