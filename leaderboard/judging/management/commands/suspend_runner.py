"""`suspend_runner NAME --reason TEXT`: take a runner out of service."""

from __future__ import annotations

from typing import Any

from leaderboard.judging.management.act_command import ActCommand
from leaderboard.judging.runners import runner_named, suspend


class Command(ActCommand):
    help = "Take a runner out of service: it claims nothing from now on."

    def act(self, options: dict[str, Any], **known: Any) -> None:
        suspend(runner=runner_named(options["name"]), **known)
