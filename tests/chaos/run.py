"""A chaos run: submissions are sent and judged while a seeded schedule of faults strikes; then the audit.

Every fault strikes once, in an order that the seed decides, and then again, in a new order, until all submissions are
judged; with `once`, no more. Three faults may overlap, but never on the same target. A runner that the site suspended
for its losses is resumed, as an operator would.
"""

import json
import math
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from tests.chaos.audit import BOARDS, JOURNAL, Finding, audit
from tests.chaos.faults import Fault, Strike, faults, strike
from tests.chaos.parts import await_that
from tests.chaos.site import BOARD, WEBS, Site

TEST_QUOTA: Final = 14  # of a person
GREEDY_EVERY: Final = 10  # turns: the first person sends in another's turn, and so beyond the quota
GREEDY_TURN: Final = 9  # of them: with 5 people, as with any even number, the first person's usual turns are others
RANKED_EVERY: Final = 20  # turns; a ranked run takes ten times as long
MOST_WAITING: Final = 5  # for each runner
RUNNERS: Final = 2
PAUSE_S: Final = 2.0  # between two strikes at most, and a quarter of it at least
AT_ONCE: Final = 3
SETTLED_WITHIN_S: Final = 300.0
WAITING: Final = "SELECT count(*) FROM judging_attempt WHERE state NOT IN ('done', 'lost', 'cancelled')"
OUTCOMES: Final = """
SELECT outcome, reason, count(*) FROM judging_attempt WHERE is_current GROUP BY 1, 2 ORDER BY 3 DESC
"""
NOT_PASSED: Final = """
SELECT attempt.id, runner.name, attempt.outcome, attempt.reason, attempt.claimed_at, attempt.finished_at
  FROM judging_attempt AS attempt LEFT JOIN judging_runner AS runner ON runner.id = attempt.runner_id
 WHERE attempt.is_current AND attempt.outcome <> 'passed' ORDER BY attempt.id
"""
LOST: Final = "SELECT count(*) FROM judging_attempt WHERE state = 'lost'"
STYLES: Final = (
    "torch.add(x, y, out=out)",
    "out.copy_(x).add_(y)",
    "out.copy_(y).add_(x)",
    "torch.sub(x, -y, out=out)",
)


@dataclass
class Told:
    """Result of a run."""

    submissions: int
    refused: int
    seed: int
    took_s: float
    strikes: list[Strike]
    findings: list[Finding]
    outcomes: list[tuple[Any, ...]]
    not_passed: list[str]
    counts: dict[str, int]

    def table(self) -> str:
        by_fault: dict[str, list[Strike]] = {}
        for one in self.strikes:
            by_fault.setdefault(one.fault, []).append(one)
        lines = [
            "| fault | strikes | held, s | target works again after, s | next result after, s |",
            "| --- | --- | --- | --- | --- |",
        ]
        for name, struck in by_fault.items():
            held, back, result = (spread([getattr(one, field) for one in struck]) for field in FIELDS)
            lines.append(f"| {name} | {len(struck)} | {held} | {back} | {result} |")
        return "\n".join(lines)

    def text(self) -> str:
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        outcomes = ", ".join(f"{n} {outcome}{f' ({reason})' * bool(reason)}" for outcome, reason, n in self.outcomes)
        summary = f"{self.submissions} submissions, seed {self.seed}, {self.took_s:.0f} s, {len(self.strikes)} strikes"
        lines = [summary, f"outcomes: {outcomes}", f"on the way: {counts}", "", self.table(), ""]
        lines += self.not_passed
        lines += [f"{finding.check}: {finding.text}" for finding in self.findings]
        return "\n".join([*lines, f"audit: {len(self.findings)} findings"])


FIELDS: Final = ("held_s", "back_s", "result_s")


def spread(times: list[float | None]) -> str:
    """Return the median and the largest of the times."""
    known = [one for one in times if one is not None]
    if not known:
        return "-"
    return f"{known[0]:.1f}" if len(known) == 1 else f"{median(known):.1f} (max {max(known):.1f})"


def beside(row: tuple[Any, ...], strikes: list[Strike]) -> str:
    """Return a line about an attempt that did not pass, with the strikes between its claim and its end.

    The site's clock measured the attempt: while the clock of a web host was moved, the line may miss strikes.
    """
    pk, runner, outcome, reason, claimed, finished = row
    text = f"attempt {pk}: {outcome} ({reason}) on {runner}"
    if claimed is None or finished is None:
        return text
    meanwhile = [one for one in strikes if one.at <= finished and claimed <= one.at + timedelta(seconds=one.held_s)]
    struck = ", ".join(f"{one.fault} ({one.victim}, {one.at:%T})" for one in meanwhile) or "nothing"
    return f"{text}, {claimed:%T} to {finished:%T}; struck in that time: {struck}"


class Sender:
    """Sends the submissions, each until it is accepted or refused; every key is used for one submission."""

    def __init__(self, site: Site, number: int, until: float, may_send: Callable[[int], bool]) -> None:
        self._site, self._number, self._until, self._may_send = site, number, until, may_send
        self.journal: list[dict[str, Any]] = []
        self.refused: Counter[str] = Counter()
        self.repeated = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name="sender")

    def _run(self) -> None:
        people = len(self._site.tokens)
        with httpx.Client(base_url=self._site.url, trust_env=False, timeout=10) as client:
            turn = 0
            while len(self.journal) < self._number and not self.stopped.is_set() and time.monotonic() < self._until:
                if not self._may_send(len(self.journal)):
                    self.stopped.wait(0.2)
                    continue
                person = 0 if turn % GREEDY_EVERY == GREEDY_TURN else turn % people
                self._send(client, person, "ranked" if turn % RANKED_EVERY == 7 else "test", turn)
                turn += 1

    def _send(self, client: httpx.Client, person: int, mode: str, turn: int) -> None:
        style = STYLES[person % len(STYLES)]
        code = (
            f"import torch\n\n\ndef custom_kernel(data):\n    x, y, out = data\n    {style}\n    return out  # {turn}\n"
        )
        sent = {"board": BOARD, "hardware": "cpu", "mode": mode, "filename": "kernel.py", "code": code}
        headers = {"Authorization": f"Bearer {self._site.tokens[person]}", "Idempotency-Key": str(uuid.uuid4())}
        while not self.stopped.is_set():
            try:
                answer = client.post("/api/v1/submissions", json=sent, headers=headers)
            except httpx.HTTPError:
                answer = None
            if answer is not None and answer.status_code == 201:
                self.repeated += "Idempotent-Replayed" in answer.headers
                self.journal.append({"id": answer.json()["id"], "person": person, "mode": mode})
                return
            if answer is not None and 400 <= answer.status_code < 500:
                self.refused[f"{answer.status_code} {answer.json().get('field', '')}".strip()] += 1
                return
            self.stopped.wait(0.3)


class Operator:
    """Resumes suspended runners."""

    def __init__(self, site: Site) -> None:
        self._site, self._ended, self.resumed = site, threading.Event(), 0
        self._thread = threading.Thread(target=self._run, name="operator")
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(1):
            for (name,) in self._site.rows("SELECT name FROM judging_runner WHERE suspended_at IS NOT NULL"):
                with suppress(RuntimeError):  # the database may be away: tried again
                    self._site.manage("resume_runner", name, "--reason", "the fault was ours")
                    self.resumed += 1

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


class Schedule:
    """The order of the faults, by the seed."""

    def __init__(self, site: Site, seed: int, faults: tuple[Fault, ...], once: bool, pause_s: float) -> None:
        self._site, self._chance, self._faults, self._once = site, random.Random(seed), faults, once
        self.seed, self._pause_s = seed, pause_s
        self._due: list[Fault] = []
        self._busy: set[str] = set()
        self._running: list[Future[Strike]] = []
        self.began = 0

    @property
    def share(self) -> float:
        """Return the share of the faults that have struck."""
        return min(1.0, self.began / len(self._faults))

    def run(self, has_work: Callable[[], bool]) -> list[Strike]:
        """Strike until every fault has, and no work is left; with `once`, until every fault has."""
        with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="fault") as pool:
            try:
                while self.began < len(self._faults) or (has_work() and not self._once):
                    running = [one for one in self._running if not one.done()]
                    if len(running) >= AT_ONCE or not self._next(pool, has_work):
                        time.sleep(0.1)
                        continue
                    time.sleep(self._chance.uniform(self._pause_s / 4, self._pause_s))
            except BaseException:
                self._site.ended.set()  # no strike waits for a recovery
                raise
        return [one.result() for one in self._running]

    def _next(self, pool: ThreadPoolExecutor, has_work: Callable[[], bool]) -> bool:
        """Begin the next fault that has a free target."""
        self._due = self._due or self._chance.sample(self._faults, len(self._faults))
        for fault in self._due:
            free = [target for target in fault.targets if target not in self._busy]
            if not free:
                continue
            self._due.remove(fault)
            target, chance = self._chance.choice(free), random.Random(self._chance.random())
            self._busy.add(target)
            self.began += 1
            future = pool.submit(strike, fault, target, self._site, chance, has_work)
            future.add_done_callback(lambda _, target=target: self._busy.discard(target))
            self._running.append(future)
            return True
        return False


def play(
    image: str,
    submissions: int,
    seed: int,
    keep: Path,
    *,
    minutes: float = math.inf,
    once: bool = False,
    pause_s: float = PAUSE_S,
    runners: int = RUNNERS,
    test_quota: int = TEST_QUOTA,
) -> Told:
    """Run it, and leave report, boards and logs in the folder `keep`. No submission is sent after `minutes`."""
    keep.mkdir(parents=True, exist_ok=True)
    site = Site(image, people=-(-submissions // test_quota), test_quota=test_quota, seed=seed, runners=runners)
    try:
        return _play(site, submissions, keep, minutes, Schedule(site, seed, faults(site.runners), once, pause_s))
    finally:
        site.keep_logs(keep)
        site.close()


def _play(site: Site, submissions: int, keep: Path, minutes: float, schedule: Schedule) -> Told:
    began, most = time.monotonic(), MOST_WAITING * len(site.runners)

    def waiting() -> int:
        return next((int(number) for (number,) in site.rows(WAITING)), most)

    def may_send(sent: int) -> bool:
        return waiting() < most and sent <= submissions * (schedule.share + 0.1)

    sender, operator = Sender(site, submissions, began + 60 * minutes, may_send), Operator(site)
    sender.thread.start()
    try:
        strikes = schedule.run(lambda: sender.thread.is_alive() or waiting() > 0)
        sender.thread.join()
        await_that(lambda: waiting() == 0, SETTLED_WITHIN_S, "the end of all attempts")
    except TimeoutError:
        pass  # the audit names the attempts
    finally:
        sender.stopped.set()
        sender.thread.join()
        operator.end()
    took_s = time.monotonic() - began
    for name in WEBS:
        await_that(lambda name=name: site.is_up(name), 60, f"{name}'s readiness")
    (keep / JOURNAL).write_text(json.dumps(sender.journal))
    (keep / BOARDS).write_text(json.dumps(dict(site.boards())))
    counts = {
        "attempts lost and replaced": int(site.rows(LOST)[0][0]),
        "late reports refused": sum(log.read_text().count('"report_stale"') for log in site.logs.glob("runner-*.log")),
        "runners resumed": operator.resumed,
        "answers repeated by their key": sender.repeated,
        "submissions over quota refused": sender.refused.total(),
        "restarts": len(site.restarts),
        **{f"HTTP messages: {how}": n for how, n in sum((p.hit for p in site.proxies.values()), Counter()).items()},
    }
    if findings := audit(site.database, keep):
        site.keep_database(keep)
    outcomes, not_passed = site.rows(OUTCOMES), [beside(row, strikes) for row in site.rows(NOT_PASSED)]
    sent, refused = len(sender.journal), sender.refused.total()
    told = Told(sent, refused, schedule.seed, took_s, strikes, findings, outcomes, not_passed, counts)
    (keep / "report.txt").write_text(told.text())
    return told
