"""`resume_runner NAME --reason TEXT`: put a suspended runner back into service."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.runners import runner_named
from leaderboard.judging.suspend import resume


class Command(BaseCommand):
    help = "Put a suspended runner back into service."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, name: str, reason: str, **options: Any) -> None:
        try:
            resume(runner=runner_named(name), actor=None, reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
