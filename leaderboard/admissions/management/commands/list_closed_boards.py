"""`list_closed_boards [COMPETITION]`: boards that an admission test keeps closed, with the reason and the choices."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.admissions.door import unadmitted_boards
from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.models import DONE


class Command(BaseCommand):
    help = "List the boards that take no submissions because of their admission test, and why."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("competition", nargs="?", default="", help="only boards of this competition, by its slug")

    def handle(self, *args: Any, competition: str, **options: Any) -> None:
        boards = Board.objects.all()
        if competition:
            if not Competition.objects.filter(slug=competition).exists():
                known = ", ".join(Competition.objects.values_list("slug", flat=True)[:20]) or "none"
                raise CommandError(f"competition: {competition!r} is not known; there are {known}")
            boards = boards.filter(competition__slug=competition)
        closed = unadmitted_boards(boards)
        for board, test in closed:
            found = f"{test.outcome}: {test.message}" if test.state == DONE else test.state
            self.stdout.write(f"{board.slug} on {board.hardware}: {found} (/admission/{test.pk})")
        failed = sum(test.state == DONE for _, test in closed)
        if failed:
            self.stdout.write(
                f"{failed} failed. Fix each problem and import it again, or override its test on its page."
            )
        if not closed:
            self.stdout.write("No board is closed by its admission test.")
