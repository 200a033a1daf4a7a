"""Django's command line: `python -m leaderboard.manage migrate`."""

import shlex
import sys

from django.core.management import execute_from_command_line

from leaderboard import env, safety  # noqa: F401  (safety registers its checks)


def main() -> None:
    env.choose_settings("leaderboard.settings")
    try:
        execute_from_command_line(sys.argv)
    except env.ConfigError as error:
        sys.exit(f"{error}. On a machine of `make up`, use: make manage ARGS={shlex.quote(shlex.join(sys.argv[1:]))}")


if __name__ == "__main__":
    main()
