"""`resume_runner NAME --reason TEXT`: put a suspended runner back into service."""

from __future__ import annotations

from typing import Any

from leaderboard.judging.management.act_command import ActCommand
from leaderboard.judging.runners import resume, runner_named


class Command(ActCommand):
    help = "Put a suspended runner back into service."

    def act(self, options: dict[str, Any], **known: Any) -> None:
        resume(runner=runner_named(options["name"]), **known)
