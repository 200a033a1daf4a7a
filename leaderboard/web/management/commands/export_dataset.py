"""`export_dataset FOLDER`: write verified kernels with public code as a data set for training."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.dataset import parquet
from leaderboard.dataset.likeness import SPLITS
from leaderboard.web.dataset import releases


class Command(BaseCommand):
    help = "Write verified kernels with public code into a new folder, as Parquet and JSON lines with a data card."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="new or empty")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        if not parquet.IS_INSTALLED:
            raise CommandError(parquet.MISSING)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise CommandError(f"folder: {folder} is not empty; name a new one")
            counts = releases.write(folder, now=timezone.now())
        except OSError as error:
            raise CommandError(f"folder: {folder} cannot be written ({error.strerror})") from None
        for table, count in counts.items():
            written = sum(count[split] for split in SPLITS)
            left_out = ", ".join(f"{number} {kind}" for kind, number in sorted(count.items()) if kind not in SPLITS)
            self.stdout.write(f"{table}: {written} rows" + (f"; left out: {left_out}" if left_out else ""))
