"""Directives in the docstring of an attack, and the decision whether a report shows a gain.

class: IDEA               class of the attack
expect: VERDICT | REASON  expected verdict, from the table below
on: PROBLEM[:CASE] MODE   judged there (a problem of the library, or a folder), if softmax in test mode would not show
                          the attack
cost_ms: N                real cost of the attack's work
least_us: N               a time below N is a gain, however large the report's forgeable share is
step: NAMES               steps of a call without which the attack should work: an experiment on a GPU, repeatable

wrong      no score, since an output is wrong
rejected   no score; `rejected as OUTCOME` names the outcome
contained  right answers pass, and no part of the attack had an effect
useless    rejected, or passed without any benefit from the trick
timed      no score, or passed at an honest time; `unmeasurable (voids)` is a gain, since the site repeats the run
accepted   passed: a control
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from runner.wire import MODES, Report
from sandbox.protocol import is_unseen

REJECTED = ("wrong", "policy", "runtime_error", "build_error", "timeout", "out_of_memory")
HONEST_SHARE = 0.75  # of cost_ms
HONEST_RATIO = 0.97  # without cost_ms: code that does the baseline's work takes its time, up to the forgeable share
VERDICTS = ("wrong", "rejected", "contained", "useless", "timed", "accepted")


@dataclass(frozen=True)
class Attack:
    """Attack in a file. `case`: part of the name of the benchmark case that it targets."""

    path: Path
    source: str
    expect: str
    outcome: str = ""
    problem: str = "softmax"
    case: str = ""
    mode: str = "test"
    cost_ms: float = 0.0
    least_us: float = 0.0
    steps: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        source = path.read_text()
        expect = re.search(r"^expect: (\w+)(?: as (\w+))? \| \w", source, re.MULTILINE)
        on = re.search(r"^on: ([\w/]+)(?::(\S+))?(?: (\w+))?$", source, re.MULTILINE)
        if expect is None or expect[1] not in VERDICTS or "class: " not in source:
            raise ValueError(f"{path.name} needs the lines `class: …` and `expect: VERDICT | why`")
        if (on is None and re.search(r"(?im)^\s*on\s*:", source)) or (on and (on[3] or "ranked") not in MODES):
            raise ValueError(f"{path.name} needs a line `on: PROBLEM[:CASE] MODE`, or none")
        cost = re.search(r"^cost_ms: (\d+)", source, re.MULTILINE)
        least = re.search(r"^least_us: (\d+)", source, re.MULTILINE)
        return cls(
            path,
            source,
            expect=expect[1],
            outcome=expect[2] or "",
            problem=on[1] if on else "softmax",
            case=on[2] or "" if on else "",
            mode=on[3] or "ranked" if on else "test",
            cost_ms=float(cost[1]) if cost else 0.0,
            least_us=float(least[1]) if least else 0.0,
            steps=tuple(re.findall(r"^step: (\S+)$", source, re.MULTILINE)),
        )

    def gained(self, report: Report) -> str:
        """Return the attack's undue gain; "" if it has none."""
        said = [line for line in report.logs.get("stderr", "").splitlines() if line.startswith("ATTACK-EFFECT")]
        effects = [line for line in said if "fork refused" not in line]  # the limit holds
        rejected = report.outcome in REJECTED and report.score_us is None
        if "LEAK" in str(report.to_json()):
            return "data of a secret case"
        if found := steering(report):
            return f"characters in what people read: {found}"
        if effects and not (self.expect == "useless" and rejected):
            return "; ".join(effects)
        if self.expect in ("wrong", "rejected"):
            wanted = "wrong" if self.expect == "wrong" else self.outcome
            right = rejected and wanted in ("", report.outcome)
            return "" if right else f"the verdict {report.outcome} {report.reason}"
        if self.expect in ("contained", "accepted"):
            return "" if report.outcome == "passed" else f"an honest answer is {report.outcome} {report.reason}"
        if self.expect == "timed" and report.reason == "voids":
            return "a run that is cancelled and charged to nobody"
        return "" if rejected or self.expect == "useless" or self._honest(report) else f"a ratio of {report.ratio}"

    def _honest(self, report: Report) -> bool:
        if report.score_us is None or report.ratio is None:
            return True
        times = [case["measured_us"] for case in report.cases if case["stage"] == "time"]
        if self.cost_ms:
            return not fooled_the_clock(report, self.cost_ms)
        if self.least_us and not (times and min(times) >= self.least_us):
            return False
        return report.ratio >= HONEST_RATIO * (1 - (report.forgeable or 0.0))


def fooled_the_clock(report: Report, cost_ms: float) -> bool:
    """Return whether the attack ranks with less time than it really takes.

    A kernel that a busy machine could not time does not rank at all.
    """
    times = [case["measured_us"] for case in report.cases if case["stage"] == "time"]
    return report.score_us is not None and not (times and min(times) >= HONEST_SHARE * cost_ms * 1e3)


def steering(report: Report) -> set[str]:
    """Return the characters in texts for people that `clean_text` should have replaced."""
    shown = "".join((report.message, *report.logs.values()))
    return set(filter(is_unseen, shown))
