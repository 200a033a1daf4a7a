"""Entry point of the `runner` command."""

from __future__ import annotations

from leaderboard.cli.start import start


def run() -> None:
    start("runner.commands.main")


if __name__ == "__main__":
    run()
