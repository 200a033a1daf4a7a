"""`create_token USER --name N`: make an API token and print it, once."""

from datetime import timedelta
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.accounts.models import SCOPES, USUAL_SCOPES, User
from leaderboard.accounts.tokens import issue_token
from leaderboard.errors import UserError

MOST_DAYS: Final = 3650


class Command(BaseCommand):
    help = "Make an API token for a user; it is printed once and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--name", required=True, help="what the owner will know it by")
        parser.add_argument(
            "--scope", action="append", choices=SCOPES, help="may be repeated; read and submit by default"
        )
        parser.add_argument("--days", type=int, help="until it expires; without it, the token never does")

    def handle(
        self, *args: Any, user: str, name: str, scope: list[str] | None, days: int | None, **options: Any
    ) -> None:
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise CommandError(f"--days {days}: expected 1 to {MOST_DAYS}")
        lifetime = None if days is None else timedelta(days=days)
        owner = User.objects.filter(username=user).first()
        if owner is None:
            raise CommandError(f"there is no user {user!r}")
        try:
            _, text = issue_token(
                owner=owner, name=name, scopes=scope or USUAL_SCOPES, now=timezone.now(), lifetime=lifetime
            )
        except UserError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)
