"""`ask_admission`: ask for a test of every board's problem that was never tested, by the runners of its hardware."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from leaderboard.admissions.ask import ask_for_untested


class Command(BaseCommand):
    help = "Ask for an admission test of every board whose version never had one. A version that fails is closed."

    def handle(self, *args: Any, **options: Any) -> None:
        asked = ask_for_untested(actor=None, now=timezone.now())
        self.stdout.write(f"{asked} admission test{'' if asked == 1 else 's'} asked for; /admission shows what comes")
