"""`import_kernelbench PATH`: a KernelBench checkout as a competition, one board per problem; ranked by `fast_p`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.admissions.management.commands.import_problems import (
    a_path,
    add_admission,
    add_publish,
    brought_in,
    lines_of,
    parts_of,
)
from leaderboard.competitions.importing import REFUSED
from problems.errors import ProblemError
from problems.formats.folders import SetFile
from problems.formats.kernelbench import LEVELS, NAME, load_collection


class Command(BaseCommand):
    help = "Create or update the competition of a KernelBench checkout: a board a problem, ranked by fast_p as a whole."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=a_path, help="a checkout, its KernelBench folder, or the folder of one level")
        parser.add_argument(
            "--levels",
            type=_levels,
            default=(),
            metavar="1,2",
            help=f"only these; without it {LEVELS[0]} to {LEVELS[-1]}",
        )
        parser.add_argument(
            "--hardware",
            required=True,
            metavar="A,B",
            help="a board on each of these, such as H200; most files are too large for cpu, and the dry run names them",
        )
        parser.add_argument("--name", default=NAME, help=f"of the competition (default: {NAME})")
        add_admission(parser)
        add_publish(parser)
        parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
        parser.add_argument("--json", action="store_true", help="the report as JSON")

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            hardware = tuple(parts_of(options["hardware"]))
            found = load_collection(path, levels=options["levels"], hardware=hardware, name=options["name"])
        except (OSError, ProblemError) as error:
            raise CommandError(f"{path}: {error}") from None
        files, source = [SetFile(path.name, found=found)], f"manage import_kernelbench {path}"
        report = brought_in(files, source, options)
        said = json.dumps(report.to_json(), indent=1) if options["json"] else "\n".join(lines_of(report))
        self.stdout.write(said)
        if refused := report.counts.get(REFUSED):
            raise CommandError(f"{path}: {refused} refused, the others not; see above")


def _levels(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of levels, such as 1,2") from None
