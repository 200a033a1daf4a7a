"""`create_runner NAME --hardware cpu`: make a runner and print its token, once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.runners import create_runner


class Command(BaseCommand):
    help = "Make a runner; its token is printed once and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--hardware", required=True)

    def handle(self, *args: Any, name: str, hardware: str, **options: Any) -> None:
        try:
            _, text = create_runner(name=name, hardware=hardware, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)
