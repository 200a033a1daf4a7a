"""`sample_accounts`: competitors ada, ben, cleo, dora and emil and the superuser olga, each with a random password.

Prints {username: {password, token}} for new accounts; existing accounts stay unchanged and are not printed. A site that
other machines reach gets none: olga may do everything there.
"""

import json
import secrets
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from leaderboard import safety
from leaderboard.accounts.models import SCOPES, User
from leaderboard.accounts.tokens import issue_token

COMPETITORS: Final = ("ada", "ben", "cleo", "dora", "emil")
ORGANISER: Final = "olga"
PASSWORD_BYTES: Final = 12


class Command(BaseCommand):
    help = "Make the sample accounts and print their passwords and tokens, once."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        if safety.is_public():
            raise CommandError(
                f"SITE_URL={settings.SITE_URL!r}: only a site on 127.0.0.1 or localhost gets sample accounts"
            )
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
