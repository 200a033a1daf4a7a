"""`note_backup`: record that a backup of the database is complete, for the figure of its age."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from leaderboard.judging.models import Watch


class Command(BaseCommand):
    help = "Record that a backup is complete. A script of your own calls it after a backup."

    def handle(self, *args: Any, **options: Any) -> None:
        Watch.objects.update_or_create(pk=1, defaults={"backed_up_at": timezone.now()})
