"""`runner verify PROBLEM`: check that every sample submission gets the verdict of its folder, and that the problem
refuses wrong answers.

Samples are the files in `submissions/{accepted,wrong,slow,cheating}` and `solutions/{correct,wrong}`; each is judged in
containers of its own, as a submission would be. For a KernelBench file its own Model is the sample. A sample whose
first lines name different hardware is left out and does not count. The admission test (admission/examine.py) is one
job. Failures of this machine are reported apart from unexpected verdicts.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from problems.directives import other_hardware
from problems.spec import Problem, in_python
from runner.commands.local import UsageError, read_source
from runner.wire import PROBLEM, Expectation, Report

SLOWER: Final = 1.25  # times the baseline's time, at least, for a sample in `slow`
TRIES: Final = 2  # if a sample could not be measured: the machine was disturbed
SUFFIXES: Final = (".py", ".cu")
FOLDERS: Final = {
    "submissions/accepted": "accepted",
    "solutions/correct": "accepted",
    "submissions/wrong": "wrong",
    "solutions/wrong": "wrong",
    "submissions/slow": "slow",
    "submissions/cheating": "cheating",
}
REPEATED: Final = ("unmeasurable", "infra_error")
ADMISSION: Final = "admission/"
MOST_DETAIL: Final = 1000  # characters of the reason why the problem could not be tested
MOST_SAID: Final = 400  # characters of a sample's message


@dataclass(frozen=True)
class Sample:
    """Submission and its required result: accepted, wrong, slow or cheating."""

    name: str
    expected: str
    source: str
    mode: str = "ranked"

    @property
    def filename(self) -> str:
        return self.name.rpartition("/")[2]


Judge = Callable[[Sample], Report]


def asked(problem: Problem, sample: Sample) -> Problem:
    """Return the problem that the sample answers: a problem in CUDA C++ also takes Python."""
    return in_python(problem) if sample.filename.endswith(".py") else problem


def verify(samples: list[Sample], judge: Judge, hardware: str) -> Iterator[Expectation]:
    """Judge the samples in turn and yield each line as soon as it is known. `hardware`: the hardware that judges."""
    for sample in samples:
        if meant := other_hardware(sample.source, hardware):
            said = f"left out: it is for {', '.join(meant)}, this is {hardware}"
            yield Expectation(sample.name, sample.expected, said, None)
            continue
        report = judge(sample)
        for _ in range(TRIES - 1):
            if report.outcome in REPEATED:
                report = judge(sample)
        yield line(sample, report)


def exit_code(lines: list[Expectation]) -> int:
    """Return 0 if all is as required, 1 if a line is wrong, 2 if no line is wrong but not all could be judged."""
    counted = [line for line in lines if line.good is not None]
    if any(line.judged and not line.good for line in counted):
        return 1
    return 0 if counted and all(line.judged for line in counted) else 2


def _was_judged(report: Report) -> bool:
    """Return whether this machine did its part: a problem whose own code fails is at fault itself."""
    return report.outcome not in REPEATED or report.reason == PROBLEM


def admission_lines(report: Report) -> list[Expectation]:
    """Return the lines of an admission job's report; one bad line if it has none."""
    told = report.admission.get("lines", [])
    if report.outcome in REPEATED or not told:
        detail = str(report.evidence.get("operator", "")) or report.message
        said = f"It could not be tested here. {ends_of(detail, MOST_DETAIL)}"
        return [Expectation("admission", "accepted", _outcome(report), False, said, judged=_was_judged(report))]
    return [Expectation(**line) for line in told]


def ends_of(text: str, most: int) -> str:
    """Return at most about `most` characters in whole lines: some of the beginning and more of the end, which holds the
    exception. A single line that is longer keeps its end."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, tail = text[: most // 4], text[-(most - most // 4) :]
    head, tail = head[: head.rfind("\n") + 1], tail[tail.find("\n") + 1 :]
    return f"{head}… {len(text) - len(head) - len(tail)} characters left out …\n{tail}"


def in_folders(folder: Path) -> Iterator[Sample]:
    """Yield the samples in a problem's folders. Raises UsageError if a sample could not be submitted."""
    for place, expected in FOLDERS.items():
        for path in sorted((folder / place).glob("*")):
            if path.suffix not in SUFFIXES:
                continue
            real = Path(os.path.realpath(path))
            if not os.path.isfile(real) or not real.is_relative_to(os.path.realpath(folder)):
                remedy = "put the sample itself there, or take it away"
                raise UsageError(f"{path} is no file in the problem's folder; {remedy}")
            yield Sample(f"{place}/{path.name}", expected, read_source(path))


def starters(problem: Problem) -> Iterator[Sample]:
    """Yield the sample of a KernelBench file, which has no samples: its Model, called ModelNew, must be accepted."""
    yield Sample("starter/ModelNew.py", "accepted", problem.templates["Python"])


def line(sample: Sample, report: Report) -> Expectation:
    got = _outcome(report)
    if report.ratio is not None:
        got += f", {report.ratio:.3g}× the baseline's time"
    findings = _findings(report)
    if findings:
        got += f", held: {', '.join(findings)}"
    good = is_as_expected(sample.expected, report)
    explained = "" if good else _explained(sample, report)
    return Expectation(sample.name, sample.expected, got, good, explained, judged=_was_judged(report))


def _outcome(report: Report) -> str:
    return report.outcome + (f" ({report.reason})" if report.reason else "")


def _findings(report: Report) -> list[str]:
    return sorted({str(finding.get("rule")) for finding in report.evidence.get("findings", ())})


def is_as_expected(expected: str, report: Report) -> bool:
    """Return whether the report is right for this folder. A cheating sample must be refused for a reason of its own, or
    pass and be held for a person to look at."""
    passed = report.outcome == "passed"
    if expected == "accepted":
        return passed and not _findings(report)
    if expected == "slow":
        slower = passed and report.ratio is not None and report.ratio >= SLOWER
        return slower or report.outcome == "timeout"
    if expected == "cheating":
        return report.outcome not in ("passed", *REPEATED) or (passed and bool(_findings(report)))
    return report.outcome == "wrong"


def _explained(sample: Sample, report: Report) -> str:
    told = str(report.evidence.get("operator", ""))  # for the operator; the message is for competitors
    detail = told or report.message
    said = f" It says: {ends_of(detail, MOST_SAID)}" if detail else ""
    if report.outcome in REPEATED and _was_judged(report):
        return f"The problem's own code failed, {TRIES} times.{said}"
    if report.outcome in REPEATED:
        return f"It could not be judged here, {TRIES} times; `runner doctor` may say why.{said}"
    if sample.expected == "slow":
        return f"It must time out, or take at least {SLOWER:g}× the baseline's time.{said}"
    if sample.expected == "cheating":
        return f"It must be refused, or held by a finding.{said}"
    return f"It must be {'passed, with nothing to hold it' if sample.expected == 'accepted' else 'wrong'}.{said}"
