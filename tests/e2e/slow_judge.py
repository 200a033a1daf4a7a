"""A judge for test_runner_killed.py: `slow_judge.py SECONDS` waits this long, then passes the submission.

It leaves the job and its pid in RUNNER_STATE, so that a test can play the runner that came back from the dead.
"""

import json
import os
import sys
import time
from pathlib import Path

from runner.host.accelerators import epoch, fingerprint
from tests.runner.judge.suspects import steady


def main() -> None:
    if "--reap" in sys.argv:
        return
    host = fingerprint("cpu")
    print(json.dumps({"ready": {"fingerprint": host, "epoch": epoch(host), "images": []}}), flush=True)
    text = sys.stdin.readline()
    if not text:
        return
    job = json.loads(text)
    state = Path(os.environ["RUNNER_STATE"])
    for seq, name in enumerate(("building", "checking"), start=1):
        event = {"seq": seq, "kind": "state", "state": name, "message": "", "data": {}}
        print(json.dumps({"event": event}), flush=True)
    kept = {"attempt_id": job["attempt_id"], "token": job["token"], "pid": os.getpid()}
    (state / "job.tmp").write_text(json.dumps(kept))
    (state / "job.tmp").rename(state / "job.json")
    time.sleep(float(sys.argv[1]))
    report = {
        "wire": 1,
        "attempt_id": job["attempt_id"],
        "token": job["token"],
        "outcome": "passed",
        "score_us": 800.0,
        "ratio": 0.8,
        "half_width": 0.01,
        "evidence": steady(0.8),
    }
    print(json.dumps({"report": report}), flush=True)


main()
