"""`make chaos`: break a whole site on a schedule and audit its database (docs/reliability.md).

    make chaos ARGS="--submissions 200 --seed 7"

Wants root, Linux network namespaces and Docker's programs. Starts its own Docker engine, PostgreSQL, broker and site,
touches no process that it did not start, and clears everything away at the end.
"""

import argparse
import math
import os
import signal
import sys
from pathlib import Path

from deploy.console import SetupError, exit_status, say
from deploy.image import ensure_image
from deploy.parties import state_folder
from tests.chaos.run import PAUSE_S, RUNNERS, play


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=1_000, metavar="N", help="to send and judge; 1000")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M", help="send none after M minutes")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the schedule of faults; 1")
    parser.add_argument("--pause", type=float, default=PAUSE_S, metavar="S", help="at most, between two faults; 2")
    parser.add_argument("--runners", type=int, choices=range(1, 25), default=RUNNERS, metavar="N", help="hosts; 2")
    parser.add_argument("--once", action="store_true", help="let every fault strike once only")
    parser.add_argument("--keep", type=Path, default=None, metavar="FOLDER", help="for report, boards and logs")
    asked = parser.parse_args()
    if os.geteuid() != 0:
        raise SetupError("chaos mounts small disks and makes network namespaces: run it as root")
    image = os.environ.get("SANDBOX_IMAGE") or ensure_image()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # everything is cleared away
    try:
        keep = asked.keep or state_folder() / "chaos"
        limits = {"minutes": asked.minutes, "once": asked.once, "pause_s": asked.pause, "runners": asked.runners}
        told = play(image, asked.submissions, asked.seed, keep, **limits)
    except KeyboardInterrupt:
        say("stopped: processes, mounts and namespaces of this run are gone")
        return 130
    say(told.text())
    return 1 if told.findings else 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
