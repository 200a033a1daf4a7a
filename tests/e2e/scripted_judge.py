"""A judge for test_contest.py that reports the values in the submission itself: `# REPORT {"ratio": 0.8}`.

Missing values mean an honest pass. Admission tests pass; a confirmation follows the candidate's `"record"`, confirmed
by five equal gains unless it is false. With `--again` it is a newer judge: a source's `"again"`, if given, is the
ratio. Its first argument is a folder with `ready.json`, the line of a judge that waits, and the evidence of each ratio:
the imports that make them would take longer than all else.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

SCORE_US = 1000.0
FOLDER = Path(sys.argv[1])


def main() -> None:
    if "--reap" in sys.argv:
        return
    print((FOLDER / "ready.json").read_text(), flush=True)
    text = sys.stdin.readline()
    if text:
        job = json.loads(text)
        print(json.dumps({"report": {"wire": 1, "attempt_id": job["attempt_id"], "token": job["token"], **told(job)}}))


def told(job: dict[str, Any]) -> dict[str, Any]:
    if job["task"] == "admission":
        line = {"name": "admission/reference", "expected": "accepted", "got": "passed", "good": True}
        admission = {
            "passed": True,
            "marks": [],
            "cases": 1,
            "margin": 9.0,
            "lines": [line | {"explained": "", "figures": {}}],
        }
        return {"outcome": "passed", "admission": admission}
    found = re.search(r"^# REPORT (\{.*\})$", job["source"], re.MULTILINE)
    said = {"outcome": "passed", "ratio": 0.9} | (json.loads(found[1]) if found else {})
    record, again = said.pop("record", True), said.pop("again", None)
    if said["outcome"] != "passed" or job["mode"] == "test":
        said.pop("ratio")
    else:
        said |= {"ratio": again} if again and "--again" in sys.argv else {}
        said |= {"score_us": SCORE_US * said["ratio"], "half_width": said.get("half_width", 0.001), "telemetry": "full"}
        said["evidence"] = json.loads((FOLDER / f"{said['ratio']}.json").read_text())
    if job["incumbent"] is not None:
        said["confirmation"] = {
            "accepted": record,
            "reason": "confirmed" if record else "uncertain",
            "sentence": "Five of five runs were faster." if record else "Two of five runs were faster.",
            "held": False,
            "incumbent": job["incumbent"]["submission_id"],
            "gains": [0.05] * 5 if record else [0.01, -0.01, -0.02, 0.01, -0.01],
            "median_gain": 0.05 if record else -0.01,
            "least_gain": 0.05 if record else -0.02,
            "wins": 5 if record else 2,
            "runs": 5,
        }
    return said


main()
