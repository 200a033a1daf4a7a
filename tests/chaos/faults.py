"""The faults of a chaos run: each breaks one target, holds it broken for a while, and lets it go.

A fault is a context: it is broken inside, and after it the site itself mends the consequences. `strike`
measures from the first moment until the target works again, and until the next result is stored after that.
"""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import psutil

from sandbox.policy import LABEL
from tests.chaos.parts import Part, await_that
from tests.chaos.proxy import DELAY, DROP, DUPLICATE
from tests.chaos.site import LEASE_S, WEBS, Site

JUDGE: Final = "runner.job.judge_main"
BEYOND_A_LEASE_S: Final = 1.5 * LEASE_S
LONGEST_DOWN_S: Final = 2.0  # until the service manager restarts a process
DISTURBED_S: Final = 8.0
HELD_WITHIN_S: Final = 15.0
BACK_WITHIN_S: Final = 240.0
CLOCK_S: Final = (-600, -30, 30, 600)
FINISHED: Final = "SELECT count(*) FROM judging_attempt WHERE state IN ('done', 'cancelled')"
HOLDS: Final = """
SELECT attempt.id FROM judging_attempt AS attempt JOIN judging_runner AS runner ON runner.id = attempt.runner_id
 WHERE runner.name = '{}' AND attempt.state IN ('claimed', 'building', 'checking', 'timing')
"""

# Its context may give a victim's name, where the target alone does not identify the victim.
Act = Callable[[Site, str, random.Random], AbstractContextManager[str | None]]


@dataclass(frozen=True)
class Fault:
    name: str
    targets: tuple[str, ...]
    act: Act
    greets: bool = False  # its target is back when it has greeted the site again


@dataclass(frozen=True)
class Strike:
    """What a fault did. Times in seconds from its first moment; None: not within BACK_WITHIN_S."""

    fault: str
    target: str
    at: datetime  # its first moment
    victim: str
    held_s: float
    back_s: float | None
    result_s: float | None  # None also if no work was left


@contextmanager
def killed(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    part = site.parts[target]
    part.is_held = True
    try:
        part.kill()
        time.sleep(chance.uniform(0, LONGEST_DOWN_S))
        yield
    finally:
        part.is_held = False


@contextmanager
def child_killed(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    """Kill the judge of a runner, or one web process of a web host."""
    part = site.parts[target]
    assert isinstance(part, Part)
    if found := part.descendants(JUDGE if target in site.runners else "spawn_main"):
        with suppress(psutil.NoSuchProcess):
            chance.choice(found).kill()
    yield


@contextmanager
def container_killed(site: Site, target: str, chance: random.Random) -> Iterator[str | None]:
    """Kill a container, and give the runner whose judge started it."""
    victim = None
    with suppress(Exception), site.engine.client() as client:  # it may end at the same moment
        if found := sorted(client.containers.list(sparse=True), key=lambda container: str(container.id)):
            chosen = chance.choice(found)
            chosen.kill()
            victim = site.runner_of(chosen.attrs["Labels"][LABEL])
    yield victim


@contextmanager
def paused(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    part = site.parts[target]
    assert isinstance(part, Part)
    if target in site.runners:
        await_work(site, target)
    part.is_held = True
    try:
        part.signal(signal.SIGSTOP)
        time.sleep(BEYOND_A_LEASE_S)
        yield
    finally:
        part.signal(signal.SIGCONT)
        part.is_held = False


@contextmanager
def judge_paused(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    part = site.parts[target]
    assert isinstance(part, Part)
    await_work(site, target)
    judges = part.descendants(JUDGE)
    for judge in judges:
        with suppress(psutil.NoSuchProcess):
            judge.suspend()
    try:
        time.sleep(BEYOND_A_LEASE_S)
        yield
    finally:
        for judge in judges:
            with suppress(psutil.NoSuchProcess):
                judge.resume()


def disturbed(how: str) -> Act:
    @contextmanager
    def act(site: Site, target: str, chance: random.Random) -> Iterator[None]:
        site.proxies[target].fault = how
        try:
            time.sleep(DISTURBED_S)
            yield
        finally:
            site.proxies[target].fault = ""

    return act


@contextmanager
def disk_full(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    if target in site.runners:
        await_work(site, target)
    with site.disks[target].full():
        time.sleep(DISTURBED_S)
        yield


@contextmanager
def unplugged(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    """Unplug a host; a runner until its attempt is lost, and its report comes late."""
    held = await_work(site, target) if target in site.runners else 0
    site.hosts[target].plug(False)
    try:
        time.sleep(BEYOND_A_LEASE_S)
        if held:
            lost = f"SELECT 1 FROM judging_attempt WHERE id = {held} AND state NOT IN ('done', 'lost', 'cancelled')"
            with suppress(TimeoutError):
                await_that(lambda: not site.rows(lost), BEYOND_A_LEASE_S, "the loss")
        yield
    finally:
        site.hosts[target].plug(True)


@contextmanager
def clock_moved(site: Site, target: str, chance: random.Random) -> Iterator[None]:
    site.move_clock(target, chance.choice(CLOCK_S))
    try:
        time.sleep(DISTURBED_S)
        yield
    finally:
        site.move_clock(target, 0)


def await_work(site: Site, runner: str) -> int:
    """Wait until this runner holds an attempt, and return it; 0: it got none in time."""
    with suppress(TimeoutError):
        await_that(lambda: site.rows(HOLDS.format(runner)), HELD_WITHIN_S, "work for the runner")
    return next((int(held) for (held,) in site.rows(HOLDS.format(runner))), 0)


def faults(runners: tuple[str, ...]) -> tuple[Fault, ...]:
    """Return all faults of a site with these runners."""
    return (
        Fault("runner killed", runners, killed, greets=True),
        Fault("judge killed", runners, child_killed),
        Fault("site worker killed", ("worker",), killed),
        Fault("web process killed", WEBS, child_killed),
        Fault("web host killed", WEBS, killed),
        Fault("sweeper killed", ("sweeper",), killed),
        Fault("broker killed, restarted empty", ("broker",), killed),
        Fault("PostgreSQL killed", ("PostgreSQL",), killed),
        Fault("container killed", ("containers",), container_killed),
        Fault("Docker engine killed", ("dockerd",), killed),
        Fault("runner paused beyond its lease", runners, paused),
        Fault("judge paused beyond its lease", runners, judge_paused),
        Fault("web host paused", WEBS, paused),
        Fault("sweeper paused", ("sweeper",), paused),
        Fault("answers lost", (*runners, "client"), disturbed(DROP)),
        Fault("answers delayed", (*runners, "client"), disturbed(DELAY)),
        Fault("requests repeated", (*runners, "client"), disturbed(DUPLICATE)),
        Fault("runner's disk full", runners, disk_full),
        Fault("PostgreSQL's disk full", ("PostgreSQL",), disk_full),
        Fault("runner host unplugged", runners, unplugged),
        Fault("web host unplugged", WEBS, unplugged),
        Fault("clock moved", ("web-2", *runners[1::2]), clock_moved),
    )


def strike(fault: Fault, target: str, site: Site, chance: random.Random, has_work: Callable[[], bool]) -> Strike:
    began, at = time.monotonic(), datetime.now(UTC)
    greeted = site.greeted(target)

    def is_back() -> bool:
        if site.ended.is_set():
            return True
        if fault.greets:
            return site.greeted(target) not in (None, greeted)
        return target not in site.parts or site.is_up(target)

    with fault.act(site, target, chance) as victim:
        pass
    held_s = time.monotonic() - began
    back_s = result_s = None
    with suppress(TimeoutError):
        await_that(is_back, BACK_WITHIN_S, f"the recovery of {target}")
        back_s = time.monotonic() - began
        finished = site.rows(FINISHED)
        await_that(
            lambda: site.ended.is_set() or not has_work() or site.rows(FINISHED) > finished,
            BACK_WITHIN_S,
            "the next result",
        )
        result_s = time.monotonic() - began if has_work() else None
    return Strike(fault.name, target, at, victim or target, held_s, back_s, result_s)
