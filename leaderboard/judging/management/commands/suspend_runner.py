"""`suspend_runner NAME --reason TEXT`: take a runner out of service."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.runners import runner_named
from leaderboard.judging.suspend import suspend


class Command(BaseCommand):
    help = "Take a runner out of service: it claims nothing from now on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, name: str, reason: str, **options: Any) -> None:
        try:
            suspend(runner=runner_named(name), actor=None, reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
