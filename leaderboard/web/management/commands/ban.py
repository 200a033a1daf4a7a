"""`ban NETWORK --days N --reason WHY` and `ban NETWORK --lift --reason WHY`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.operations import bans
from leaderboard.operations.models import Ban


class Command(BaseCommand):
    help = "Ban a network, or lift its ban. The web processes know it within seconds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("network", help="such as 192.0.2.0/24")
        parser.add_argument("--days", type=int, default=7)
        parser.add_argument("--lift", action="store_true")
        parser.add_argument("--reason", required=True, help="the banned read it")

    def handle(self, *args: Any, network: str, days: int, lift: bool, reason: str, **options: Any) -> str:
        now = timezone.now()
        try:
            if not lift:
                made = bans.ban(network=network, days=days, reason=reason, actor=None, now=now)
                return f"{made.network} is banned until {made.ends_at:%Y-%m-%d %H:%M} UTC"
            found = Ban.objects.filter(network=network, lifted_at=None).first()
            if found is None:
                known = ", ".join(ban.network for ban in bans.in_force(now)[:20]) or "none"
                raise UserError("network", network, f"is not banned; banned: {known}")
            bans.set_lifted(ban=found, on=True, reason=reason, actor=None, now=now)
        except UserError as error:
            raise CommandError(str(error)) from None
        return f"{network} is not banned any more"
