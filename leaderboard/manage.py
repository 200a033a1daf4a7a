"""Django's command line: `python -m leaderboard.manage migrate`.

Before a command, the settings are checked (leaderboard/safety.py). Django's checks of addresses would import every
page, which takes longer than most commands: `manage check` runs them, too.
"""

import shlex
import sys

from django.core.checks import Tags
from django.core.management import BaseCommand, execute_from_command_line

from leaderboard import env, safety  # noqa: F401  (safety registers its checks)


def main() -> None:
    env.choose_settings("leaderboard.settings")
    BaseCommand.requires_system_checks = [Tags.security]
    try:
        execute_from_command_line(sys.argv)
    except env.ConfigError as error:
        sys.exit(f"{error}. On a machine of `make up`, use: make manage ARGS={shlex.quote(shlex.join(sys.argv[1:]))}")


if __name__ == "__main__":
    main()
