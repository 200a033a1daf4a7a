"""`retire_runner NAME --reason TEXT`: let a runner leave the fleet for good; its history stays."""

from leaderboard.judging.management import RunnerCommand
from leaderboard.judging.runners import retire


class Command(RunnerCommand):
    help = "Retire a runner that has finished its work: its tokens are refused from now on, and its history stays."
    act_on_runner = retire
