"""`ask_admission`: ask for a test of every board's problem that was never tested, by the runners of its hardware.

`--compiled`: ask for timings of torch.compile instead, the second baseline of fast_p.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from leaderboard.admissions.ask import ask_for_untested
from leaderboard.admissions.compiled import NO_EPOCH, ask_for_untimed


class Command(BaseCommand):
    help = (
        "Ask for an admission test of every board whose version never had one. A version that fails is closed. With "
        "--compiled: ask for a timing of torch.compile of every board that has none in its timing epoch."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        text = "time torch.compile of the references, where a problem has that template; closes no board"
        parser.add_argument("--compiled", action="store_true", help=text)

    def handle(self, *args: Any, compiled: bool, **options: Any) -> None:
        if compiled:
            asked, without = ask_for_untimed(now=timezone.now())
            self._tell(asked, "timing of torch.compile", "timings of torch.compile")
            for hardware in without:
                self.stdout.write(NO_EPOCH.format(hardware=hardware))
        else:
            self._tell(ask_for_untested(actor=None, now=timezone.now()), "admission test", "admission tests")

    def _tell(self, asked: int, one: str, several: str) -> None:
        self.stdout.write(f"{asked} {one if asked == 1 else several} asked for; /admission shows what comes")
