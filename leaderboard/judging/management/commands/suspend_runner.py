"""`suspend_runner NAME --reason TEXT`: take a runner out of service."""

from leaderboard.judging.management import RunnerCommand
from leaderboard.judging.runners import suspend


class Command(RunnerCommand):
    help = "Take a runner out of service: it claims nothing from now on."
    act_on_runner = suspend
