"""`drain_runner NAME --reason TEXT [--off]`: let a runner finish its work and claim nothing more, until `--off`."""

from typing import Any

from django.core.management.base import CommandParser

from leaderboard.judging.management import ActCommand
from leaderboard.judging.runners import runner_named, set_draining


class Command(ActCommand):
    help = "Let a runner finish its work and claim nothing more; with --off it claims again."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--off", action="store_true")

    def act(self, options: dict[str, Any], **known: Any) -> None:
        set_draining(runner=runner_named(options["name"]), on=not options["off"], **known)
