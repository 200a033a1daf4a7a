"""Confirmation of a candidate for first place: k independent runs in sequence, and one report.

Each run is a job of its own with containers and seeds of its own, and the incumbent in the blocks. An incumbent that
fails or voids its blocks is left out of the rest and timed alone, right after the run that it disturbed; records.py
decides over all of them. The report is that of the candidate's median run, with the record beside it and the evidence
of every run in it, which allows a replay, as far as it fits the wire: cases are summed up, one by one, until it does.
Cases that did not converge come first, since they have the most samples and the least value; of those the largest. The
deciding figures are in the report in any case (records.RecordVerdict).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from runner import config
from runner.evidence import records, schedule, schema, stats, throttle
from runner.evidence.records import INCUMBENT_FAILED
from runner.evidence.schema import Block, Timing
from runner.job.execute import OnEvent, execute
from runner.wire import MAX_REPORT_BYTES, SPARE_RUNS, Event, Job, Report, dump

REPEATED: Final = ("unmeasurable", "infra_error")
LIMIT_BYTES: Final = MAX_REPORT_BYTES - 200_000
LOG_CHARS: Final = 2_000  # of each stream, if even that is not enough

Judge = Callable[[Job, config.JudgeSettings, OnEvent], Report]
JSON = dict[str, Any]


def confirm(job: Job, settings: config.JudgeSettings, on_event: OnEvent, judge: Judge = execute) -> Report:
    """Return the report of a job with an incumbent; `judge` makes each run. Raises only the exceptions of `judge`."""
    confirmation = _Confirmation(job, settings, judge, _Renumbered(on_event, job.runs))
    confirmation.run()
    return confirmation.report()


@dataclass
class _Confirmation:
    job: Job
    settings: config.JudgeSettings
    judge: Judge
    events: _Renumbered
    reports: list[Report] = field(default_factory=list)
    alone: list[JSON | None] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # of the incumbent, beside the candidate
    spare: int = SPARE_RUNS

    def run(self) -> None:
        while len(self.reports) < self.job.runs:
            self.events.run = len(self.reports) + 1
            made = self._one()
            if made.outcome in REPEATED and not made.set_aside and self.spare:
                self.spare -= 1
                continue
            self.reports.append(made)
            if made.outcome != "passed":
                break
            run = schema.parse_run(made.evidence)
            is_disturbed = any(not records.is_shared(timing) for timing in run.timing)
            self.alone.append(self._alone() if is_disturbed else None)  # it was in too few of a case's blocks

    def _one(self) -> Report:
        """Make a run with the incumbent; without it after it failed in a shared run."""
        if not self.failures:
            made = self.judge(replace(self.job, runs=1), self.settings, self.events)
            if made.reason != INCUMBENT_FAILED:
                return made
            self.failures.append(made.message)
        return self.judge(replace(self.job, runs=1, incumbent=None), self.settings, self.events)

    def _alone(self) -> JSON:
        """Return the evidence of the incumbent as a candidate, without its own messages, for a rival reads it."""
        assert self.job.incumbent is not None
        held = self.job.incumbent
        alone = replace(self.job, runs=1, incumbent=None, source=held.source, filename=held.filename)
        made = self.judge(alone, self.settings, self.events)
        fault = made.evidence.get("fault")
        return {**made.evidence, "fault": {**fault, "message": f"It ended with {made.outcome}."} if fault else None}

    def report(self) -> Report:
        evidence = [made.evidence for made in self.reports]
        shown = self.reports[-1]
        if any("checks" not in run for run in (*evidence, *filter(None, self.alone))):
            return shown  # the host failed before there was evidence for a decision
        if shown.outcome == "passed":
            shown = sorted(self.reports, key=lambda made: made.ratio or 0.0)[len(self.reports) // 2]
        whole = schema.Confirmation(
            version=schema.VERSION,
            runs=[schema.parse_run(run) for run in evidence],
            alone=[None if run is None else schema.parse_run(run) for run in self.alone],
        )
        record = records.decide_record(whole)
        assert self.job.incumbent is not None
        incumbent = {"incumbent": self.job.incumbent.submission_id, "incumbent_failures": self.failures[:1]}
        report = replace(
            shown,
            flags=tuple(dict.fromkeys(flag for made in self.reports for flag in made.flags)),
            forgeable=max((made.forgeable for made in self.reports if made.forgeable is not None), default=None),
            telemetry=throttle.least(made.telemetry for made in self.reports if made.telemetry),
            confirmation={**record.to_json(), **incumbent},
            evidence={"version": schema.VERSION, "runs": evidence, "alone": self.alone},
        )
        return fit(report)


@dataclass
class _Renumbered:
    """Merge the events of all runs into one stream: a state is announced once, progress names its run."""

    on_event: OnEvent
    runs: int
    run: int = 1
    _seq: int = 0
    _states: set[str] = field(default_factory=set)

    def __call__(self, event: Event) -> None:
        if event.kind == "state" and event.state in self._states:
            return
        self._states.add(event.state)
        self._seq += 1
        message = event.message
        if event.kind == "progress" and self.runs > 1:
            message = f"run {self.run} of {self.runs}" + (f", {message}" if message else "")
        self.on_event(replace(event, seq=self._seq, message=message[:500]))


def fit(report: Report, limit_bytes: int = LIMIT_BYTES) -> Report:
    """Return the report in at most `limit_bytes`, with as few of its cases summed up as necessary."""
    over = len(dump(report)) - limit_bytes
    if over <= 0:
        return report
    evidence = schema.parse(report.evidence)
    assert isinstance(evidence, schema.Confirmation)
    cases = [(run, place, timing) for run in evidence.everything for place, timing in enumerate(run.timing)]
    for run, place, whole in sorted(cases, key=lambda case: (case[2].ended == schedule.CONVERGED, -_size(case[2]))):
        if over <= 0:
            break
        run.timing[place] = summed_up(whole)
        over -= _size(whole) - _size(run.timing[place])
    shrunk = replace(report, evidence=evidence.model_dump(mode="json"))
    if over <= 0:
        return shrunk
    return replace(shrunk, logs={name: text[-LOG_CHARS:] for name, text in report.logs.items()})


def summed_up(timing: Timing) -> Timing:
    """Return a case without its samples: the number of quads, the reasons of voids, and the median of each valid
    block."""
    valid = [quad for quad in timing.quads if not quad.void]
    voids = Counter(f"{quad.charged}: {quad.void}" for quad in timing.quads if quad.void)
    summary = {
        "quads": len(timing.quads),
        "voids": dict(voids.most_common(16)),
        "sides": [quad.sides for quad in valid],
        "wall_ns": [[_median(block, "wall_ns") for block in quad.blocks] for quad in valid],
        "inner_ns": [[_median(block, "inner_ns") for block in quad.blocks] for quad in valid],
    }
    return timing.model_copy(update={"idle": [], "warm_ups": [], "quads": [], "repeats": [], "summary": summary})


def _median(block: Block, part: str) -> float:
    middle: float = stats.median([getattr(sample, part) for sample in block.calls])
    return round(middle, 1)


def _size(timing: Timing) -> int:
    return len(timing.model_dump_json())
