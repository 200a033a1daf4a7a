"""`make_staff NAME --reason WHY [--end]`: make a person staff, or end that."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.desk.acts import set_staff
from leaderboard.errors import UserError


class Command(BaseCommand):
    help = "Make a person staff, or end that. Superusers can do the same at /desk."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--end", action="store_true", help="end it")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, name: str, end: bool, reason: str, **options: Any) -> str:
        person = User.objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"there is no user {name!r}")
        try:
            set_staff(person=person, on=not end, actor=None, reason=reason, now=timezone.now())
        except UserError as error:
            raise CommandError(str(error)) from None
        return f"{name} is {'no longer ' if end else ''}staff"
