"""What the command prints: tables, progress, verdicts. Everything from the site goes through text.py first.

Progress and errors go to stderr, what was asked for to stdout. Where the output is no terminal it is plain: no
colours, no boxes, no spinner, columns apart by tabs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.status import Status
from rich.table import Table
from rich.text import Text

from leaderboard.cli.api import JSON, ServerEvent
from leaderboard.cli.text import clean, line, plain

SHOWN_CASES: Final = 5
SHOWN_LOG_LINES: Final = 20

OUTCOMES: Final = {
    "passed": "Passed",
    "wrong": "Wrong result",
    "build_error": "Does not build or import",
    "runtime_error": "Failed while running",
    "timeout": "Took too long",
    "out_of_memory": "Out of memory",
    "policy": "Against the rules",
    "unmeasurable": "Could not be measured",
    "infra_error": "Our fault: the judging machine failed; nothing is held against the submission",
}


class Screen:
    """The two streams of a command."""

    def __init__(self, out: Console | None = None, err: Console | None = None) -> None:
        self.out = out or Console(highlight=False, soft_wrap=True)
        self.err = err or Console(highlight=False, soft_wrap=True, stderr=True)

    def json(self, value: object) -> None:
        """ASCII only, so that no text in it can move a cursor."""
        self.out.file.write(json.dumps(value, indent=2) + "\n")

    def error(self, sentence: str) -> None:
        self.err.print(Text.assemble(("error: ", "bold red"), line(sentence, 3_000)))

    def note(self, sentence: str) -> None:
        self.err.print(plain(sentence))

    def say(self, sentence: str) -> None:
        self.out.print(plain(sentence))

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[str] = ()) -> None:
        if not self.out.is_terminal:
            for row in (headings, *rows):
                self.out.file.write("\t".join(line(cell) for cell in row) + "\n")
            return
        table = Table(box=None, header_style="bold", pad_edge=False)
        for heading in headings:
            table.add_column(heading, justify="right" if heading in numbers else "left")
        for row in rows:
            table.add_row(*(Text(line(cell)) for cell in row))
        self.out.print(table)

    @contextmanager
    def progress(self, quiet: bool) -> Iterator[Progress]:
        """Shows how far a submission is: a spinner on a terminal, one line a state elsewhere."""
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


def verdict(screen: Screen, submission: JSON) -> None:
    """Why it failed, or how fast it is and where it stands."""
    passed = is_pass(submission)
    body: list[RenderableType] = [*_passed(submission)] if passed else [*_failed(submission)]
    if submission.get("url"):
        body.append(plain(submission["url"], "dim", 500))
    title = headline(submission)
    if screen.out.is_terminal:
        screen.out.print(Panel(Group(*body), title=Text(title), title_align="left", border_style=_colour(submission)))
        return
    screen.out.print(Text(title))
    for part in body:
        screen.out.print(part)


def headline(submission: JSON) -> str:
    status, outcome = str(submission.get("status", "")), str(submission.get("outcome") or "")
    if status == "cancelled":
        return "Cancelled"
    if status != "done":
        return f"Not finished: {line(status, 32)}"
    if submission.get("review") == "rejected":
        return "Rejected in review"
    reason = line(submission.get("reason") or "", 64)
    said = OUTCOMES.get(outcome, line(outcome, 64))
    return f"{said} ({reason})" if reason and outcome != "passed" else said


def is_pass(submission: JSON) -> bool:
    """A pass of the judge that no person or rule has rejected; under review is a pass."""
    done = submission.get("status") == "done" and submission.get("outcome") == "passed"
    return done and submission.get("review") != "rejected"


def _passed(submission: JSON) -> Iterator[RenderableType]:
    if submission.get("score_us") is not None:
        yield Text(f"time   {microseconds(submission['score_us'])}")
    if submission.get("ratio"):
        yield Text(f"speed  {speed(submission['ratio'])} the baseline's{_within(submission)}")
    if submission.get("review") == "under_review":
        yield Text("board  held: so good that a person looks at it before it ranks", style="yellow")
    elif submission.get("rank"):
        yield Text(f"rank   {line(submission['rank'], 16)}")
    elif submission.get("mode") != "ranked":
        yield Text(f"board  not ranked: this was --mode {line(submission.get('mode', ''), 16)}")
    for flag in _list(submission.get("flags")):
        yield Text(f"note   {line(flag, 64)}", style="yellow")


def _failed(submission: JSON) -> Iterator[RenderableType]:
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


def _within(submission: JSON) -> str:
    width = _number(submission.get("half_width"))
    return f" ± {100 * width:.2g} %" if width is not None else ""


def _number(value: object) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if fits else None  # type: ignore[arg-type]


def microseconds(value: object) -> str:
    number = _number(value)
    return "–" if number is None else f"{number:,.4g} µs" if number < 10_000 else f"{number:,.0f} µs"


def speed(ratio: object) -> str:
    number = _number(ratio)
    return f"{1 / number:.3g}×" if number else "–"
