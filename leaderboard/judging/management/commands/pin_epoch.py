"""`pin_epoch COMPETITION HARDWARE NAME --reason TEXT`: let a contest rank another timing epoch."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.judging.epochs import move_pin


class Command(BaseCommand):
    help = "Let the contest of a competition rank this timing epoch on one hardware, whichever is current."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("competition")
        parser.add_argument("hardware")
        parser.add_argument("name")
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, competition: str, hardware: str, name: str, reason: str, **options: Any) -> None:
        found = Competition.objects.filter(slug=competition).first()
        if found is None:
            raise CommandError(f"competition: {competition!r}: no such competition; its address is the slug")
        now = timezone.now()
        try:
            move_pin(competition=found, hardware=hardware, name=name, actor=None, reason=reason, now=now)
        except UserError as error:
            raise CommandError(str(error)) from None
