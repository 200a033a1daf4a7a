"""`import_problems PATH`: create or update competitions, boards and problems from a set's YAML file or a folder."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from leaderboard.admissions.ask import ask_for_imported
from leaderboard.competitions.importing import CREATED, REFUSED, Import, Report, SetReport, import_sets
from leaderboard.competitions.models import CLOSED
from problems.fields import ProblemError
from problems.formats.folders import SetFile, adapted, read_sets
from problems.spec import MAX_GPUS, as_words

GATE: Final = "gate"
OPEN: Final = "open"
NONE: Final = "none"


class Command(BaseCommand):
    help = "Create or update competitions, boards and problem versions from problem sets, and say what became of each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=a_path, help="a set's YAML file, or a folder with several")
        parser.add_argument("--set", default="", metavar="NAME", help="of a folder: only the set of this name or file")
        parser.add_argument("--hardware", default="", metavar="A,B", help="boards on these, not on what the sets name")
        parser.add_argument("--no-deadlines", action="store_true", help="open boards, though the original is over")
        add_options(parser)

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            hardware = as_words(parts_of(options["hardware"]), "hardware", MAX_GPUS)
            files = [
                adapted(file, hardware=hardware, without_deadlines=options["no_deadlines"])
                for file in read_sets(path, options["set"])
            ]
        except (OSError, ProblemError) as error:
            raise CommandError(f"{path}: {error}") from None
        bring_in(self, files, path, options)


def a_path(text: str) -> Path:
    """Refuse an empty path: it would mean the current folder, for example after an unset variable."""
    if not text.strip():
        raise argparse.ArgumentTypeError("PATH is empty; name a file or folder, or `.` for this one")
    return Path(text)


def parts_of(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def add_options(parser: CommandParser) -> None:
    """Add the options that both imports share."""
    parser.add_argument(
        "--admission",
        choices=(GATE, OPEN, NONE),
        default=GATE,
        help="the test that a runner makes of what is new: its boards take submissions once it passed (gate, the "
        "default), unless it fails (open), or no test is asked for (none)",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="new competitions are public at once; without it only their organisers see them until they publish",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
    parser.add_argument("--json", action="store_true", help="the report as JSON")


def bring_in(command: BaseCommand, files: list[SetFile], path: Path, options: dict[str, Any]) -> None:
    """Import the sets by the shared options and print the report. Raises CommandError if a set was refused."""
    name = command.__module__.rpartition(".")[2]
    act = Import(actor=None, source=f"manage {name} {path}", now=timezone.now(), publish=options["publish"])
    with transaction.atomic():
        report = import_sets(files, act, dry_run=options["dry_run"])
        if options["admission"] != NONE and not options["dry_run"]:
            ask_for_imported(actor=None, now=act.now, gate=options["admission"] == GATE)
    command.stdout.write(json.dumps(report.to_json(), indent=1) if options["json"] else "\n".join(lines_of(report)))
    if refused := report.counts.get(REFUSED):
        raise CommandError(f"{path}: {refused} refused, the others not; see above")


def lines_of(report: Report) -> Iterator[str]:
    for one in report.sets:
        yield from _set_lines(one)
    counts = ", ".join(f"{count} {status}" for status, count in report.counts.items()) or "nothing to do"
    yield counts + (" (dry run: nothing was written)" if report.dry_run else "")
    if report.has_changes and not report.dry_run:
        yield "Boards whose admission test fails stay closed: `list_closed_boards` names them once runners have tested."


def _set_lines(one: SetReport) -> Iterator[str]:
    about = ": ".join(part for part in (one.status, one.field, one.reason) if part)
    yield f"{one.file}: {one.name + ': ' if one.name else ''}{about}"
    width = max((len(line.problem) for line in one.problems), default=0)
    for line in one.problems:
        change = f" ({line.change})" if line.change != line.status else ""
        about = ", ".join(line.hardware) + change + (f": {line.reason}" if line.reason else "")
        about = f"{line.field}: {line.reason}" if line.status == REFUSED else about
        yield f"  {line.problem:{width}}  {line.status:11}  {about}".rstrip()
        yield from (f"  {'':{width}}  warning: {warning}" for warning in line.warnings)
    yield from (f"  warning: {warning}" for warning in one.warnings)
    if one.status == CREATED and one.visibility == CLOSED:
        yield f"  only its organisers see it; publish it at /organise/{one.competition}, or import it with --publish"
