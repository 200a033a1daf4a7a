"""Commands of an editable install.

A wheel holds the client alone, as the package `photofinish` (`[tool.hatch.build.targets.wheel]` in pyproject.toml). An
editable install puts a whole checkout on the path, where the client's code lies in `leaderboard` beside the runner.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMANDS = {"photofinish": "leaderboard.cli.start:run", "runner": "runner.commands.start:run"}


class CheckoutCommands(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            self.metadata.core.scripts.update(COMMANDS)
