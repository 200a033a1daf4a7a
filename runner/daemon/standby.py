"""Judges prepared ahead of their jobs, and cleared away after them.

On `cpu`, RUNNER_STANDBY judges for tests, which need no baseline's container, wait beside a judge with all sides. There
the next judges are prepared, and the last judge is renewed or cleared away, in the background, so that a test waits for
neither. A renewed judge for tests (runner/job/judge_main.py) finds the next test of the same problem loaded.
On a GPU, and with RUNNER_STANDBY=0, there is one judge at a time, and each is gone before the next is prepared. On a
GPU it renews itself after a job that never ranks, with RUNNER_STANDBY containers that import torch ahead: after a test
for further tests, after timed work for either. What may rank gets a judge that had no job before.

Always true: while a job is timed, no judge is prepared, renewed or cleared away, and the judges that wait are stopped
(SIGSTOP) beside their frozen containers. Each living judge has a slot, which names its containers. After a judge
failed, the containers of its slot alone are removed. A daemon that starts removes the containers of all slots.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

import structlog

from runner.daemon.judge_handle import JudgeProcess
from runner.errors import JudgeFault, JudgeStopped
from runner.host import accelerators

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

SLOTS: Final = 12  # judges alive at once: waiting, at work, and being cleared away
PREPARE_LIMIT_S: Final = 180.0  # from the start of a judge until it waits for a job
RETRY_CAP_S: Final = 60.0  # between preparations in the background that fail
REST_S: Final = 2.0  # after such a job, no judge with all sides is prepared for so long: another may follow


@dataclass(frozen=True, eq=False)
class Judge:
    """A judge process that waits for its job or has it."""

    process: JudgeProcess
    slot: int
    is_full: bool  # with all sides, as timed jobs need them


class Standby:
    """All judges of a daemon. `stop` and `stop_work` may be called from any thread, the rest from one at a time.

    `make` returns the judge of a slot, with all sides or for tests alone; `reap` removes the containers of a slot;
    `renews`: also a judge with all sides renews itself after a job that never ranks.
    """

    def __init__(
        self,
        make: Callable[[int, bool], JudgeProcess],
        reap: Callable[[int], None],
        spares: int,
        stopping: threading.Event,
        *,
        renews: bool = False,
    ) -> None:
        self._make, self._reap, self._spares, self._stopping, self._renews = make, reap, spares, stopping, renews
        self._slots: queue.LifoQueue[int] = queue.LifoQueue()
        for slot in reversed(range(SLOTS)):
            self._slots.put(slot)
        self._guard = threading.Lock()
        self._living: dict[int, JudgeProcess] = {}  # by slot
        self._waiting: list[Judge] = []
        self._at_work: Judge | None = None
        self._preparing: dict[Future[Judge | None], bool] = {}  # whether it is to have all sides
        self._renewing: set[Future[Judge | None]] = set()  # those of `_preparing` that had a job before
        self._clearing: set[Future[None]] = set()
        self._preparer = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        # Each loads torch on the tenants' cores: more at once than those would all be ready late.
        at_once = min(SLOTS, len(accelerators.share_out(sorted(os.sched_getaffinity(0))).tenant))
        self._renewer = ThreadPoolExecutor(at_once, thread_name_prefix="renew")
        self._clearer = ThreadPoolExecutor(SLOTS, thread_name_prefix="clear")
        self._failures = 0
        self._not_before = 0.0  # the next preparation in the background
        self._no_full_before = 0.0

    def waiting(self) -> JudgeProcess:
        """Return a judge that waits for a job, prepared now if there is none. Raises JudgeFault, JudgeStopped.

        A while after its job, a judge that had one makes room for one that all work can have.
        """
        if time.monotonic() >= self._no_full_before:
            self._clear_used()
        while not self._take_in():
            if not self._preparing:
                self._prepare(is_full=not self._spares)
            wait(self._preparing, return_when=FIRST_COMPLETED)
            self._take_in(raising=True)
        return self._waiting[0].process

    def take(self, *, timed: bool, fresh: bool, problem: str = "") -> JudgeProcess:
        """Return a judge for a job of this problem, until `retire`. Raises as `waiting`.

        A timed job gets a quiet host. `fresh`: the judge may not have had a job before.
        """
        self._no_full_before = 0.0 if timed and (fresh or not self._renews) else math.inf
        if timed:
            self._give_up_queued()
            wait(self._preparing)
            self._take_in()
            self._clear_used(keep_timed=not fresh)
            while not any(judge.is_full for judge in self._waiting):
                self._prepare(is_full=True)
                wait(self._preparing)
                self._take_in(raising=True)
            wait(self._clearing)
        else:
            self.waiting()
        others = ("", problem)  # a judge that has another problem loaded would have to start an oracle
        judge = sorted(
            self._waiting,
            key=lambda judge: (
                judge.is_full is not timed,
                judge.process.problem != problem,
                judge.process.problem not in others,
            ),
        )[0]
        self._waiting.remove(judge)
        self._at_work = judge
        if timed:
            for other in self._waiting:
                other.process.pause()
        return judge.process

    def retire(self, *, at_once: bool = False) -> None:
        """Renew or end the judge that had the job: `at_once` and in sequence before this returns, else in the
        background."""
        self._no_full_before = min(self._no_full_before, time.monotonic() + REST_S)
        for other in self._waiting:
            other.process.resume()
        if (judge := self._at_work) is not None:
            self._at_work = None
            if at_once or not (self._renews if judge.is_full else self._spares):
                self._clear(judge, at_once=at_once)
            else:
                renewed = self._renewer.submit(self._renewed, judge)
                self._preparing[renewed] = judge.is_full
                self._renewing.add(renewed)

    def refill(self) -> None:
        """Begin to prepare in the background what is missing: judges for tests, then a judge with all sides."""
        if not self._spares or self._stopping.is_set() or time.monotonic() < self._not_before:
            return
        self._give_up_queued()
        kinds = [judge.is_full for judge in self._take_in()] + list(self._preparing.values())
        for _ in range(self._spares - kinds.count(False)):
            self._prepare(is_full=False)
        if True not in kinds and time.monotonic() >= self._no_full_before:
            self._prepare(is_full=True)

    @property
    def is_short(self) -> bool:
        """Whether it is time to `refill`: a judge that waited has ended, or a judge is missing."""
        if any(not judge.process.waiting for judge in list(self._waiting)):
            return True
        now, kinds = time.monotonic(), [judge.is_full for judge in list(self._waiting)]
        if now >= self._no_full_before and self._used():
            return True
        for one, is_full in list(self._preparing.items()):  # the bell's thread may just have given some up
            if not (one.done() and (one.cancelled() or one.exception())):  # what is done stays as it is
                kinds.append(is_full)
        is_missing = kinds.count(False) < self._spares or (True not in kinds and now >= self._no_full_before)
        return bool(self._spares) and is_missing and now >= self._not_before

    def stop_work(self, why: str) -> None:
        """End the judge that has the job soon."""
        if (judge := self._at_work) is not None:
            judge.process.stop(why)

    def stop(self, why: str) -> None:
        """End all judges soon."""
        with self._guard:
            living = list(self._living.values())
        for process in living:
            process.stop(why)

    def put_away(self, why: str) -> None:
        """End all judges, and wait until they are gone."""
        self._give_up_queued()
        self.stop(why)
        wait(self._preparing)
        self._take_in()
        for judge in (*self._waiting, *filter(None, (self._at_work,))):
            judge.process.stop(why)
            self._clear(judge)
        self._waiting, self._at_work = [], None
        wait(self._clearing)

    def close(self) -> None:
        self.put_away("shutdown")
        self._preparer.shutdown()
        self._renewer.shutdown()
        self._clearer.shutdown()

    def _give_up_queued(self) -> None:
        """Give up the preparations that have not begun. A renewal is never given up: its judge lives."""
        self._preparing = {
            one: is_full for one, is_full in self._preparing.items() if one in self._renewing or not one.cancel()
        }

    def _take_in(self, *, raising: bool = False) -> list[Judge]:
        """Return the judges that wait now: with those that were prepared since, without those that have ended.

        A preparation that failed is logged, and tried again later; or raised, if a job or the site waits for it.
        """
        self._clearing = {one for one in self._clearing if not one.done()}
        faults: list[BaseException] = []
        for one in [one for one in self._preparing if one.done()]:
            del self._preparing[one]
            self._renewing.discard(one)
            if fault := one.exception():
                faults.append(fault)
            elif judge := one.result():
                self._failures = 0
                self._waiting.append(judge)
                if judge.is_full and judge.process.problem:
                    self._no_full_before = time.monotonic() + REST_S
        for judge in [judge for judge in self._waiting if not judge.process.waiting]:
            self._waiting.remove(judge)
            self._clear(judge, at_once=not self._spares)
        if faults and raising:
            raise faults[0]
        for fault in faults:
            if not isinstance(fault, JudgeStopped):
                log.error("judge_not_prepared", error=str(fault), reason=getattr(fault, "reason", ""))
                self._not_before = time.monotonic() + min(RETRY_CAP_S, 2.0**self._failures)
                self._failures += 1
        return self._waiting

    def _used(self) -> list[Judge]:
        """Return the judges with all sides that wait after a job."""
        return [judge for judge in list(self._waiting) if judge.is_full and judge.process.problem]

    def _clear_used(self, *, keep_timed: bool = False) -> None:
        for judge in self._used():
            if not (keep_timed and judge.process.was_timed):
                self._waiting.remove(judge)
                self._clear(judge, at_once=True)

    def _prepare(self, *, is_full: bool) -> None:
        self._preparing[self._preparer.submit(self._prepared, is_full)] = is_full

    def _prepared(self, is_full: bool) -> Judge:
        slot = self._slots.get()
        judge = Judge(self._make(slot, is_full), slot, is_full)
        with self._guard:
            self._living[slot] = judge.process
        if self._stopping.is_set():  # stopped before there was a judge
            judge.process.stop("shutdown")
        try:
            judge.process.prepare(PREPARE_LIMIT_S)
        except (JudgeFault, JudgeStopped):
            self._clear_away(judge)
            raise
        return judge

    def _renewed(self, judge: Judge) -> Judge | None:
        """Return the judge when it waits for a further job; None if it ended instead, when it is gone."""
        if judge.process.renew():
            return judge
        self._clear_away(judge)
        return None

    def _clear(self, judge: Judge, *, at_once: bool = False) -> None:
        if at_once or not self._spares:
            self._clear_away(judge)
        else:
            self._clearing.add(self._clearer.submit(self._clear_away, judge))

    def _clear_away(self, judge: Judge) -> None:
        """End a judge and remove its containers."""
        try:
            if not judge.process.finish():
                self._reap(judge.slot)
        finally:
            with self._guard:
                del self._living[judge.slot]
            self._slots.put(judge.slot)
