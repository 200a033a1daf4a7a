"""A judge for the daemon's tests: does what the submission's text says, so that each way to fail can be had.

"pass", "die", "hang", "stubborn" (hangs, ignores SIGTERM), "orphan" (leaves a child that holds stdout), "flood",
"nonsense", "nan", "stranger" (reports for another attempt), "slow SECONDS", "silent" (no report, exit 0), "chatty N".
It writes its pid to RUNNER_STATE/judge.pid, so that a test can see whether it lives.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

state = Path(os.environ["RUNNER_STATE"])


def say(**line: object) -> None:
    print(json.dumps(line), flush=True)


def event(seq: int, state: str = "", **data: object) -> None:
    kind = "state" if state else "progress"
    say(event={"seq": seq, "kind": kind, "state": state, "message": "", "data": data})


def main() -> None:
    if "--reap" in sys.argv:
        with (state / "reaped").open("a") as file:
            file.write(os.environ["RUNNER_ID"] + "\n")
        return
    job = json.loads(sys.stdin.read())
    (state / "judge.pid").write_text(str(os.getpid()))
    report = {"wire": 1, "attempt_id": job["attempt_id"], "token": job["token"], "outcome": "passed", "score_us": 12.5}
    report["evidence"] = {"environment": sorted(os.environ)}
    event(1, state="building")
    what, _, argument = job["source"].partition(" ")
    print(f"told to {what}", file=sys.stderr, flush=True)
    if what == "die":
        print("the roof is on fire", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "silent":
        return
    if what == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if what in ("hang", "stubborn"):
        time.sleep(600)
    if what == "orphan":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (state / "orphan.pid").write_text(str(child.pid))
    if what == "flood":
        while True:
            sys.stdout.write("x" * 1_000_000)
    if what == "nonsense":
        print("<html>", flush=True)
    if what == "nan":
        report["evidence"]["samples"] = [float("nan")]
    if what == "stranger":
        report["attempt_id"] = "somebody-else"
    if what == "slow":
        time.sleep(float(argument))
    if what == "chatty":
        for seq in range(2, int(argument) + 2):
            event(seq, done=seq)
    say(report=report)


main()
