"""`unlink_login LOGIN --by STAFF --reason WHY`: make a linked login an account of its own again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.pipeline import unlink_login


class Command(BaseCommand):
    help = "Make a linked login an account of its own again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("login")
        parser.add_argument("--by", required=True, help="the organiser who decides it")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, login: str, by: str, reason: str, **options: Any) -> None:
        people = {user.get_username(): user for user in User.objects.filter(username__in=[login, by])}
        missing = [name for name in (login, by) if name not in people]
        if missing:
            raise CommandError(f"there is no user {missing[0]!r}")
        try:
            unlink_login(login=people[login], actor=people[by], reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{login} is an account of its own")
