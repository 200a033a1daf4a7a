"""Entry point of the `runner` command."""

from leaderboard.cli.start import start


def run() -> None:
    start("runner.commands.main")


if __name__ == "__main__":
    run()
