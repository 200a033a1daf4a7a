"""Judge process of runner/daemon/judge_handle.py: prepare containers, wait for a job, judge it, report, clear away.

    python -m runner.job.judge_main         prepares, prints {"ready": {"fingerprint", "epoch", "images"}}; takes a Job
                                            as a line of JSON on stdin, perhaps with the output of
                                            runner/job/build.py as `built`, in base64; prints JSON lines {"event": …},
                                            at last {"report": …}; only then removes its containers
    python -m runner.job.judge_main --tests the same with one side instead of two, which is all that a test needs. After
                                            a test an empty line on stdin has it replace the submission's container and
                                            be ready again: the next test of the same problem finds the oracle loaded.
                                            Takes MOST_JOBS jobs
    python -m runner.job.judge_main --spares N [CORES]
                                            the same with both sides; it is ready for another job after any job that
                                            never ranks, and N containers import torch ahead for those to come, from
                                            its second job on. Their CORES are those that build beside timed jobs; if
                                            a tenant has more, they share a tenant's, and stand still beside timed calls
    python -m runner.job.judge_main --reap OWNER…
                                            removes the containers that earlier judges of these names left behind

Holds no token and no secret but the seeds of the cases. Exit codes: 0 after its last report or when no job came, 75 if
the containers were no longer fit before a job was begun, 143 after SIGTERM. In each case its containers are gone.
"""

import base64
import ctypes
import json
import logging
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType
from typing import Final

from runner import config
from runner.errors import STALE_EXIT, ConfigError
from runner.evidence.schedule import A, B
from runner.host import accelerators
from runner.job.cleanup import Terminated
from runner.job.confirm import confirm
from runner.job.execute import execute
from runner.job.prepare import Prepared, prepared
from runner.wire import TIMED_MODES, Job, WireError
from sandbox import container, helper
from sandbox.container import SandboxError

log = logging.getLogger("runner.job.judge_main")

LOOK_S: Final = 5.0  # while waiting, interval of the checks whether the containers are still fit
MOST_JOBS: Final = 48  # then all starts afresh: what a problem's code keeps from job to job stays small
PR_SET_DUMPABLE: Final = 4


def stand_by(settings: config.JudgeSettings, sides: Sequence[str], spares: int = 0, beside: Sequence[int] = ()) -> None:
    """Prepare, and judge one job, several that never rank, or none.

    Raises SandboxError, ConfigError, OSError if the preparation fails; SystemExit as above.
    """
    told: list[int] = []  # to end, while a report was being written
    with ExitStack() as stack:
        ready = stack.enter_context(prepared(settings, sides, beside=beside))
        epoch = accelerators.epoch(ready.fingerprint)
        most = MOST_JOBS if len(sides) == 1 or spares else 1
        for number in range(1, most + 1):
            _say("ready", {"fingerprint": ready.fingerprint, "epoch": epoch, "images": ready.images})
            if number > 1:
                ready.spares.have(spares)  # while the daemon asks for a job
            given = _await_job(ready)
            if given is None:
                return
            job, built = given
            if job.incumbent is None and job.ranks == ready.hardware.ranks:
                report = execute(job, settings, lambda event: _say("event", event.to_json()), ready, built)
            else:
                stack.close()  # each run of a confirmation has containers of its own, and so have several ranks
                judge = execute if job.incumbent is None else confirm
                report = judge(job, settings, lambda event: _say("event", event.to_json()))
                number = most
            # SIGTERM cuts no report off. If no further job follows, only the work that it demands is left.
            signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
            _say("report", report.to_json())
            if number == most or not job.never_ranks or report.set_aside or report.outcome == "infra_error":
                return
            signal.signal(signal.SIGTERM, _on_term)
            if told or not sys.stdin.buffer.readline():  # the daemon says when there are cores for it
                return
            ready.renew(timed=job.mode in TIMED_MODES)


def _await_job(ready: Prepared) -> tuple[Job, bytes] | None:
    """Return the job and what was built for it ahead in this image; None if the daemon ended without a job."""
    while not select.select([sys.stdin], [], [], LOOK_S)[0]:
        _leave_if_unfit(ready)
    data = sys.stdin.buffer.readline()
    if not data:
        return None
    try:
        given = json.loads(data)
        image, _, built = base64.b64decode(given.pop("built", "")).partition(b"\n")
        job = Job.from_json(given)
    except (ValueError, WireError) as err:
        log.error("not a job: %s", err)
        raise SystemExit(2) from None
    _leave_if_unfit(ready)
    return job, built if image == ready.image.encode() else b""


def _leave_if_unfit(ready: Prepared) -> None:
    if why := ready.unfit():
        log.warning("what was prepared cannot be used: %s", why)
        raise SystemExit(STALE_EXIT)


def _say(kind: str, value: object) -> None:
    sys.stdout.write(json.dumps({kind: value}, allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _on_term(number: int, frame: FrameType | None) -> None:
    # The service manager sends SIGTERM, then the daemon does: the first signal cleans up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(number)


def main() -> None:
    """Run the judge process; see the module's text."""
    # Not dumpable: no process of another user may trace this process or read its memory, which holds the seeds.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGTERM, _on_term)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    settings = config.load_judge()
    try:
        if sys.argv[1:2] == ["--reap"] and settings.runner_helper:
            helper.Client(settings.runner_helper).image_digests()  # it answers when the last judge's are gone
        elif sys.argv[1:2] == ["--reap"]:
            client = container.connect()
            owners = sys.argv[2:] or [settings.runner_id]
            log.info("removed %d containers", sum(container.reap(client, owner) for owner in owners))
        else:
            spares, beside = 0, list[int]()
            if sys.argv[1:2] == ["--spares"]:
                spares, beside = int(sys.argv[2]), sorted(accelerators.listed(",".join(sys.argv[3:])))
            stand_by(settings, (B,) if sys.argv[1:] == ["--tests"] else (B, A), spares, beside)
    except (SandboxError, ConfigError, OSError) as err:
        log.error("%s", err)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
