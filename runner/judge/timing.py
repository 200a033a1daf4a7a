"""The timed part of one case: drives the schedule (pure) with sides, telemetry and chance, and writes the evidence.

`Side`, `Telemetry`, `Clock`, `Pause` and the chance are the only sources of samples, heat, time and luck; each has a
fake in the tests. What becomes of a block is decided by rules over what was read (throttle.py, certificate.is_sane, the
idle probe), never here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from runner.evidence import certificate, schedule, stats, throttle
from runner.evidence.certificate import Sample
from runner.evidence.schedule import A, End, Rest, Run, Schedule
from runner.evidence.throttle import SET_ASIDE, VALID, VOID, Ruling, Window
from runner.judge.data.clock import Clock
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.device.telemetry import Telemetry

WARM_CALLS: Final = (2, 4)  # of a first window; how many is drawn, so that no call can tell by its number what it is
PROBE_SLACK_NS: Final = 500_000  # beyond PROBE_FACTOR times what an idle device takes, somebody works on it: a turn of
# another context takes 2.4 ms on an H200, a hiccup of the judge's own process up to 0.3
PROBE_FACTOR: Final = 5
FAILURES: Final = (Fault, IncumbentFailed, OracleFailed)

Evidence = dict[str, Any]
Times = Callable[[Sample], float]  # a call's time as far as it is known while measuring goes on, in ns
Pause = Callable[[str], None]  # until what voided a block, a reason of throttle.py, is over


@dataclass(frozen=True)
class Settled:
    """What comparing a block's outputs found: the first wrong one as an entry of `checks`, and the exact repeats.
    `seeds` of its inputs, in the order of its calls: all of them, also of those that do not count."""

    wrong: Evidence | None = None
    repeats: list[Evidence] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)


class Side(Protocol):
    """One container in one case. A block is made ready, run with nothing of ours in between, and settled."""

    def make_ready(self, calls: int) -> None: ...

    def run_block(self) -> list[list[int]]:
        """A sample of each call that counts."""
        ...

    def settle(self) -> Settled: ...


@dataclass
class CaseTiming:
    """One case. `timing` is its entry in the evidence; it is complete when `run` returns."""

    plan: Schedule
    sides: Mapping[str, Side]
    telemetry: Telemetry
    clock: Clock
    times: Times
    pause: Pause
    chance: random.Random
    timing: Evidence
    progress: Callable[[int], None]
    _warm: dict[str, Window] = field(default_factory=dict)
    _guest: str = ""  # the side of foreign code that ran last

    def run(self) -> Evidence | None:
        """The entry of a wrong output, which ends everything; else None. Raises Fault, OracleFailed."""
        while not isinstance(command := self.plan.next(), End):
            if isinstance(command, Rest):
                self.pause(command.why)
                self.plan.rested()
            elif wrong := self._run(command):
                return wrong
        self.timing |= {"ended": command.how, "ended_why": command.reason, "calls": self.plan.calls}
        self.timing["warm"] = {side: list(windows) for side, windows in self.plan.windows.items()}
        return None

    def _run(self, command: Run) -> Evidence | None:
        """One block. What failed in it fails here, unless the device broke meanwhile: that says nothing about code."""
        side, began_ns = self.sides[command.side], self.clock.now_ns()
        side.make_ready(command.calls or min(self.chance.randint(*WARM_CALLS), self.plan.most_calls))
        samples, settled, failed = list[list[int]](), Settled(), None
        self.telemetry.begin()
        try:
            samples = side.run_block()
        except FAILURES as err:
            failed = err
        finally:
            window = self.telemetry.end()
        try:
            settled = side.settle() if failed is None else settled
        except FAILURES as err:
            failed = err
        ruling, charged = rule_block(
            command.side,
            samples,
            window,
            warm=self._warm.get(command.side),
            probe_limit_ns=self.timing["probe_limit_ns"],
            guest=self._guest,
        )
        self._guest = guest_after(self._guest, command.side)
        if not breaks(ruling):
            if failed is not None:
                raise failed
            if settled.wrong is not None:
                return settled.wrong
            self.timing["repeats"] += [{"side": command.side, **repeat} for repeat in settled.repeats]
        took_ns = self.clock.now_ns() - began_ns
        self.plan.ran([self.times(sample) for sample in samples], took_ns / 1e9, ruling, charged)
        entry = {"side": command.side, "took_ns": took_ns, "heat": window.to_json()}
        if charged not in ("", A) and ruling.reason.startswith(throttle.XID):
            raise Fault(
                "runtime_error", "device_error", f"The driver reported an error of your kernel ({ruling.reason})."
            )
        if command.warm:
            self._warm[command.side] = window
            self.timing["warm_ups"].append(entry)
        else:
            self._store({**entry, "calls": samples, "seeds": settled.seeds}, ruling)
        return None

    def _store(self, block: Evidence, ruling: Ruling) -> None:
        quads = self.timing["quads"]
        if len(quads) < len(self.plan.quads):
            quads.append({"blocks": []})
        if ruling.action != VALID:
            block["ruling"] = {"reason": ruling.reason, **ruling.figures}
        quads[-1]["blocks"].append(block)
        state = self.plan.quads[-1]
        quads[-1] |= {"void": state.void, "charged": state.charged}
        if state.complete:
            self.progress(len(self.plan.valid))


def rule_block(
    side: str,
    samples: Sequence[Sample],
    window: Window,
    *,
    warm: Window | None,
    probe_limit_ns: float,
    guest: str,
) -> tuple[Ruling, str]:
    """What becomes of a block, and the side to blame for it. Pure: a replay rules again from what is stored.

    `warm`: around this side's last warm-up. `guest`: the side of foreign code that ran last before it: what is still at
    work when the block begins is that one's.
    """
    ruling = throttle.rule(window, warm)
    if ruling.action != SET_ASIDE:
        if not all(certificate.is_sane(sample) for sample in samples):
            return Ruling(VOID, "clock"), ""
        slow = [number for number, sample in enumerate(samples) if sample[4] > probe_limit_ns > 0]
        if slow:
            slowest = max(sample[4] for sample in samples)
            return Ruling(VOID, schedule.BUSY, figures={"probe_ns": slowest}), guest_after(guest, side, slow[0])
    return ruling, side if ruling.charged else ""


def breaks(ruling: Ruling) -> bool:
    """Did the device break, so that whatever came of it says nothing about anybody's code?"""
    return ruling.action == SET_ASIDE and throttle.is_broken(ruling.reason)


def guest_after(guest: str, side: str, calls: int = 1) -> str:
    """The side of foreign code that ran last, after so many calls of this side."""
    return side if calls and side != A else guest


def probe_limit_ns(idle: Sequence[Sample], before: Sequence[Sample] = ()) -> float:
    """An idle probe above this met somebody else's work; 0 where there is no probe.

    `before`: calls from before there was a submission; what one left on the device slows the probes of idle calls, too.
    """
    usual = min(stats.median([sample[4] for sample in samples]) for samples in (idle, before) if samples)
    return PROBE_FACTOR * usual + PROBE_SLACK_NS if usual > 0 else 0.0


def blank(case: str, arguments: dict[str, Any]) -> Evidence:
    """A case's entry before anything was measured."""
    return {
        "case": case,
        "arguments": arguments,
        "idle": [],
        "warm": {},
        "warm_ups": [],
        "calls": 0,
        "queued": False,
        "places": 1,
        "contexts": {},
        "gaps": {},
        "copies": {},
        "quads": [],
        "repeats": [],
        "ended": "",
        "ended_why": "",
        "probe_limit_ns": 0.0,
        "input_bytes": 0,
        "output_bytes": 0,
        "eager_ns": None,
    }


def unfit(timing: Evidence) -> str:
    """Why the device must be set aside, if it must."""
    return str(timing["ended_why"]) if timing["ended"] == schedule.UNFIT else ""
