"""`sample_accounts`: competitors ada, ben, cleo, dora and emil and the superuser olga, each with a random password.

Prints {username: {password, token}} for new accounts; existing accounts stay unchanged and are not printed.
"""

import json
import secrets
from typing import Any, Final

from django.core.management.base import BaseCommand
from django.db import transaction
from django.utils import timezone

from leaderboard.accounts.models import SCOPES, User
from leaderboard.accounts.tokens import issue_token

COMPETITORS: Final = ("ada", "ben", "cleo", "dora", "emil")
ORGANISER: Final = "olga"
PASSWORD_BYTES: Final = 12


class Command(BaseCommand):
    help = "Make the sample accounts and print their passwords and tokens, once."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        made = {}
        for name in (*COMPETITORS, ORGANISER):
            if User.objects.filter(username=name).exists():
                continue
            password = secrets.token_urlsafe(PASSWORD_BYTES)
            make = User.objects.create_superuser if name == ORGANISER else User.objects.create_user
            _, token = issue_token(
                owner=make(name, password=password), name="sample", scopes=SCOPES, now=timezone.now()
            )
            made[name] = {"password": password, "token": token}
        self.stdout.write(json.dumps(made, indent=2))
