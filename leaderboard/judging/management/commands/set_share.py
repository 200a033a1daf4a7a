"""`set_share COMPETITION HARDWARE PERCENT --reason TEXT`: a competition's share of a hardware, 0 for no ceiling."""

from typing import Any

from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.judging.device_time import set_share
from leaderboard.judging.management import ActCommand


class Command(ActCommand):
    help = "Give a competition at most this percentage of a hardware while others wait for it; 0: no ceiling."
    arguments = ("competition", "hardware", "percent")

    def act(self, options: dict[str, Any], **known: Any) -> None:
        slug, percent = options["competition"], options["percent"]
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise UserError("competition", slug, f"there is no competition {slug!r}", status=404)
        if not percent.isdecimal() or len(percent) > 3:
            raise UserError("percent", percent, "expected a whole number, 0 for no ceiling")
        set_share(competition=competition, hardware=options["hardware"], percent=int(percent) or None, **known)
