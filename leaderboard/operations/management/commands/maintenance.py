"""`maintenance begin MINUTES SENTENCE` and `maintenance end`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.operations import maintenance


class Command(BaseCommand):
    help = "Begin or end maintenance: reading, sign-in and judging go on; every other change answers 503 with the time."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        begin = acts.add_parser("begin", help="begin, or change the end and the sentence")
        begin.add_argument("minutes", type=int)
        begin.add_argument("sentence", help="for everybody, such as: The database moves to a new machine.")
        acts.add_parser("end")

    def handle(self, *args: Any, act: str, **options: Any) -> str:
        now = timezone.now()
        try:
            if act == "end":
                maintenance.end(actor=None, now=now)
                return "Maintenance has ended."
            given = {name: options[name] for name in ("sentence", "minutes")}
            found = maintenance.begin(**given, actor=None, now=now)
        except UserError as error:
            raise CommandError(str(error)) from None
        return f"Maintenance until {found.until:%Y-%m-%d %H:%M} UTC. It lasts until `maintenance end`."
