"""Replay of a stored measurement: the schedule runs again on the stored samples, and every decision is compared. Pure.

The stored windows are ruled on again, the stored samples are timed again, and the state machine is fed with both. Its
commands must match the stored blocks, and its voids, charges and conclusions must match the evidence.
"""

from dataclasses import dataclass, field
from typing import Any

from runner.evidence import certificate, throttle
from runner.evidence.schedule import ABBA, ABIIBA, End, I, Rest, Run, Schedule
from runner.evidence.schema import Evidence, Timing
from runner.evidence.throttle import SET_ASIDE, VALID, Window, breaks, guest_after, rule_block


@dataclass(frozen=True)
class Difference:
    """Difference between the report and the result that follows from the stored data."""

    what: str
    said: Any
    found: Any


class Diverged(Exception):
    """The schedule asks for a block that was not run. No comparison is possible from here on."""


def rerun(timing: Timing, evidence: Evidence) -> list[Difference]:
    """Return the differences of one case. A case that was cut short (by a wrong output, a fault, or a device that was
    set aside) has no end to compare; every other case has."""
    for name, apart in certificate.offsets(
        evidence.own_calls, evidence.own_long, evidence.own_lean, rules=evidence.rules
    ).items():
        said = getattr(timing, name)
        is_old = said is None and name != "lean_gaps"  # older reports have no gaps
        if said != apart and not is_old:
            return [Difference(f"case {timing.case}: {name}", said, apart)]
    if not timing.ended and (evidence.fault is not None or not evidence.is_good or evidence.set_aside):
        return []
    if not timing.idle:
        return [Difference(f"case {timing.case}: idle", "no calls", "calls, which come first in each case")]
    again = _Again(timing, evidence)
    try:
        end = again.run()
    except Diverged as diverged:
        return [*again.differences, Difference(f"case {timing.case}", "what is stored", str(diverged))]
    found = {"ended": end.how, "ended_why": end.reason, "calls": again.plan.calls, "quads": len(again.plan.quads)}
    for name, value in found.items():
        said = len(timing.quads) if name == "quads" else getattr(timing, name)
        if said != value:
            again.differences.append(Difference(f"case {timing.case}: {name}", said, value))
    for number, (stored, quad) in enumerate(zip(timing.quads, again.plan.quads, strict=False), 1):
        voids = [stored.void, stored.charged], [quad.void, quad.charged]
        if voids[0] != voids[1]:
            again.differences.append(Difference(f"case {timing.case}, quad {number}: void", *voids))
    return again.differences


@dataclass
class _Again:
    """Replay of timing.CaseTiming, with the stored evidence in place of sides and telemetry."""

    timing: Timing
    evidence: Evidence
    differences: list[Difference] = field(default_factory=list)
    _warm: dict[str, Window] = field(default_factory=dict)
    _guest: str = ""

    def __post_init__(self) -> None:
        timing = self.timing
        self.plan = Schedule(
            self.evidence.profile,
            ABIIBA if any(warm.side == I for warm in timing.warm_ups) else ABBA,
            most_calls=timing.calls or 1 << 20,
        )
        self._medians = {side: iter(medians) for side, medians in timing.warm.items()}
        self._warm_ups = iter(timing.warm_ups)
        self._blocks = iter([block for quad in timing.quads for block in quad.blocks])
        self._constant = certificate.constant_ns(timing.idle, certified=self.evidence.certified)

    def run(self) -> End:
        while not isinstance(command := self.plan.next(), End):
            if isinstance(command, Rest):
                self.plan.rested()
            elif command.warm:
                self._warm_up(command)
            else:
                self._block(command)
        if next(self._blocks, None) is not None or next(self._warm_ups, None) is not None:
            raise Diverged("the schedule ends before what is stored does")
        return command

    def _warm_up(self, command: Run) -> None:
        self._guest = guest_after(self._guest, command.side)
        stored = next(self._warm_ups, None)
        if stored is None or stored.side != command.side:
            raise Diverged(f"a warm-up of the {command.side} that was not made")
        window = stored.heat
        ruling = throttle.rule(window, self._warm.get(command.side))
        self._warm[command.side] = window
        known = ruling.action != SET_ASIDE
        median = next(self._medians.get(command.side, iter(())), None) if known else None
        if known and median is None:
            raise Diverged(f"a warm-up of the {command.side} without its time")
        times = [median] if median is not None else []
        self.plan.ran(times, stored.took_ns / 1e9, ruling, command.side if ruling.charged else "")

    def _block(self, command: Run) -> None:
        stored = next(self._blocks, None)
        if stored is None:
            raise Diverged("the stored blocks end before the schedule does")
        samples = stored.calls
        ruling, charged = rule_block(
            command.side,
            [*samples, *stored.lean],
            stored.heat,
            warm=self._warm.get(command.side),
            probe_limit_ns=self.timing.probe_limit_ns,
            guest=self._guest,
        )
        asked, given = (command.side, command.calls), (stored.side, len(samples))
        if asked != given and not breaks(ruling):  # a block in which the device broke has no samples
            raise Diverged(f"the schedule asks for {asked}, and {given} is stored")
        self._guest = guest_after(self._guest, command.side)
        said, found = stored.ruling.get("reason", ""), ruling.reason if ruling.action != VALID else ""
        if said != found:
            what = f"case {self.timing.case}, quad {len(self.plan.quads)}, a block of the {command.side}: ruling"
            self.differences.append(Difference(what, said, found))
        clock, certified = self.evidence.clock, self.evidence.certified
        times = [sample.at_once_ns(self._constant, clock=clock, certified=certified) for sample in samples]
        self.plan.ran(times, stored.took_ns / 1e9, ruling, charged)
