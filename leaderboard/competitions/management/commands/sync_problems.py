"""`sync_problems FILE.yaml`: the older name of import_problems."""

from __future__ import annotations

from leaderboard.competitions.management.commands.import_problems import Command

__all__ = ["Command"]
