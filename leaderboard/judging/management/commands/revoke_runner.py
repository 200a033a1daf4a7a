"""`revoke_runner NAME --reason TEXT`: revoke all tokens of a runner for good."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.runners import revoke, runner_named


class Command(BaseCommand):
    help = "Revoke a runner for good: its tokens are refused, and the work that it holds is queued again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, name: str, reason: str, **options: Any) -> None:
        try:
            revoke(runner=runner_named(name), actor=None, reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
