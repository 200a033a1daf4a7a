"""`sweep --forever` as a process: it expires leases, survives the database's restart and ends on a signal."""

import signal
import subprocess
import sys
import time
from datetime import timedelta

from django.utils import timezone

from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage, cut_connections, environment

SWEEP = [sys.executable, "-m", "leaderboard.manage", "sweep", "--forever"]


def lost(submission: Submission, attempts: int) -> bool:
    """Return whether the submission reaches `attempts` attempts within 20 seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if submission.attempts.count() == attempts:
            return True
        time.sleep(0.05)
    return False


def test_it_goes_on_until_it_is_told_to_stop(live_stage: Stage) -> None:
    live_stage.now = timezone.now() - timedelta(hours=1)
    submission = live_stage.submit()
    live_stage.claim()
    with subprocess.Popen(SWEEP, env=environment() | {"SWEEP_EVERY_S": "0.1"}) as sweeper:
        try:
            assert lost(submission, attempts=2)
            cut_connections()
            live_stage.claim()
            assert lost(submission, attempts=3)
        finally:
            sweeper.send_signal(signal.SIGTERM)
        assert sweeper.wait(20) == 0
