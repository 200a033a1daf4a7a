"""`choose_epoch HARDWARE NAME --reason TEXT`: make a timing epoch current for its hardware."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.epochs import choose_epoch


class Command(BaseCommand):
    help = "Let the boards of a hardware rank this timing epoch, except in contests that pin another."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("hardware")
        parser.add_argument("name")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, hardware: str, name: str, reason: str, **options: Any) -> None:
        try:
            choose_epoch(hardware=hardware, name=name, actor=None, reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
