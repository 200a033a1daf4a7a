"""A judge for tests of live sites: `slow_judge.py SECONDS FILE` waits this long, then passes the submission.

FILE holds its host and its evidence (`slow_judge` in conftest.py), whose imports would take longer than all else.
It leaves the job and its pid in RUNNER_STATE, so that a test can play the runner that came back from the dead.
"""

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    if "--reap" in sys.argv:
        return
    known = json.loads(Path(sys.argv[2]).read_text())
    print(json.dumps({"ready": known["ready"]}), flush=True)
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
        "evidence": known["evidence"],
    }
    print(json.dumps({"report": report}), flush=True)


main()
