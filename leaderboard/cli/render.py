"""Output of the command: tables, progress, verdicts. All text from the site goes through `clean` first.

Progress and errors go to stderr, results to stdout. On a terminal no text is cut off, however narrow it is: text wraps,
and tables leave their least important columns out. Output to a pipe or file is plain: no colours, no boxes, no spinner,
no wrapping, every column, separated by tabs.
"""

import datetime as dt
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Annotated, Final

import typer
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..client import ServerEvent, SiteProblem
from ..client.values import JSON, mapping, mappings, number, sequence
from ..wording import figures, outcomes
from .api import is_pass

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
Columns = Mapping[str, str | Callable[[JSON], object]]  # heading → key of an item, or function of it

MAX_CHARS: Final = 20_000
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # controls, directions and the like
SHOWN_CASES: Final = 5  # failed or explained, in a verdict
MAX_CASES: Final = 300  # in the table of `show`
SHOWN_LOG_LINES: Final = 20
OWN_NAME: Final = "submission.py"
SHORT: Final = 3  # remaining submissions from which a note appears
SHOWN_SHORT: Final = 20


def clean(value: object, limit: int = MAX_CHARS) -> str:
    """Keep printable characters and line breaks: an escape sequence loses its escape, a bidi override its effect."""
    text = str(value)
    spaced = text[:limit].replace("\t", " ").replace(figures.THIN, " ")
    kept = "".join(
        character for character in spaced if character == "\n" or unicodedata.category(character) not in _DROPPED
    )
    return kept + (" […]" if len(text) > limit else "")


def line(value: object, limit: int = 500) -> str:
    """Return the text cleaned, on a single line."""
    return " ".join(clean(value, limit).split("\n"))


def plain(value: object, style: str = "", limit: int = MAX_CHARS) -> Text:
    """Return cleaned text for rich, which would read square brackets in a str as markup."""
    return Text(clean(value, limit), style=style)


def moment(value: object) -> str:
    """Format an ISO moment as date and minute in UTC; return any other text as it came."""
    try:
        parsed = dt.datetime.fromisoformat(str(value))
        known = parsed.astimezone(dt.UTC) if parsed.tzinfo else None
    except (ValueError, OverflowError):
        known = None
    return known.strftime("%Y-%m-%d %H:%M UTC") if known else line(value or figures.NONE, 64)


class Screen:
    """The output streams of a command."""

    def __init__(self) -> None:
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(highlight=False, soft_wrap=True, stderr=True)

    def json(self, value: object) -> None:
        """Print JSON in ASCII only, so that no text in it can move a cursor."""
        self.out.file.write(json.dumps(value, indent=2) + "\n")

    def answer(self, value: object, sentence: str, as_json: bool) -> None:
        """Print a command's answer: the JSON or the sentence."""
        if as_json:
            self.json(value)
        else:
            self.say(sentence)

    def error(self, sentence: str) -> None:
        self.err.print(Text.assemble(("error: ", "bold red"), line(sentence, 3_000)))

    def note(self, sentence: str) -> None:
        """Print to stderr."""
        self.err.print(plain(sentence))

    def note_short(self, quotas: Sequence[JSON]) -> None:
        """Print a line for each board and mode with few or no submissions left."""
        short = [quota for quota in quotas if isinstance(quota.get("left"), int) and quota["left"] < SHORT]
        for quota in [quota for quota in short if quota.get("next_at")][:SHOWN_SHORT]:
            board, hardware = line(quota.get("board", ""), 64), line(quota.get("hardware", ""), 64)
            capacity, mode = line(quota.get("capacity", ""), 16), line(quota.get("mode", ""), 16)
            rest = f"{quota['left']} of {capacity} {mode} submissions to {board} on {hardware} left"
            self.note(f"{rest}, the next at {moment(quota['next_at'])}")

    def say(self, sentence: str) -> None:
        """Print to stdout."""
        self.out.print(plain(sentence))

    def table(
        self,
        items: Sequence[JSON],
        columns: Columns,
        numbers: Sequence[str] = (),
        least: Sequence[str] = (),
        as_json: bool = False,
    ) -> None:
        """Print a row for each item. `least`: columns that a narrow terminal leaves out, the least important first.

        `as_json` prints the items instead.
        """
        if as_json:
            self.json(items)
            return
        rows = [
            {name: line(item.get(of, "") if isinstance(of, str) else of(item)) for name, of in columns.items()}
            for item in items
        ]
        if not self.out.is_terminal:
            for cells in (columns, *(row.values() for row in rows)):
                self.out.file.write("\t".join(cells) + "\n")
            return
        wide = self.out.options.update(width=10_000)
        for dropped in range(len(least) + 1):
            table = Table(box=None, header_style="bold", pad_edge=False)
            kept = [name for name in columns if name not in least[:dropped]]
            for name in kept:
                table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
            for row in rows:
                table.add_row(*(Text(row[name]) for name in kept))
            if Measurement.get(self.out, wide, table).maximum <= self.out.width:
                break
        self.out.print(table, soft_wrap=False)

    def diff(self, lines: Sequence[str]) -> None:
        """Print the lines of a unified diff, coloured on a terminal."""
        styles = {"+": "green", "-": "red", "@": "cyan"}
        for text in lines:
            self.out.print(Text(text, style=styles.get(text[:1], "")))

    @contextmanager
    def progress(self) -> Iterator[Callable[[ServerEvent], None]]:
        """Show a submission's progress: a line per state, on a terminal also a spinner with its place in the queue."""
        spinner, shown = self.err.status(Text("waiting")) if self.err.is_terminal else None, ""

        def show(event: ServerEvent) -> None:
            nonlocal shown
            if event.kind == "queue":
                text = Text(line(event.data.get("text") or "", 200))
                if spinner:
                    spinner.update(text)
                elif shown != "queue":
                    shown = "queue"
                    self.err.print(text)
                return
            state = line(event.data.get("state") or shown, 32)
            if state != shown:
                shown = state
                self.err.print(Text(f"· {state}"))
            if spinner:
                counts = mapping(event.data.get("data"))
                done, total = counts.get("done"), counts.get("total")
                counted = isinstance(done, int) and isinstance(total, int)
                step = f"{done} of {total}" if counted else line(event.data.get("message") or "", 80)
                spinner.update(Text(f"{state} {step}".strip()))

        with spinner or nullcontext():
            yield show


def can_ask() -> bool:
    """Return whether a person at a terminal can answer questions."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def odd_answer(url: str) -> SiteProblem:
    return SiteProblem(f"{url}: took the submission but gave it no id; see it on the site")


def when(key: str, missing: str = "") -> Callable[[JSON], str]:
    """Return a column of moments, with `missing` for no moment."""
    return lambda item: moment(item[key]) if item.get(key) else missing


def names_of(key: str) -> Callable[[JSON], str]:
    """Return a column of lists, such as the hardware of a board."""
    return lambda item: " ".join(map(str, sequence(item.get(key))))


def verdict(screen: Screen, submission: JSON, address: str) -> None:
    """Print the reason of a failure, or speed and rank; then the address of its page."""
    passed, title, out = is_pass(submission), headline(submission), screen.out
    body: list[RenderableType] = [*_passed(submission)] if passed else [*_failed(submission)]
    body += _origins(submission)
    for flag in (line(flag, 64) for flag in sequence(submission.get("flags"))):
        note = f"{flag}: {outcomes.FLAGS[flag]}" if flag in outcomes.FLAGS else flag
        body.append(plain(f"note         {note}", style="yellow"))
    if not out.is_terminal:
        for part in (Text(title), *body):
            out.print(part)
    else:
        is_off = submission.get("withdrawn") or submission.get("review") == "under_review"
        colour = "red" if not passed else "yellow" if is_off else "green"
        fits = cell_len(title) <= out.width - 6
        inside = body if fits else [Text(title, style="bold"), *body]  # a title too long for the edge wraps inside
        panel = Panel(Group(*inside), title=Text(title) if fits else None, title_align="left", border_style=colour)
        out.print(panel, soft_wrap=False)
    if address:
        out.print(plain(address, "dim", 500))  # outside the box, so that it can be copied whole


def headline(submission: JSON) -> str:
    """Return the verdict in a few words, as on the site's page."""
    status, outcome = str(submission.get("status", "")), str(submission.get("outcome") or "")
    if status == "cancelled":
        return outcomes.verdict("cancelled", "").title
    if status != "done":
        return f"Not finished: {line(status, 32)}"
    review, reason = line(submission.get("review") or "", 32), line(submission.get("reason") or "", 64)
    title = outcomes.verdict(line(outcome, 64), reason).title
    if review or submission.get("withdrawn"):
        return f"{title}, {review.replace('_', ' ') or 'withdrawn'}"
    return f"{title} ({reason})" if reason and outcome != "passed" else title


def in_short(submission: JSON) -> str:
    """Return the verdict in a word or two, for a list."""
    review, outcome = str(submission.get("review") or ""), str(submission.get("outcome") or "")
    off_board = "withdrawn" if submission.get("withdrawn") else "not ranked" if submission.get("unranked") else ""
    found = review or off_board or outcome or str(submission.get("status", ""))
    return line(found, 32).replace("_", " ")


def age(value: object, now: dt.datetime) -> str:
    """Format a moment by its distance, such as "3 h ago", for a narrow terminal."""
    try:
        seconds = (now - dt.datetime.fromisoformat(str(value))).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return figures.NONE
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"


def cases(screen: Screen, submission: JSON) -> None:
    """Print every case: its outcome, then time, baseline and speedup where it was timed."""
    found = mappings(submission.get("cases"))[:MAX_CASES]
    if not found:
        return
    columns: Columns = {
        "case": "name",
        "": lambda case: "ok" if case.get("good") else line(case.get("reason") or "failed", 64),
        "time": lambda case: duration_of(case, "measured_us"),
        "baseline": lambda case: duration_of(case, "baseline_us"),
        "speedup": lambda case: figures.speedup(number(case.get("ratio"))) if case.get("ratio") else "",
        "interval": lambda case: figures.interval(number(case.get("half_width"))) if case.get("half_width") else "",
    }
    is_timed = any(case.get("measured_us") for case in found)
    kept = columns if is_timed else {name: columns[name] for name in ("case", "")}
    screen.say("")
    screen.table(found, kept, ("time", "baseline", "speedup", "interval"), ("interval", "baseline"))


def duration_of(case: JSON, key: str) -> str:
    value = number(case.get(key))
    return figures.duration_us(value) if value is not None else ""


def facts(submission: JSON) -> list[str]:
    """Return the sentences of a verdict as plain text."""
    parts = [*_passed(submission)] if is_pass(submission) else [*_failed(submission, logs=False)]
    flags = [line(flag, 64) for flag in sequence(submission.get("flags"))]
    parts += _origins(submission)
    return [str(part) for part in parts] + [f"{flag}: {outcomes.FLAGS.get(flag, '')}" for flag in flags]


def _origins(submission: JSON) -> Iterator[RenderableType]:
    if submission.get("remixed_from"):
        yield plain(f"remix of     submission {line(submission['remixed_from'], 32)}")
    lineage = mapping(submission.get("lineage"))
    if parents := sequence(lineage.get("parents")):
        yield plain(f"parents      {line(', '.join(map(str, parents)), 200)}")
    for name in ("model", "strategy", "run", "idea"):
        if value := lineage.get(name):
            yield plain(f"{name:<12} {line(value, 500)}")


def _passed(submission: JSON) -> Iterator[RenderableType]:
    ratio, width, score_us, forgeable = (
        number(submission.get(name)) for name in ("ratio", "half_width", "score_us", "forgeable")
    )
    if ratio:
        within = f", 95 % interval {figures.interval(width)}" if width is not None else ""
        yield plain(f"speedup      {figures.speedup(ratio)} as fast as the baseline{within}")
        yield from _cautions(mappings(submission.get("cases"))[:MAX_CASES])
    if score_us is not None:
        yield plain(f"time         {figures.duration_us(score_us)}")
    if forgeable and 0 < forgeable <= 1:
        share = figures.rounded_up(forgeable)
        yield plain(f"tolerance    the judge's clock confirms all but at most {share} of the time")
    yield from _profile(mapping(submission.get("profile")))
    if submission.get("unranked"):
        reason = line(submission["unranked"], 64)
        yield Text(f"board        not ranked: {outcomes.UNRANKED.get(reason, reason)}", style="yellow")
    elif submission.get("withdrawn"):
        yield Text("board        withdrawn: this kernel is off its board and does not rank again", style="yellow")
    elif submission.get("review") == "under_review":
        yield Text("board        held: a person looks at it before it ranks", style="yellow")
    elif submission.get("rank"):
        value = mapping(submission.get("value"))
        rank = line(submission["rank"], 16) + (", tied within the noise" if value.get("tied") else "")
        runs, speedup = len(sequence(value.get("submissions"))), figures.speedup(number(value.get("ratio")))
        if runs > 1:
            rank += f", by the mean of {runs} runs of this kernel: {speedup} as fast as the baseline"
        yield plain(f"rank         {rank}")
    elif submission.get("mode") != "ranked":
        yield Text(f"board        not ranked: this was --mode {line(submission.get('mode', ''), 16)}")


def _cautions(cases: Sequence[JSON]) -> Iterator[RenderableType]:
    """Yield the cases with a speedup below the quotient of their two times."""
    names = ("ratio", "measured_us", "baseline_us")
    alone = [(case, figures.times_alone(*(number(case.get(name)) for name in names))) for case in cases]
    found = [(case, ratio) for case, ratio in alone if ratio is not None]
    for case, ratio in found[:SHOWN_CASES]:
        yield plain(f"{'':13}{line(case.get('name', ''), 200)}: {figures.caution(ratio)}")
    if len(found) > SHOWN_CASES:
        yield plain(f"{'':13}and {len(found) - SHOWN_CASES} further cases")


def _profile(profile: JSON) -> Iterator[RenderableType]:
    """Yield what bounds the kernel, and the figures behind that."""
    if profile:
        yield plain(f"profile      {line(profile.get('sentence', ''))}")
    for figure in mappings(profile.get("figures")):
        percent = number(figure.get("percent"))
        value = "unknown" if percent is None else f"{percent:.0f} %"
        yield plain(f"{'':13}{line(figure.get('name', ''), 64)}: {value}, {line(figure.get('about', ''), 200)}")
    for note in sequence(profile.get("notes")):
        yield plain(f"note         {line(note)}", style="yellow")


def operators(screen: Screen, submission: JSON) -> None:
    """Print the operators or kernels of a profile, the longest first."""
    profile = mapping(submission.get("profile"))
    if not profile.get("rows"):
        return
    columns: Columns = {
        "name": lambda row: line(row.get("name", ""), 120),
        "seen": "calls",
        "time": lambda row: duration_of(row, "us"),
        "share": lambda row: figures.percent(number(row.get("share")) or 0.0),
    }
    screen.say(f"\nlongest in case {line(profile.get('case', ''), 200)}; these numbers may be forged, and never rank")
    screen.table(mappings(profile["rows"])[:MAX_CASES], columns, ("seen", "time", "share"))


def _failed(submission: JSON, logs: bool = True) -> Iterator[RenderableType]:
    if submission.get("review") == "rejected":
        yield Text("An organiser rejected this result.")
    own = _with_own_name(submission)
    if submission.get("message"):
        yield plain(own(submission["message"]))
    failed = [case for case in mappings(submission.get("cases")) if case.get("good") is False]
    for case in failed[:SHOWN_CASES]:
        fault = line(case.get("message") or case.get("reason") or "", 1_000)
        if fault and fault not in clean(submission.get("message") or ""):
            yield Text(f"case {line(case.get('name', ''), 120)}: {own(fault)}")
    if len(failed) > SHOWN_CASES:
        yield Text(f"… and {len(failed) - SHOWN_CASES} more cases", style="dim")
    if submission.get("report_problem"):
        yield plain(submission["report_problem"])
    for name, text in mapping(submission.get("logs")).items() if logs else ():
        last = own(clean(text, 200_000)).strip().split("\n")[-SHOWN_LOG_LINES:]
        if any(last):
            yield Text(f"── {line(name, 32)}", style="dim")
            yield Text("\n".join(last))
    advice = outcomes.verdict(
        line(submission.get("outcome") or "", 64), line(submission.get("reason") or "", 64)
    ).advice
    if submission.get("status") == "done" and advice:
        yield Text(f"What to try: {advice}", style="bold")


def _with_own_name(submission: JSON) -> Callable[[object], str]:
    """Return a function that names the sender's file in a text of the judge, which knows it as submission.py."""
    name = line(submission.get("filename") or "", 64)
    return lambda text: str(text).replace(OWN_NAME, name) if name else str(text)


def estimate(found: object) -> str:
    """Format a share with its 95 % interval: "25.0 % (4.6 % to 69.9 %)"."""
    value, low, high = (number(mapping(found).get(name)) for name in ("value", "low", "high"))
    return figures.NONE if value is None or low is None or high is None else figures.share_with(value, low, high)
