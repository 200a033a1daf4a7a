"""`resume_runner NAME --reason TEXT`: put a suspended runner back into service."""

from leaderboard.judging.management import RunnerCommand
from leaderboard.judging.runners import resume


class Command(RunnerCommand):
    help = "Put a suspended runner back into service."
    act_on_runner = resume
