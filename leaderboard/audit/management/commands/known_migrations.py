"""`known_migrations`: the migrations of this code as JSON, for a backup to be compared with."""

import json
from typing import Any

from django.core.management.base import BaseCommand
from django.db.migrations.loader import MigrationLoader


class Command(BaseCommand):
    help = "Print this code's migrations as a JSON list of app.name, with those that a squashed migration replaces."

    def handle(self, *args: Any, **options: Any) -> None:
        disk = MigrationLoader(None).disk_migrations
        known = set(disk) | {replaced for migration in disk.values() for replaced in migration.replaces}
        self.stdout.write(json.dumps(sorted(f"{app}.{name}" for app, name in known)))
