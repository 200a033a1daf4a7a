"""`rotate_runner NAME --reason TEXT [--grace MINUTES]`: a new token, printed once; the old token works for a while."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from leaderboard.judging.management import ActCommand
from leaderboard.judging.runners import GRACE, rotate, runner_named


class Command(ActCommand):
    help = "Give a runner a new token; it is printed once and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--grace",
            type=int,
            default=int(GRACE.total_seconds() // 60),
            metavar="MINUTES",
            help="how long the old token still works; 0: not at all (default: %(default)s)",
        )

    def act(self, options: dict[str, Any], **known: Any) -> str:
        grace = timedelta(minutes=min(options["grace"], 10**6))
        return rotate(runner=runner_named(options["name"]), grace=grace, **known)
