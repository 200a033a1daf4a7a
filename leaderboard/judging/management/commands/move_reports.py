"""`move_reports`: copy reports that lie in the database into the store, in steps. It may be stopped and run again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.errors import StoreAway
from leaderboard.judging import archive, content_store
from leaderboard.judging.models import Reported


class Command(BaseCommand):
    help = "Copy reports of before REPORT_STORE into the store. The site goes on meanwhile."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--step", type=int, default=100, help="reports in memory at a time")

    def handle(self, *args: Any, step: int, **options: Any) -> None:
        if not content_store.is_configured():
            raise CommandError("REPORT_STORE is not set: there is no store to move reports to")
        if not 1 <= step <= 1000:
            raise CommandError(f"--step {step}: choose 1 to 1000")
        for kind in Reported.__subclasses__():
            moved, after = 0, 0
            try:
                while rows := archive.move(kind=kind, after=after, most=step):
                    moved, after = moved + len(rows), rows[-1]
                    self.stdout.write(f"{kind._meta.model_name}: {moved} moved, up to {after}")
            except StoreAway as error:
                raise CommandError(f"{error.why}. {moved} reports were moved; run this again to go on") from None
            self.stdout.write(f"{kind._meta.model_name}: done, {moved} moved")
