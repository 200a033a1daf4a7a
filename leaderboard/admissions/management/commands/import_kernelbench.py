"""`import_kernelbench PATH`: a KernelBench checkout as a competition, one board per problem; ranked by `fast_p`."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.admissions.management.commands.import_problems import a_path, add_options, bring_in, parts_of
from problems.fields import ProblemError
from problems.formats.folders import SetFile
from problems.formats.kernelbench import FP32, LEVELS, NAME, PRECISIONS, load_collection


class Command(BaseCommand):
    help = "Create or update the competition of a KernelBench checkout: a board a problem, ranked by fast_p as a whole."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=a_path, help="a checkout, its KernelBench folder, or the folder of one level")
        parser.add_argument(
            "--levels",
            type=_levels,
            default=(),
            metavar="1,2",
            help=f"only these; without it {LEVELS[0]} to {LEVELS[-1]}. Level 4 needs an image with transformers",
        )
        parser.add_argument(
            "--hardware",
            required=True,
            metavar="A,B",
            help="a board on each of these, such as H200; most files are too large for cpu, and the dry run names them",
        )
        parser.add_argument(
            "--precision",
            choices=PRECISIONS,
            default=FP32,
            help="fp16 or bf16: the same models and inputs in half precision, as boards with names of their own; "
            f"{FP32}, the default: the files as they are",
        )
        parser.add_argument(
            "--name",
            default="",
            help=f"of the competition (default: {NAME}, or {NAME} fp16, {NAME} bf16)",
        )
        add_options(parser)

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            hardware = tuple(parts_of(options["hardware"]))
            found = load_collection(
                path,
                levels=options["levels"],
                hardware=hardware,
                name=options["name"],
                precision=options["precision"],
            )
        except (OSError, ProblemError) as error:
            raise CommandError(f"{path}: {error}") from None
        bring_in(self, [SetFile(path.name, found=found)], path, options)


def _levels(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of levels, such as 1,2") from None
