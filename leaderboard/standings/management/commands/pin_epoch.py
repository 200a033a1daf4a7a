"""`pin_epoch COMPETITION HARDWARE NAME --reason TEXT`: let a contest rank another timing epoch."""

from typing import Any

from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.judging.management import ActCommand
from leaderboard.standings.epochs import move_pin


class Command(ActCommand):
    help = "Let the contest of a competition rank this timing epoch on one hardware, whichever is current."
    arguments = ("competition", "hardware", "name")

    def act(self, options: dict[str, Any], **known: Any) -> None:
        slug = options["competition"]
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise UserError("competition", slug, f"{slug!r}: no such competition; its address is the slug")
        move_pin(competition=competition, hardware=options["hardware"], name=options["name"], **known)
