"""`seal_secrets`: seal the secrets of second factors and webhooks under the present SECRET_KEY."""

from typing import Any, Final

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from leaderboard.accounts.tokens import seal, unseal

SECRETS: Final = ("secret", "seed")  # of an authenticator app, of recovery codes
OF_WEBHOOKS: Final = ("hook", "hook_secret", "hook_former")


class Command(BaseCommand):
    help = "Seal the secrets of second factors that are kept in the clear or under a key of SECRET_KEY_FALLBACKS."

    def handle(self, *args: Any, **options: Any) -> None:
        """May be repeated, and runs while the site serves: each row is locked for a moment."""
        count = 0
        for pk in Authenticator.objects.order_by("pk").values_list("pk", flat=True).iterator():
            with transaction.atomic():
                factor = Authenticator.objects.select_for_update().filter(pk=pk).first()
                if factor is None or not (kept := {key: factor.data[key] for key in SECRETS if key in factor.data}):
                    continue
                try:
                    factor.data |= {key: seal(unseal(text)) for key, text in kept.items()}
                except ValueError as error:
                    raise CommandError(f"second factor {pk}: {error}") from None
                factor.save(update_fields=["data"])
                count += 1
        self.stdout.write(f"{count + self._webhooks()} sealed")

    def _webhooks(self) -> int:
        """Seal the addresses and secrets of webhooks anew; return the number of webhooks."""
        preferences, count = apps.get_model("inbox.Preference")._default_manager, 0  # of an app above
        for pk in preferences.exclude(hook="").order_by("pk").values_list("pk", flat=True).iterator():
            with transaction.atomic():
                kept = preferences.select_for_update().filter(pk=pk).values(*OF_WEBHOOKS).first()
                if kept is None:
                    continue
                try:
                    preferences.filter(pk=pk).update(**{key: seal(unseal(text)) for key, text in kept.items() if text})
                except ValueError as error:
                    raise CommandError(f"webhook of account {pk}: {error}") from None
                count += 1
        return count
