"""Output of the command: tables, progress, verdicts. All text from the site goes through text.py first.

Progress and errors go to stderr, results to stdout. On a terminal no text is cut off, however narrow it is: text wraps,
and tables leave their least important columns out. Output to a pipe or file is plain: no colours, no boxes, no spinner,
no wrapping, every column, separated by tabs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.panel import Panel
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ..wording import figures, outcomes
from .api import JSON, ServerEvent
from .text import clean, line, moment, number, plain

SHOWN_CASES: Final = 5
SHOWN_LOG_LINES: Final = 20
SHORT: Final = 3  # remaining submissions from which a note appears
SHOWN_SHORT: Final = 20


class Screen:
    """The output streams of a command."""

    def __init__(self, out: Console | None = None, err: Console | None = None) -> None:
        self.out = out or Console(highlight=False, soft_wrap=True)
        self.err = err or Console(highlight=False, soft_wrap=True, stderr=True)

    def json(self, value: object) -> None:
        """Print JSON in ASCII only, so that no text in it can move a cursor."""
        self.out.file.write(json.dumps(value, indent=2) + "\n")

    def error(self, sentence: str) -> None:
        self.err.print(Text.assemble(("error: ", "bold red"), line(sentence, 3_000)))

    def note(self, sentence: str) -> None:
        self.err.print(plain(sentence))

    def say(self, sentence: str) -> None:
        self.out.print(plain(sentence))

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[object]],
        numbers: Sequence[str] = (),
        least: Sequence[str] = (),
    ) -> None:
        """Print a table. `least`: columns that a narrow terminal leaves out, the least important first."""
        if not self.out.is_terminal:
            for row in (headings, *rows):
                self.out.file.write("\t".join(line(cell) for cell in row) + "\n")
            return
        wide = self.out.options.update(width=10_000)
        for dropped in range(len(least) + 1):
            table = _table(headings, rows, numbers, least[:dropped])
            if Measurement.get(self.out, wide, table).maximum <= self.out.width:
                break
        self.out.print(table, soft_wrap=False)

    @contextmanager
    def progress(self, quiet: bool) -> Iterator[Progress]:
        """Show a submission's progress: a spinner on a terminal, elsewhere a line per state."""
        spinner = self.err.status(Text("waiting")) if self.err.is_terminal and not quiet else None
        try:
            if spinner:
                spinner.start()
            yield Progress(self.err, spinner, quiet)
        finally:
            if spinner:
                spinner.stop()


class Progress:
    def __init__(self, err: Console, spinner: Status | None, quiet: bool) -> None:
        self._err = err
        self._spinner = spinner
        self._quiet = quiet
        self._state = ""

    def __call__(self, event: ServerEvent) -> None:
        state = line(event.data.get("state") or self._state, 32)
        if self._quiet:
            return
        if state != self._state:
            self._state = state
            self._err.print(Text(f"· {state}"))
        if self._spinner:
            self._spinner.update(Text(f"{state} {_how_far(event.data)}".strip()))


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[str], without: Sequence[str]
) -> Table:
    kept = [index for index, heading in enumerate(headings) if heading not in without]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index in kept:
        table.add_column(headings[index], justify="right" if headings[index] in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(line(row[index])) for index in kept))
    return table


def verdict(screen: Screen, submission: JSON, address: str) -> None:
    """Print the reason of a failure, or speed and rank; then the address of its page."""
    passed = is_pass(submission)
    body: list[RenderableType] = [*_passed(submission)] if passed else [*_failed(submission)]
    body += [plain(f"note         {_flag(line(flag, 64))}", style="yellow") for flag in _list(submission.get("flags"))]
    title = headline(submission)
    if screen.out.is_terminal:
        _panel(screen.out, title, body, _colour(submission))
    else:
        for part in (Text(title), *body):
            screen.out.print(part)
    if address:
        screen.out.print(plain(address, "dim", 500))  # outside the box, so that it can be copied whole


def _panel(out: Console, title: str, body: list[RenderableType], colour: str) -> None:
    """Print a box; a title that is too long for its edge goes inside, where it wraps."""
    fits = cell_len(title) <= out.width - 6
    inside = body if fits else [Text(title, style="bold"), *body]
    panel = Panel(Group(*inside), title=Text(title) if fits else None, title_align="left", border_style=colour)
    out.print(panel, soft_wrap=False)


def short_quotas(quota: list[JSON]) -> Iterator[str]:
    """Yield a line for each board and mode with few or no submissions left."""
    for one in quota:
        left = one.get("left")
        if not isinstance(left, int) or left >= SHORT or not one.get("next_at"):
            continue
        where = f"{line(one.get('board', ''), 64)} on {line(one.get('hardware', ''), 64)}"
        what = f"{line(one.get('mode', ''), 16)} submissions to {where}"
        yield f"{left} of {line(one.get('capacity', ''), 16)} {what} left, the next at {moment(one['next_at'])}"


def headline(submission: JSON) -> str:
    """Return the verdict in a few words, as on the site's page."""
    status, outcome = str(submission.get("status", "")), str(submission.get("outcome") or "")
    if status == "cancelled":
        return outcomes.verdict("cancelled", "").title
    if status != "done":
        return f"Not finished: {line(status, 32)}"
    review, reason = line(submission.get("review") or "", 32), line(submission.get("reason") or "", 64)
    said = outcomes.verdict(line(outcome, 64), reason).title
    if review:
        return f"{said}, {review.replace('_', ' ')}"
    return f"{said} ({reason})" if reason and outcome != "passed" else said


def is_pass(submission: JSON) -> bool:
    """Return whether the judge passed it and neither person nor rule rejected it; under review counts as a pass."""
    done = submission.get("status") == "done" and submission.get("outcome") == "passed"
    return done and submission.get("review") != "rejected"


def _passed(submission: JSON) -> Iterator[RenderableType]:
    ratio, width, score_us, forgeable = (
        number(submission.get(name)) for name in ("ratio", "half_width", "score_us", "forgeable")
    )
    if ratio:
        within = f", 95 % interval {figures.interval(width)}" if width is not None else ""
        yield plain(f"speedup      {figures.speedup(ratio)} as fast as the baseline{within}")
    if score_us is not None:
        yield plain(f"time         {figures.duration_us(score_us)}")
    if forgeable and 0 < forgeable <= 1:
        share = figures.rounded_up(forgeable)
        yield plain(f"tolerance    the judge's clock confirms all but at most {share} of the time")
    if submission.get("unranked"):
        reason = line(submission["unranked"], 64)
        yield Text(f"board        not ranked: {outcomes.UNRANKED.get(reason, reason)}", style="yellow")
    elif submission.get("review") == "under_review":
        yield Text("board        held: a person looks at it before it ranks", style="yellow")
    elif submission.get("rank"):
        yield Text(f"rank         {line(submission['rank'], 16)}{_together(submission)}")
    elif submission.get("mode") != "ranked":
        yield Text(f"board        not ranked: this was --mode {line(submission.get('mode', ''), 16)}")


def _failed(submission: JSON) -> Iterator[RenderableType]:
    if submission.get("review") == "rejected":
        yield Text("An organiser rejected this result.")
    if submission.get("message"):
        yield plain(submission["message"])
    shown = [case for case in _list(submission.get("cases")) if isinstance(case, dict) and case.get("good") is False]
    for case in shown[:SHOWN_CASES]:
        said = line(case.get("message") or case.get("reason") or "", 1_000)
        if said and said not in clean(submission.get("message") or ""):
            yield Text(f"case {line(case.get('name', ''), 120)}: {said}")
    if len(shown) > SHOWN_CASES:
        yield Text(f"… and {len(shown) - SHOWN_CASES} more cases", style="dim")
    logs = submission.get("logs")
    for name, text in logs.items() if isinstance(logs, dict) else ():
        last = clean(text, 200_000).strip().split("\n")[-SHOWN_LOG_LINES:]
        if any(last):
            yield Text(f"── {line(name, 32)}", style="dim")
            yield Text("\n".join(last))


def _flag(name: str) -> str:
    return f"{name}: {outcomes.FLAGS[name]}" if name in outcomes.FLAGS else name


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _colour(submission: JSON) -> str:
    if not is_pass(submission):
        return "red"
    return "yellow" if submission.get("review") == "under_review" else "green"


def _how_far(data: JSON) -> str:
    details = data.get("data")
    details = details if isinstance(details, dict) else {}
    if isinstance(details.get("done"), int) and isinstance(details.get("total"), int):
        return f"{details['done']} of {details['total']}"
    return line(data.get("message") or "", 80)


def _together(submission: JSON) -> str:
    """Describe the ranked value: whether it is tied, and the number of its runs."""
    value = submission.get("value")
    if not isinstance(value, dict):
        return ""
    shared = ", tied within the noise" if value.get("tied") else ""
    runs = len(_list(value.get("submissions")))
    if runs < 2:
        return shared
    speedup = figures.speedup(number(value.get("ratio")))
    return f"{shared}, by the mean of {runs} runs of this kernel: {speedup} as fast as the baseline"
