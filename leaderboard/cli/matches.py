"""`photofinish match`: a person against a model on the same reference."""

import asyncio
from pathlib import Path
from typing import Annotated, Final

import typer

from ..client import AsyncClient, Client, Misuse
from ..client.search import Candidate, Verdict, lineage_of, make_proposer, question, shortened
from ..client.search.prompts import Task
from ..client.search.proposers import Proposer, ProposerFailed
from ..client.values import JSON, mapping, mappings, number
from ..source import SourceError, read_code, read_file
from ..wording.figures import NONE, interval, percent, speedup, times
from . import worklogs
from .api import explained, one_hardware
from .config import client_of, connected, proposer_key, resolve
from .kernels import read
from .render import AsJson, Columns, Screen, line, when
from .search import task_of

app = typer.Typer(no_args_is_help=True, help="A person against a model on the same reference.")
app.add_typer(worklogs.app, name="worklog")

BOUNDS: Final = ("memory", "compute", "latency")
MACHINES: Final = ("search", "prompts", "pasted")
MatchId = Annotated[str, typer.Argument(metavar="MATCH", help="Number of the match.")]

MATCHES: Final[Columns] = {
    "match": "id",
    "when": when("created_at", NONE),
    "board": "board",
    "hardware": "hardware",
    "human": "human",
    "model": "model",
    "": lambda one: "public" if one.get("public") else "private",
    "score": "said",
}
VERSIONS: Final[Columns] = {
    "version": "number",
    "submission": "submission",
    "gate": lambda one: gate(one),
    "speedup": lambda one: speedup(number(one.get("ratio"))),
    "interval": lambda one: interval(number(one.get("half_width"))),
    "expected": lambda one: times(number(one.get("expected"))),
    "reason": "reason",
}
CASES: Final[Columns] = {
    "case": "name",
    "human": lambda one: speedup(number(one.get("human"))),
    "machine": lambda one: speedup(number(one.get("machine"))),
    "ahead": "ahead",
}


@app.command("open")
def open_match(
    context: typer.Context,
    board: Annotated[str, typer.Argument(metavar="BOARD", help="Name of the board.")],
    model: Annotated[str, typer.Option(help="Name of the model that you play against.")],
    hardware: Annotated[str, typer.Option(help="Required for a board with several.")] = "",
    machine: Annotated[str, typer.Option(help=f"How the machine plays: {', '.join(MACHINES)}.")] = "prompts",
    as_json: AsJson = False,
) -> None:
    """Open a match against a model. You operate its side, too."""
    if machine not in MACHINES:
        raise Misuse(f"machine: {machine!r} is not one of {', '.join(MACHINES)}")
    with connected(context) as site:
        hardware = one_hardware(site, board, hardware)
        with explained(site, board, hardware):
            made: JSON = site.open_match(board, hardware, model=model, machine=machine)
        address = site.address(made.get("url"))
    screen = Screen()
    screen.answer(made, line(made.get("id", ""), 32), as_json)
    screen.note(f"predict first: photofinish match predict {line(made.get('id', ''), 32)}, or {line(address)}")


@app.command()
def predict(
    context: typer.Context,
    match: MatchId,
    bound: Annotated[str, typer.Option(help=f"Of your best kernel: {', '.join(BOUNDS)}.")],
    expect: Annotated[float, typer.Option(help="Speed-up that you expect; 2 is twice as fast as the reference.")],
    why: Annotated[str, typer.Option(help="20 to 2,000 characters.")],
    as_json: AsJson = False,
) -> None:
    """Commit your prediction, before your first version and for good."""
    if bound not in BOUNDS:
        raise Misuse(f"bound: {bound!r} is not one of {', '.join(BOUNDS)}")
    with connected(context) as site:
        found: JSON = site.predict(match, bound=bound, speedup=expect, why=why)
    Screen().answer(found, f"match {line(match, 32)}: predicted {bound}, {times(expect)}", as_json)


@app.command()
def send(
    context: typer.Context,
    match: MatchId,
    file: Annotated[str, typer.Argument(help="Your kernel; - reads stdin.")],
    reason: Annotated[str, typer.Option(help="Of the change; from the second version on.")] = "",
    expect: Annotated[
        float | None, typer.Option(help="Speed-up that you expect of it; from the second version on.")
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the published code (default: the competition's).")] = "",
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Wait for the verdict.")] = True,
    as_json: AsJson = False,
) -> None:
    """Send your next version, and wait for its verdict. Exit code 0 if it is correct."""
    code, name = read(file, "")
    with connected(context) as site:
        filename = "" if file == "-" else name
        made: JSON = site.send_version(match, code, filename=filename, licence=licence, reason=reason, expected=expect)
        _finish(site, match, "human", made, watch, as_json)


@app.command()
def paste(
    context: typer.Context,
    match: MatchId,
    prompt: Annotated[Path, typer.Option(metavar="FILE", help="The exact prompt.")],
    answer: Annotated[Path, typer.Option(metavar="FILE", help="The whole answer.")],
    code: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: the answer's longest code block.")] = None,
    turn: Annotated[int | None, typer.Option(min=1, max=1_000, help="Its number in the dialogue.")] = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Wait for the verdict.")] = True,
    as_json: AsJson = False,
) -> None:
    """Send a model's answer with its prompt. Exit code 0 if its kernel is correct."""
    asked, said = _text("prompt", prompt), _text("answer", answer)
    kernel = read(str(code), "")[0] if code else read_code(said)
    if not kernel.strip():
        raise Misuse(f"answer: {answer} has no code block between ``` lines; give the kernel with --code")
    with connected(context) as site:
        made: JSON = site.send_answer(match, prompt=asked, answer=said, code=kernel + "\n", turn=turn)
        _finish(site, match, "machine", made, watch, as_json)


@app.command()
def play(
    context: typer.Context,
    match: MatchId,
    proposer: Annotated[
        str,
        typer.Option(
            metavar="CMD|URL", help="Command that reads JSON and writes JSON lines, or address of a chat API."
        ),
    ],
    turns: Annotated[int, typer.Option(min=1, max=100, help="Prompts to send, each with the last verdict.")] = 1,
    model: Annotated[str, typer.Option(help="Model of a chat API.")] = "",
    temperature: Annotated[float | None, typer.Option(min=0, max=10, help="Of the model (default: its own).")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of an answer (default: the API's).")] = None,
    proposer_timeout: Annotated[float, typer.Option(min=0.1, max=3_600, help="Seconds for an answer.")] = 300.0,
    as_json: AsJson = False,
) -> None:
    """Let the machine play, one prompt at a time: the reference first, then its last kernel with the judge's feedback.

    The key of a chat API comes from PROPOSER_API_KEY and never reaches the site.
    """
    account, sampling = resolve(context.obj), {"temperature": temperature, "max_tokens": max_tokens}
    asked = make_proposer(
        proposer,
        key=proposer_key(),
        model=model,
        timeout_s=proposer_timeout,
        sampling={name: value for name, value in sampling.items() if value is not None},
        insecure=context.obj.insecure,
    )
    screen = Screen()
    with client_of(account) as site:
        site.need_token()
        shown: JSON = site.match(match)
        if shown.get("closed_at"):
            raise Misuse(f"match: {match} is closed; open another with `photofinish match open`")
        task, _ = task_of(site, str(shown.get("board", "")), str(shown.get("hardware", "")))

    async def played() -> None:
        async with AsyncClient(account.url, account.token, insecure=account.insecure) as connection:
            last, number_ = await _last(connection, shown)
            try:
                for turn in range(number_ + 1, number_ + 1 + turns):
                    last = await _turn(connection, asked, task, match, turn, last)
                    if not as_json:
                        screen.say(f"turn {turn}: {_verdict(last)}")
            finally:
                await asked.close()

    asyncio.run(played())
    with client_of(account) as site:
        found: JSON = site.match(match)
    screen.answer(found, line(found.get("said", "")), as_json)


async def _last(site: AsyncClient, shown: JSON) -> tuple[Candidate | None, int]:
    """Return the machine's last kernel with its feedback, and its turn; a first turn follows none."""
    versions = mappings(shown.get("machine_versions"))
    if not versions:
        return None, 0
    newest = versions[-1]
    found = await site.submission(str(newest.get("submission")))
    turn = max(int(number(one.get("turn")) or number(one.get("number")) or 0) for one in versions)
    return await _judged(site, str(newest.get("submission")), str(found.get("code") or "")), turn


async def _turn(
    site: AsyncClient, proposer: Proposer, task: Task, match: str, turn: int, last: Candidate | None
) -> Candidate:
    """Ask once, send the kernel of the answer, and return it with its verdict. Raises ClientError."""
    asked = question(task, "kernels", 1, parents=[last] if last else [], tried=[], bank=[])
    reply = await proposer.ask(asked)
    if not reply.found:
        why = "; ".join(reply.faults) or "the answer is empty"
        raise ProposerFailed(f"proposer: no kernel came: {why}; run the command again")
    kernel = reply.found[0]
    lineage = {name: value for name, value in lineage_of(kernel.origin).items() if name in ("sampling", "cost_usd")}
    dialogue = shortened(kernel.prompt or asked.prompt, kernel.answer or kernel.code)
    made = await site.send_answer(match, code=kernel.code + "\n", turn=turn, lineage=lineage, **dialogue)
    await site.follow(made["submission"])
    return await _judged(site, str(made["submission"]), kernel.code)


async def _judged(site: AsyncClient, submission: str, code: str) -> Candidate:
    found, text = await site.feedback(submission), await site.feedback_text(submission)
    return Candidate(0, 0, code, verdict=Verdict.of(found, text.decode("utf-8", "replace")))


def _verdict(one: Candidate) -> str:
    found = one.verdict
    if found is None:
        return NONE
    why = f" ({line(found.reason, 64)})" if found.reason else ""
    speed = f", {speedup(found.ratio)} {interval(found.half_width)}" if found.ratio else ""
    return f"submission {found.submission}, {line(found.outcome, 32).replace('_', ' ')}{why}{speed}"


@app.command("list")
def list_matches(
    context: typer.Context,
    public: Annotated[bool, typer.Option("--public", help="The gallery of public matches.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = 20,
    as_json: AsJson = False,
) -> None:
    """List your matches, or the public ones; newest first."""
    with connected(context) as site:
        found = site.matches("public" if public else "own", limit)
    Screen().table(found, MATCHES, (), ("when", "hardware"), as_json)


@app.command()
def show(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Show a match: prediction beside measurement, both timelines, head-to-head."""
    with connected(context) as site:
        found: JSON = site.match(match)
    screen = Screen()
    if as_json:
        screen.json(found)
        return
    where = f"{line(found.get('board', ''), 64)} on {line(found.get('hardware', ''), 64)}"
    screen.say(f"match {line(found.get('id', ''), 32)}, {where}: {line(found.get('said', ''))}")
    prediction, measured = mapping(found.get("prediction")), mapping(found.get("measured"))
    if prediction:
        screen.say(f"predicted: {line(prediction.get('bound'), 16)}, {times(number(prediction.get('speedup')))}")
    if measured:
        share = number(measured.get("light_share"))
        light = f", {percent(share)} of the speed of light" if share else ""
        screen.say(f"measured: {line(measured.get('bound') or 'bound unknown', 16)}{light}")
    if (compiled := number(found.get("compiled"))) is not None:
        screen.say(f"torch.compile: {speedup(compiled)}")
    for side in ("human", "machine"):
        screen.say(f"{line(found.get('human') if side == 'human' else found.get('model'), 150)}:")
        screen.table(mappings(found.get(f"{side}_versions")), VERSIONS, ("speedup",), ("interval", "expected"))
    screen.table(mappings(found.get("cases")), CASES, ("human", "machine"))


@app.command()
def publish(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Publish a match for your sides; with the consent of both, everybody reads it."""
    _act(context, match, "publish", as_json)


@app.command()
def withdraw(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Make a match private again."""
    _act(context, match, "withdraw", as_json)


@app.command()
def close(context: typer.Context, match: MatchId, as_json: AsJson = False) -> None:
    """Close a match: it takes no further version."""
    _act(context, match, "close", as_json)


def gate(version: JSON) -> str:
    """Return the last gate that a version passed, or why it has none."""
    if version.get("status") not in ("done", "cancelled"):
        return line(version.get("status", ""), 32)
    passed = [name for name in ("compiled", "correct", "faster") if version.get(name)]
    return passed[-1] if passed else line(version.get("outcome", ""), 32).replace("_", " ")


def _act(context: typer.Context, match: str, act: str, as_json: bool) -> None:
    with connected(context) as site:
        found: JSON = site.act_on_match(match, act)
    state = "closed" if found.get("closed_at") else "public" if found.get("public") else "private"
    Screen().answer(found, f"match {line(match, 32)}: {state}", as_json)


def _finish(site: Client, match: str, side: str, made: JSON, watch: bool, as_json: bool) -> None:
    """Print a sent version, after its verdict if wanted, and end the command."""
    screen = Screen()
    if watch:
        site.follow(str(made.get("submission")))
        versions = mappings(mapping(site.match(match)).get(f"{side}_versions"))
        made = next((one for one in versions if one.get("number") == made.get("number")), made)
    figure = f", {speedup(number(made.get('ratio')))} {interval(number(made.get('half_width')))}".rstrip()
    sentence = f"version {line(made.get('number', ''), 8)}, submission {line(made.get('submission', ''), 32)}: "
    screen.answer(made, sentence + gate(made) + (figure if made.get("ratio") else ""), as_json)
    raise typer.Exit(0 if not watch or made.get("correct") else 1)


def _text(field: str, path: Path) -> str:
    try:
        return read_file(path)
    except SourceError as error:
        raise Misuse(f"{field}: {path}: {error.message}") from None
