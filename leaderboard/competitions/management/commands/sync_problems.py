"""`sync_problems FILE.yaml`: create or update a competition, its boards and its problems from a set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.competitions.sync import sync_set
from leaderboard.errors import UserError
from problems.errors import ProblemError
from problems.formats.gpumode import load_set


class Command(BaseCommand):
    help = "Create or update a competition, its boards and its problems from a problem set."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            problem_set = load_set(file)
            synced = sync_set(problem_set, now=timezone.now())
        except (OSError, ProblemError, UserError) as error:
            raise CommandError(f"{file}: {error}") from None
        for warning in problem_set.warnings:
            self.stderr.write(f"warning: {warning}")
        boards = ", ".join(str(board) for board in synced.boards)
        self.stdout.write(f"{synced.competition}: {boards} ({synced.new_versions} new problem versions)")
