"""`grant_site_role ROLE`: after each migration, give the site's database role its privileges."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from leaderboard.audit.append_only import grant_site_role


class Command(BaseCommand):
    help = "Give this database role the privileges of the running site: append-only tables cannot be changed by it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role")

    def handle(self, *args: Any, role: str, **options: Any) -> None:
        with transaction.atomic():
            grant_site_role(role)
