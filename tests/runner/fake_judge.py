"""A judge for the daemon's tests: the submission's text chooses its behaviour, including each way to fail.

"pass", "die", "hang", "stubborn" (hangs, ignores SIGTERM), "orphan" (leaves a child that holds stdout), "flood",
"nonsense", "nan", "stranger" (reports for another attempt), "slow SECONDS", "silent" (no report, exit 0), "chatty N",
"again" (is ready for a further job after the report and an empty line), "linger SECONDS" (after the report),
"linger_stubborn" (the same for ever), "stale N" (the first N judges give up), "aside REASON" (sets the device aside). A
canary obeys the next line of RUNNER_STATE/canaries and passes without a line.
The pids of judges with a job and of waiting judges are in RUNNER_STATE/judge.pid and waiting.pid. RUNNER_STATE/lives
gets a line when a judge begins, waits, and ends in peace, with its pid, its sides and the name of its containers.
RUNNER_STATE/reaped gets the names whose containers are removed. A file RUNNER_STATE/unprepared chooses how preparing
fails: "die", "hang", or "early" (an event before a job exists). The first argument is the line of a judge that waits,
since the import that computes its epoch would take longer than all else.
"""

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
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
            file.write(" ".join(sys.argv[sys.argv.index("--reap") + 1 :]) + "\n")
        return
    live("begins")
    signal.signal(signal.SIGTERM, end)
    prepare()
    while judge():
        wait_for_a_job()
    live("ends")


def judge() -> bool:
    """Judge a job as told; return whether to be ready for a further one."""
    text = sys.stdin.readline()
    if not text:
        end()
    job = json.loads(text)
    (state / "judge.pid").write_text(str(os.getpid()))
    report = {"wire": 1, "attempt_id": job["attempt_id"], "token": job["token"], "outcome": "passed", "score_us": 12.5}
    report["evidence"] = {"environment": sorted(os.environ), "built": b64decode(job.get("built", "")).decode()}
    what, _, argument = (next_canary(report) if is_canary(job) else job["source"]).partition(" ")
    if what == "stale" and (state / "lives").read_text().count("begins") <= int(argument):
        sys.exit(75)
    event(1, state="building")
    print(f"told to {what}", file=sys.stderr, flush=True)
    if what == "die":
        print("the roof is on fire", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "silent":
        sys.exit()
    if what in ("stubborn", "linger_stubborn"):
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
    if what == "aside":
        report["set_aside"] = argument
    if what == "slow":
        time.sleep(float(argument))
    if what == "chatty":
        for seq in range(2, int(argument) + 2):
            event(seq, done=seq)
    say(report=report)
    if what.startswith("linger"):
        time.sleep(float(argument or 600))
    return what == "again" and bool(sys.stdin.readline())


def is_canary(job: dict[str, str]) -> bool:
    return job["attempt_id"].startswith("canary-")


def next_canary(report: dict[str, object]) -> str:
    live("canary")
    report["cases"] = [{"stage": "time", "measured_us": 36.0}]
    told = state / "canaries"
    line, _, rest = (told.read_text() if told.exists() else "").partition("\n")
    told.write_text(rest)
    return line or "pass"


def prepare() -> None:
    fault = state / "unprepared"
    how = fault.read_text() if fault.exists() else ""
    if how == "die":
        sys.exit("no engine answers")
    if how == "hang":
        time.sleep(600)
    if how == "early":
        event(1, state="building")
    wait_for_a_job()


def wait_for_a_job() -> None:
    (state / "waiting.pid").write_text(str(os.getpid()))
    live("waits")
    ready = json.loads(sys.argv[1])
    driver = state / "driver"
    if driver.exists():
        from runner.host.accelerators import epoch

        ready["fingerprint"]["driver"] = driver.read_text()
        ready["epoch"] = epoch(ready["fingerprint"])
    say(ready=ready)


def live(what: str) -> None:
    with (state / "lives").open("a") as file:
        sides = "tests" if "--tests" in sys.argv else "full"
        file.write(f"{what} {os.getpid()} {sides} {os.environ['RUNNER_ID']}\n")


def end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come as the input ends, and a judge ends once
    live("ends")
    sys.exit(143)


main()
