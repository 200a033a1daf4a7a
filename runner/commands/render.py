"""Terminal output of the `runner` command. Foreign text is shown as it is, never as markup."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leaderboard.wording.figures import caution, times_alone
from leaderboard.wording.outcomes import FLAGS
from runner.admission.examine import ACCEPTS_HALF, NEAR_CONSTANT
from runner.commands.replay import Replayed
from runner.evidence import profiled
from runner.evidence.ceilings import Ceilings
from runner.host import accelerators, doctor
from runner.host.fleet import Seat
from runner.wire import Event, Expectation, Report
from sandbox.protocol import clean_text

if TYPE_CHECKING:
    from runner.commands.manufacture import Made  # with packages that other commands do without

WIDE = (0, 2, 0, 0)  # padding
COLOURS = {
    doctor.OK: "green",
    doctor.WARNING: "yellow",
    doctor.NOT_CERTIFIED: "yellow",
    doctor.UNFIT: "bold red",
}


def _table(*headings: str, left: str = "case", **options: Any) -> Table:
    """Return an empty table without lines. The column `left` is aligned to the left, and figures to the right; with
    left="" all columns are text."""
    table = Table(box=None, header_style="dim", **options)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == left or not left else "right")
    return table


def seen(text: str, style: str = "") -> Text:
    """Return foreign text without any character that steers the terminal."""
    return Text(clean_text(text.encode("utf-8", "replace")), style=style)


def checks(screen: Console, found: Sequence[doctor.Check], *, fit: bool) -> None:
    """Print the table; then the remedies, in the order of the table."""
    table = _table("result", "check", "found", left="", padding=WIDE)
    for check in found:
        table.add_row(Text(check.result, style=COLOURS[check.result]), Text(check.name), seen(check.found))
    screen.print(table)
    for check in found:
        if check.result != doctor.OK:
            screen.print()
            screen.print(seen(f"{check.name}: {check.found}", style=COLOURS[check.result]))
            screen.print(Text(check.why))
            screen.print(Text(f"→ {check.remedy}"))
    screen.print()
    results = {check.result for check in found}
    uncertified, sentence, colour = doctor.NOT_CERTIFIED in results, "Fit to judge.", "green"
    if not fit and uncertified and doctor.UNFIT not in results:
        sentence, colour = "Fit to try things at home (--home), not to judge for a site: not certified.", "yellow"
    elif not fit:
        sentence, colour = "Not fit to judge.", "red"
    elif uncertified:
        sentence = "Fit to judge at home; verdicts will say: not certified."
    screen.print(Text(sentence, style=f"bold {colour}"))


def fleet_plan(screen: Console, seats: Sequence[Seat]) -> None:
    """Print a line for each runner; then what a job may lack."""
    table = _table("device", "name", "NUMA node", "judge", "tenants", "all cores", "memory", left="", padding=WIDE)
    for seat in seats:
        cores = accelerators.share_out(seat.cores)
        table.add_row(
            str(seat.number),
            seen(seat.name),
            "–" if seat.node is None else str(seat.node),
            *map(accelerators.spans, (cores.judge, cores.tenant, cores.oracle)),
            f"{seat.memory_bytes / 2**30:.0f} GiB",
        )
    screen.print(table)
    if small := [str(seat.number) for seat in seats if seat.memory_bytes < seat.wants_bytes]:
        sentence = f"Memory of {', '.join(small)}: less than {seats[0].wants_bytes >> 30} GiB, which hold a job whose "
        screen.print(Text(f"{sentence}containers all reach their limits.", style="yellow"), soft_wrap=True)


def manufactured(screen: Console, made: Made, *, is_new: bool, as_json: bool) -> None:
    """Print the end of a module's way."""
    if as_json:
        told = {"file": made.file, "outcome": made.outcome, "reason": made.reason, "message": made.message}
        screen.file.write(json.dumps({**told, "kept": made.row is not None, "new": is_new}) + "\n")
        return
    ratio = (made.row or {}).get("ratio")
    figure = f", {1 / ratio:.2f} times as fast" if ratio else ""
    why = "" if made.outcome == "passed" else f" {made.reason} {made.message.strip().partition(chr(10))[0]}".rstrip()
    text = f"{made.file}: {made.outcome}{figure}{why}" + ("" if is_new else " (from the journal)")
    screen.print(seen(text), soft_wrap=True)


def progress(event: Event) -> Text:
    data = event.data
    if "total" in data:
        return Text(f"{event.state}: case {data['done']} of {data['total']}")
    if "quads" in data:
        return seen(f"{event.state}: {event.message}, {data['quads']} of at most {data['quads_at_most']} quads")
    return Text(event.state)


def report(screen: Console, report: Report) -> None:
    """Print a report. Text of the submission is shown as it is, never as markup."""
    colour = "green" if report.outcome == "passed" else "red"
    title = report.outcome + (f" ({report.reason})" if report.reason else "")
    screen.print(seen(title, style=f"bold {colour}"))
    if report.message:
        screen.print(seen(report.message))
    if checks := [case for case in report.cases if case["stage"] == "check"]:
        right, public = sum(case["good"] for case in checks), sum(case["public"] for case in checks)
        parts = f"({public} public, {len(checks) - public} secret)"
        screen.print(Text(f"{right} of {len(checks)} checked cases are right {parts}", style="dim"))
    timed = [case for case in report.cases if case["stage"] == "time"]
    if timed:
        screen.print(_times(timed, bounds(report)))
        width, speedup = 100 * (report.half_width or 0), 1 / (report.ratio or 1)
        said = f"{speedup:.4g}× as fast as the baseline, ± {width:.2g} %; {report.score_us:.4g} µs"
        screen.print(Text(said, style="bold"))
        for case in timed:
            if words := caution(times_alone(case["ratio"], case["measured_us"], case["baseline_us"])):
                screen.print(seen(f"{case['name']}: {words}"))
    if (profile := profiled.read(report.profile)) is not None:
        screen.print(seen(profile.sentence, style="bold"))
        for figure in profile.figures:
            screen.print(seen(f"{figure.name}: {'unknown' if figure.percent is None else f'{figure.percent:.0f} %'}"))
        table = _table("name", "calls", "µs", "share", left="name")
        for row in profile.rows:
            table.add_row(seen(row.name), str(row.calls), f"{row.us:.4g}", f"{row.share:.1%}")
        screen.print(table)
        for note in profile.notes:
            screen.print(seen(note, style="yellow"))
    for sentence in _remarks(report):
        screen.print(seen(sentence, style="yellow"))
    for name, text in report.logs.items():
        if text.strip():
            screen.print(seen(f"── {name}\n{text}"))
    if timed:
        screen.print(Text("Judged on this machine: on a site, its hardware and seeds of its own count.", style="dim"))


EXPLAINED = {
    **FLAGS,
    "not_certified": "Not certified: containers could not be frozen (this needs root), or a step of the judge was left "
    "out, so cheating is not excluded.",
}
TELEMETRY = {
    "mask_only": "Only part of the device's state could be seen while it was timed, as in a virtual machine.",
    "none": "Nothing of the device's state could be seen while it was timed: a site does not rank such a run.",
}


def _remarks(report: Report) -> Iterator[str]:
    """Yield remarks on how far the figures can be trusted, and on a site's reaction to them."""
    for flag in report.flags:
        yield EXPLAINED.get(flag, flag)
    if report.set_aside:
        yield f"The device is not fit to judge any more: {report.set_aside}. Look at it before you use it again."
    if report.score_us is None:
        return
    if report.telemetry in TELEMETRY:
        yield TELEMETRY[report.telemetry]
    if report.forgeable:
        missing = f"{100 * report.forgeable:.2g} %"
        yield f"The judge's clock confirms all but {missing} of the time; smaller differences are ties."
    for finding in report.evidence.get("findings", ()):
        yield f"A site would hold this for review ({finding['rule']}): {finding['sentence']}"


def ceilings(screen: Console, found: Ceilings, path: Path) -> None:
    """Print the measured and the hard ceilings, and where they are stored."""
    table = _table("ceiling", "measured", "hard", left="ceiling", padding=WIDE)
    hard = found.hard
    for name, rate, limit in (
        ("copy, memory", found.copy_bytes_per_s, hard.memory_bytes_per_s),
        ("read, memory", found.read_bytes_per_s, hard.memory_bytes_per_s),
        ("copy, cache", found.cache_bytes_per_s, hard.cache_bytes_per_s),
    ):
        table.add_row(name, per_s(rate, "B/s"), per_s(limit, "B/s"))
    for engine in sorted(found.flops.keys() | found.flops_zeros.keys() | hard.flops.keys()):
        for data, rates in (("random data", found.flops), ("zeros", found.flops_zeros)):
            rate, limit = rates.get(engine), hard.flops.get(engine)
            table.add_row(f"{engine}, {data}", per_s(rate, "op/s"), per_s(limit, "op/s"))
    table.add_row("launch floor", "-" if found.launch_ns is None else f"{found.launch_ns / 1e3:.3g} µs", "-")
    screen.print(Text(f"{found.device}, epoch {found.epoch}, {found.when}"))
    screen.print(table)
    screen.print(Text(f"Hard: {found.source}. Stored in {path}", style="dim"))


def per_s(rate: float | None, unit: str) -> str:
    """Return three digits and the largest prefix that leaves a digit before the point."""
    if rate is None:
        return "-"
    prefix, size = next((pair for pair in (("P", 1e15), ("T", 1e12), ("G", 1e9)) if rate >= pair[1]), ("M", 1e6))
    return f"{rate / size:.3g} {prefix}{unit}"


def bounds(report: Report) -> dict[str, float]:
    """Return the hard bound in ns by case, if the problem declares its work and this hardware's rates are known."""
    cases = report.evidence.get("limits", {}).get("cases", ())
    return {case["case"]: case["hard"]["ns"] for case in cases if case["hard"]}


def _times(cases: list[dict[str, Any]], bounds: dict[str, float]) -> Table:
    light_too = ("of light, %",) if bounds else ()
    table = _table("case", "time, µs", "baseline, µs", "speed", "±, %", *light_too, padding=WIDE)
    for case in cases:
        bound = bounds.get(case["name"])
        light = [] if not bounds else ["–" if bound is None else f"{bound / case['measured_us'] / 10:.3g}"]
        table.add_row(
            seen(str(case["name"])),
            f"{case['measured_us']:.4g}",
            f"{case['baseline_us']:.4g}",
            f"{1 / case['ratio']:.3f}×",
            f"{100 * case['half_width']:.2f}",
            *light,
        )
    return table


def confirmation(screen: Console, made: Report) -> None:
    """Print each run's gain, and the decisive sentence. Without a decision, print the report that ended the
    confirmation."""
    told = made.confirmation
    if not told or told["reason"].endswith("_failed"):
        report(screen, made)
    if not told:
        return
    for number, gain in enumerate(told["gains"], 1):
        screen.print(Text(f"run {number}: {abs(100 * gain):.2f} % {'faster' if gain >= 0 else 'slower'}"))
    screen.print(seen(told["sentence"], style="bold green" if told["accepted"] else "bold yellow"))
    if told["held"]:
        screen.print(Text("Held: a person must look at the incumbent before anything changes.", style="yellow"))


def verified(screen: Console, line: Expectation) -> None:
    """Print the line of a sample as soon as it is known."""
    mark, colour = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "dim")}[line.good]
    screen.print(Text.assemble((mark, colour), " ", seen(line.name), ": ", seen(line.got, style=colour)))
    if line.explained:
        screen.print(seen(f"    {line.explained}"))


def verification(screen: Console, lines: Sequence[Expectation], marks: Sequence[str] = ()) -> None:
    if NEAR_CONSTANT in marks:
        said = "Marked near_constant: on every timed case a constant, or the last output, is within 1 % of the answer."
        screen.print(Text(said, style="yellow"))
    if ACCEPTS_HALF in marks:
        said = "Marked accepts_half: the problem's own tolerance accepts half precision; precision.strict refuses that."
        screen.print(Text(said, style="yellow"))
    counted = [line for line in lines if line.good is not None]
    told = [line for line in counted if line.judged]
    wrong = [line.name for line in told if not line.good]
    unjudged = [line.name for line in counted if not line.judged]
    if unjudged:
        said = f"{len(unjudged)} of {len(counted)} could not be judged here: {', '.join(unjudged)}"
        screen.print(seen(f"{said}; `runner doctor` may say why.", style="bold red"))
    if wrong:
        screen.print(seen(f"{len(wrong)} of {len(told)} got another verdict: {', '.join(wrong)}", style="bold red"))
    elif told:
        others = "The other" if unjudged else "All"
        screen.print(Text(f"{others} {len(told)} got the verdict they must get.", style="bold green"))
    elif not unjudged:
        screen.print(Text("Nothing was judged: no sample is for this hardware (RUNNER_HARDWARE).", style="bold red"))
    if counted and len(counted) < len(lines):
        screen.print(Text(f"{len(lines) - len(counted)} more count for nothing here (–).", style="dim"))


def replayed(screen: Console, found: Replayed) -> None:
    """Print the result from the evidence; then the differences from the report."""
    for number, decided in enumerate(found.runs, 1):
        title = decided.outcome + (f" ({decided.reason})" if decided.reason else "")
        screen.print(seen(title if len(found.runs) == 1 else f"run {number}: {title}", style="bold"))
        if decided.message:
            screen.print(seen(decided.message))
        if decided.times:
            table = _table("case", "measured, µs", "speedup", "±, %", "forgeable, %")
            for time in decided.times:
                half_width, forgeable = f"{100 * time.half_width:.2f}", f"{100 * time.forgeable:.2g}"
                measured, speedup = f"{time.candidate_ns / 1e3:.4g}", f"{1 / time.ratio:.3f}×"
                table.add_row(seen(time.case), measured, speedup, half_width, forgeable)
            screen.print(table)
    if found.record is not None:
        screen.print(seen(found.record.sentence, style="bold"))
    if found.summed_up:
        said = f"Of {found.summed_up} runs not all samples were kept, for want of room; they are not decided again."
        screen.print(Text(said))
    if found.differences:
        table = _table("differs", "the report says", "from the evidence follows", left="")
        for difference in found.differences:
            table.add_row(*(seen(str(cell)) for cell in (difference.what, difference.said, difference.found)))
        screen.print(table)
        screen.print(Text("The report does not follow from its own evidence.", style="bold red"))
    elif found.compared:
        screen.print(Text(f"The report says the same; {found.blocks} blocks were ruled on again.", style="bold green"))
    else:
        screen.print(Text(f"Evidence only, no report to compare with; {found.blocks} blocks were ruled on again."))
