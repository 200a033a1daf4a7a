"""`choose_epoch HARDWARE NAME --reason TEXT`: make a timing epoch current for its hardware."""

from typing import Any

from leaderboard.judging.management import ActCommand
from leaderboard.standings.epochs import choose_epoch


class Command(ActCommand):
    help = "Let the boards of a hardware rank this timing epoch, except in contests that pin another."
    arguments = ("hardware", "name")

    def act(self, options: dict[str, Any], **known: Any) -> None:
        choose_epoch(hardware=options["hardware"], name=options["name"], **known)
