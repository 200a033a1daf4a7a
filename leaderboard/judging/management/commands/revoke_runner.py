"""`revoke_runner NAME --reason TEXT`: revoke all tokens of a runner for good."""

from leaderboard.judging.management import RunnerCommand
from leaderboard.judging.runners import revoke


class Command(RunnerCommand):
    help = "Revoke a runner for good: its tokens are refused, and the work that it holds is queued again."
    act_on_runner = revoke
