"""Django's command line: `python -m leaderboard.manage migrate`."""

from __future__ import annotations

import sys

from django.core.management import execute_from_command_line

from leaderboard import env


def main() -> None:
    env.choose_settings("leaderboard.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
