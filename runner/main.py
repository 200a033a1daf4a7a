"""The `runner` command: the daemon, and the judge without a site."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner import config, once
from runner.errors import RunnerError
from runner.wire import MODES, Event, Report

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def about() -> None:
    """Judge kernels on this machine: for a site (`work`), or once, for yourself (`once`)."""


@app.command()
def work() -> None:
    """Judge for a site until stopped. Settings: PHOTOFINISH_URL, RUNNER_TOKEN, BROKER_URL … in the environment."""
    from runner import worker  # the daemon's packages: judging once needs none of them

    raise typer.Exit(worker.main())


@app.command("once")
def judge_once(
    problem: Annotated[str, typer.Argument(help="A problem's folder, or the name of one in the library.")],
    file: Annotated[Path, typer.Argument(help="The submission: a Python file that defines custom_kernel(data).")],
    mode: Annotated[str, typer.Option(help=f"One of {', '.join(MODES)}.")] = "ranked",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON, and nothing else.")] = False,
) -> None:
    """Judge FILE against PROBLEM here, in the same containers as the site would. Exit code 0 only for a pass."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    screen = Console(stderr=True)
    if mode not in MODES:
        _refuse(screen, f"--mode {mode!r} is not one of {', '.join(MODES)}")
    try:
        found = once.find_problem(problem)
        with screen.status("starting containers") as status:
            report = once.judge_once(found, file, mode, config.load_judge(), lambda event: status.update(_line(event)))
    except (once.UsageError, RunnerError) as err:
        _refuse(screen, str(err))
    if as_json:
        typer.echo(json.dumps(report.to_json(), allow_nan=False))
    else:
        _show(Console(), report)
    raise typer.Exit(0 if report.outcome == "passed" else 1)


def _refuse(screen: Console, sentence: str) -> None:
    screen.print(Text(sentence, style="red"))
    raise typer.Exit(2)


def _line(event: Event) -> Text:
    data = event.data
    if "total" in data:
        return Text(f"{event.state}: case {data['done']} of {data['total']}")
    if "quads" in data:
        return Text(f"{event.state}: {event.message}, {data['quads']} of at most {data['quads_at_most']} quads")
    return Text(event.state)


def _show(screen: Console, report: Report) -> None:
    """For a person at a terminal. Text of the submission is shown as it is, never as markup."""
    colour = "green" if report.outcome == "passed" else "red"
    title = report.outcome + (f" ({report.reason})" if report.reason else "")
    screen.print(Text(title, style=f"bold {colour}"))
    if report.message:
        screen.print(Text(report.message))
    timed = [case for case in report.cases if case["stage"] == "time"]
    if timed:
        screen.print(_times(timed))
        width = 100 * (report.half_width or 0)
        screen.print(
            Text(f"{report.score_us:.4g} µs, {1 / (report.ratio or 1):.3g}× the baseline's speed, ± {width:.2g} %")
        )
    for flag in report.flags:
        screen.print(Text(EXPLAINED.get(flag, flag), style="yellow"))
    for name, text in report.logs.items():
        if text.strip():
            screen.print(Text(f"── {name}"), Text(text), sep="\n")
    if report.outcome == "infra_error" and report.evidence.get("operator"):
        screen.print(Text(report.evidence["operator"], style="dim"))


EXPLAINED = {
    "not_certified": "Not certified: without root this process cannot freeze containers, so cheating is not excluded.",
    "not_converged": "The interval is wider than asked for: the machine is noisy.",
}


def _times(cases: list[dict[str, float]]) -> Table:
    table = Table(box=None, header_style="dim")
    for heading in ("case", "time, µs", "baseline, µs", "speed", "±, %"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for case in cases:
        table.add_row(
            Text(str(case["name"])),
            f"{case['measured_us']:.4g}",
            f"{case['baseline_us']:.4g}",
            f"{1 / case['ratio']:.3f}×",
            f"{100 * case['half_width']:.2f}",
        )
    return table


def run() -> None:
    """Entry point."""
    app()
