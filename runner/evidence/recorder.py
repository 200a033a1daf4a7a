"""Writer of an attempt's evidence: the only code that changes the models of schema.py. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.evidence import certificate, schema
from runner.evidence.sample import Sample
from runner.evidence.schedule import End, Profile, Schedule
from runner.evidence.schema import Block, Check, Evidence, Fault, Finding, Quad, Repeat, Timing, WarmUp
from runner.evidence.speed_of_light import Limits
from runner.evidence.starved import Share
from runner.evidence.throttle import NONE, VALID, Ruling, Window


class Recorder:
    """Evidence of an attempt while it is written. `begin` comes before all other methods.

    `evidence` can be read at any moment, because a fault can end an attempt at any moment.
    """

    def __init__(self) -> None:
        self.phases_s: dict[str, float] = {}
        self._evidence: Evidence | None = None

    @property
    def evidence(self) -> Evidence:
        assert self._evidence is not None, "begin() was not called"
        return self._evidence

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as the wire carries it; of an attempt that ended before `begin`, its phases alone."""
        if self._evidence is None:
            return {"phases_s": dict(self.phases_s)}
        return self._evidence.model_dump(mode="json")

    def begin(self, *, mode: str, ranking_by: str, profile: Profile) -> None:
        self._evidence = Evidence.model_construct(
            version=schema.VERSION,
            rules=schema.RULES,
            mode=mode,
            ranking_by=ranking_by,
            profile=profile,
            clock=profile.clock,
            certified=False,
            telemetry=NONE,
            hardware="",
            fingerprint={},
            epoch="",
            problem_digest="",
            image="",
            left_out=[],
            cores={},
            phases_s=self.phases_s,
            fault=None,
            checks=[],
            timing=[],
            findings=[],
            set_aside="",
            limits=Limits(),
        )

    def add_circumstances(self, **facts: Any) -> None:
        """Set the facts that a later comparison of this run needs: fields of Evidence."""
        for name, value in facts.items():
            setattr(self.evidence, name, value)

    def add_fault(self, outcome: str, reason: str, message: str, share: Share | None = None) -> None:
        self.evidence.fault = Fault(outcome=outcome, reason=reason, message=message[: schema.TEXT_CHARS])
        self.evidence.processor_share = share

    def add_check(self, check: Check) -> None:
        self.evidence.checks.append(check)

    def add_findings(self, found: Sequence[Finding]) -> None:
        self.evidence.findings += found

    def add_new_findings(self, found: Sequence[Finding]) -> None:
        """Keep the first finding of each rule in a case, however many calls and outputs show it."""
        known = {(finding.rule, finding.case) for finding in self.evidence.findings}
        for finding in found:
            if (key := (finding.rule, finding.case)) not in known:
                known.add(key)
                self.evidence.findings.append(finding)

    def take_findings(self) -> list[Finding]:
        """Return the findings and forget them."""
        found, self.evidence.findings = self.evidence.findings, []
        return found

    def begin_timing(self, cases: Mapping[str, Mapping[str, Any]]) -> list[CaseRecorder]:
        """Begin a timing of each case, by name with arguments, in the order of the problem."""
        evidence = self.evidence
        own = evidence.own_calls, evidence.own_long, evidence.own_lean
        offsets = certificate.offsets(*own, rules=evidence.rules)
        found = [CaseRecorder(name, arguments, offsets) for name, arguments in cases.items()]
        self.evidence.timing = [case.timing for case in found]
        return found


class CaseRecorder:
    """Timing of a case while it is written."""

    def __init__(self, case: str, arguments: Mapping[str, Any], offsets: Mapping[str, Any] | None = None) -> None:
        """`offsets` of the containers: certificate.offsets."""
        self.timing = Timing.model_construct(
            case=case,
            arguments=dict(arguments),
            idle=[],
            probe_limit_ns=0.0,
            warm={},
            warm_ups=[],
            calls=0,
            **(offsets or certificate.offsets({})),
            copies={},
            quads=[],
            repeats=[],
            ended="",
            ended_why="",
            input_bytes=0,
            output_bytes=0,
            eager_ns=None,
        )

    def add(self, **facts: Any) -> None:
        """Set fields of Timing."""
        for name, value in facts.items():
            setattr(self.timing, name, value)

    def add_warm_up(self, side: str, took_ns: int, window: Window) -> None:
        self.timing.warm_ups.append(WarmUp.model_construct(side=side, took_ns=took_ns, heat=window))

    def add_repeats(self, repeats: Sequence[Repeat]) -> None:
        self.timing.repeats += repeats

    def add_block(
        self,
        plan: Schedule,
        side: str,
        *,
        took_ns: int,
        window: Window,
        samples: list[Sample],
        lean: list[Sample],
        unready: int,
        alone: bool,
        seeds: list[int],
        ruling: Ruling,
    ) -> None:
        """Add a block to the schedule's last quad, after the schedule has ruled on it."""
        quads, planned = self.timing.quads, plan.quads[-1]
        if len(quads) < len(plan.quads):
            quads.append(Quad.model_construct(blocks=[], void="", charged=""))
        quads[-1].blocks.append(
            Block.model_construct(
                side=side,
                took_ns=took_ns,
                calls=samples,
                lean=lean,
                unready=unready,
                alone=alone,
                seeds=seeds,
                heat=window,
                ruling={} if ruling.action == VALID else {"reason": ruling.reason, **ruling.figures},
            )
        )
        quads[-1].void, quads[-1].charged = planned.void, planned.charged

    def add_end(self, plan: Schedule, end: End) -> None:
        warm = {side: list(windows) for side, windows in plan.windows.items()}
        self.add(ended=end.how, ended_why=end.reason, calls=plan.calls, warm=warm)
