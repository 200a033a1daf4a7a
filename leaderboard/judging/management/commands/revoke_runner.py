"""`revoke_runner NAME --reason TEXT`: revoke all tokens of a runner for good."""

from __future__ import annotations

from typing import Any

from leaderboard.judging.management.act_command import ActCommand
from leaderboard.judging.runners import revoke, runner_named


class Command(ActCommand):
    help = "Revoke a runner for good: its tokens are refused, and the work that it holds is queued again."

    def act(self, options: dict[str, Any], **known: Any) -> None:
        revoke(runner=runner_named(options["name"]), **known)
