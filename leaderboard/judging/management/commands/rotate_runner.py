"""`rotate_runner NAME --reason TEXT [--grace MINUTES]`: a new token, printed once; the old token works for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.runners import GRACE, rotate, runner_named


class Command(BaseCommand):
    help = "Give a runner a new token; it is printed once and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--reason", required=True)
        parser.add_argument(
            "--grace",
            type=int,
            default=int(GRACE.total_seconds() // 60),
            metavar="MINUTES",
            help="how long the old token still works; 0: not at all (default: %(default)s)",
        )

    def handle(self, *args: Any, name: str, reason: str, grace: int, **options: Any) -> None:
        try:
            found = runner_named(name)
            text = rotate(
                runner=found, actor=None, reason=reason, now=timezone.now(), grace=timedelta(minutes=min(grace, 10**6))
            )
        except UserError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)
