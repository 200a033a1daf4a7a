"""`make_enrol_code NAME --hardware cpu [--minutes 60]`: print a one-time code for `runner enrol`."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging.enrolment import LASTS, make_code


class Command(BaseCommand):
    help = "Make a one-time code with which a host becomes a runner; it is printed once and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--hardware", required=True)
        parser.add_argument("--minutes", type=int, default=LASTS // timedelta(minutes=1), help="until it expires")

    def handle(self, *args: Any, name: str, hardware: str, minutes: int, **options: Any) -> None:
        lasts = timedelta(minutes=min(max(minutes, 0), 10**6))
        try:
            _, text = make_code(name=name, hardware=hardware, actor=None, now=timezone.now(), lasts=lasts)
        except UserError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)
