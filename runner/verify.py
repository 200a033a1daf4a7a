"""`runner verify PROBLEM`: does every sample submission of a problem get the verdict of its folder, and does the
problem refuse what no problem may accept?

Samples are the files in `submissions/{accepted,wrong,slow,cheating}` and `solutions/{correct,wrong}`. The admission
test judges submissions made from the problem's own reference (problems/library/admission.py): zeros, ones, a constant,
the input, the previous output and half precision must be wrong; the reference must pass, also with four times the error
of its working precision. Everything is judged by itself, in containers of its own, as a submission would be.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from problems.spec import Problem
from runner.judge import limits
from runner.wire import Report

SLOWER: Final = 1.25  # times the baseline's time, at least, for a sample in `slow`
TRIES: Final = 2  # of what could not be measured: the machine was disturbed
SUFFIXES: Final = (".py", ".cu")
FOLDERS: Final = {
    "submissions/accepted": "accepted",
    "solutions/correct": "accepted",
    "submissions/wrong": "wrong",
    "solutions/wrong": "wrong",
    "submissions/slow": "slow",
    "submissions/cheating": "cheating",
}
MUST_PASS: Final = ("reference", "margin")
MUST_FAIL: Final = ("zeros", "ones", "constant", "input", "previous", "half")
MAY_NOT_APPLY: Final = ("input", "half", "margin")
HALF_NAMES: Final = ("fp16", "bf16")
REPEATED: Final = ("unmeasurable", "infra_error")
ADMISSION_SOURCE: Final = Path(__file__).parent.parent / "problems" / "library" / "admission.py"


@dataclass(frozen=True)
class Sample:
    """One submission and what must become of it: accepted, wrong, slow or cheating."""

    name: str
    expected: str
    source: str
    mode: str
    may_not_apply: bool = False


@dataclass(frozen=True)
class Line:
    """One line of the table. `good` None: the sample does not apply to this problem."""

    name: str
    expected: str
    got: str
    good: bool | None
    explained: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


Judge = Callable[[Sample], Report]


def declared(problem: Problem) -> Line:
    """Can the speed of light of each timed case be worked out from what the problem declares?"""
    faults = limits.faults(problem) if problem.speed_of_light else []
    got = "wrong" if faults else "declared" if problem.speed_of_light else "not declared"
    return Line("speed_of_light", "declared", got, not faults if problem.speed_of_light else None, "; ".join(faults))


def verify(samples: list[Sample], judge: Judge) -> Iterator[Line]:
    """Judges one sample after the other, each line as soon as it is known."""
    for sample in samples:
        report = judge(sample)
        for _ in range(TRIES - 1):
            if report.outcome in REPEATED:
                report = judge(sample)
        yield line(sample, report)


def is_verified(lines: list[Line]) -> bool:
    return bool(lines) and all(line.good is not False for line in lines)


def samples(problem: Problem, folder: Path) -> list[Sample]:
    """The admission test first: a problem that accepts zeros makes the rest pointless."""
    return [*admission(problem), *in_folders(folder)]


def in_folders(folder: Path) -> Iterator[Sample]:
    for place, expected in FOLDERS.items():
        for path in sorted((folder / place).glob("*")):
            if path.suffix in SUFFIXES:
                yield Sample(f"{place}/{path.name}", expected, path.read_text("utf-8"), "ranked")


def admission(problem: Problem) -> Iterator[Sample]:
    reference = problem.files["reference.py"]
    half_is_legal = problem.precision is not None and not set(HALF_NAMES).isdisjoint(problem.precision.legal)
    for variant in (*MUST_PASS, *MUST_FAIL):
        if variant == "half" and half_is_legal:
            continue
        source = f"REFERENCE = {reference!r}\nVARIANT = {variant!r}\n{_admission_source()}\n{problem.entry} = kernel\n"
        expected = "accepted" if variant in MUST_PASS else "wrong"
        yield Sample(f"admission/{variant}", expected, source, "test", may_not_apply=variant in MAY_NOT_APPLY)


def _admission_source() -> str:
    """Without its own description, which speaks of the lines before it."""
    text = ADMISSION_SOURCE.read_text("utf-8")
    docstring = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[docstring.end_lineno :])


def line(sample: Sample, report: Report) -> Line:
    got = report.outcome + (f" ({report.reason})" if report.reason else "")
    if sample.may_not_apply and "NotApplicable" in report.message:
        return Line(sample.name, sample.expected, "does not apply", None, report.message.strip().splitlines()[-1])
    if report.ratio is not None:
        got += f", {report.ratio:.3g}× the baseline's time"
    findings = _findings(report)
    if findings:
        got += f", held: {', '.join(findings)}"
    good = RULES[sample.expected](report)
    return Line(sample.name, sample.expected, got, good, "" if good else _explained(sample, report))


def _findings(report: Report) -> list[str]:
    return sorted({str(finding.get("rule")) for finding in report.evidence.get("findings", ())})


def _is_accepted(report: Report) -> bool:
    return report.outcome == "passed" and not _findings(report)


def _is_slow(report: Report) -> bool:
    slower = report.outcome == "passed" and report.ratio is not None and report.ratio >= SLOWER
    return slower or report.outcome == "timeout"


def _is_caught(report: Report) -> bool:
    """Refused for any reason that is the submission's own, or passed and held for a person to look at."""
    return report.outcome not in ("passed", *REPEATED) or (report.outcome == "passed" and bool(_findings(report)))


RULES: Final[dict[str, Callable[[Report], bool]]] = {
    "accepted": _is_accepted,
    "wrong": lambda report: report.outcome == "wrong",
    "slow": _is_slow,
    "cheating": _is_caught,
}


def _explained(sample: Sample, report: Report) -> str:
    detail = report.message or str(report.evidence.get("operator", ""))
    said = f" It says: {detail.strip()[:400]}" if detail else ""
    if report.outcome in REPEATED:
        return f"It could not be judged here, {TRIES} times; `runner doctor` may say why.{said}"
    if sample.name == "admission/margin":
        return f"The tolerance leaves honest code less than four times its rounding error; widen it.{said}"
    if sample.name == "admission/half":
        return "Half precision passes: tighten the tolerance, or declare precision.legal: [fp16]."
    if sample.name.startswith("admission/") and sample.expected == "wrong" and report.outcome == "passed":
        return "A problem that accepts this is refused: its cases or its check cannot tell it from an answer."
    if sample.expected == "slow":
        return f"It must time out, or take at least {SLOWER:g}× the baseline's time.{said}"
    if sample.expected == "cheating":
        return f"It must be refused, or held by a finding.{said}"
    return f"It must be {'passed, with nothing to hold it' if sample.expected == 'accepted' else 'wrong'}.{said}"
