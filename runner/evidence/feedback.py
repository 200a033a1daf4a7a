"""Feedback on a judged submission for a program that writes the next one: `feedback/1`, as JSON or as text. Pure.

`feedback` derives everything from the stored report. Of a secret case it holds its number and the judge's sentence,
without shape, seed, index or value. Of review it holds the state and the rules about the run. Reviewers alone
see rules that compare entrants: feedback on them would show how much of a copy must change.
`python -m runner.evidence.feedback` prints the JSON schema: docs/feedback.schema.json.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import PurePath
from statistics import fmean
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from runner.evidence import profiled
from runner.evidence.diagnostics import diagnostics
from runner.evidence.schema import Check, Evidence, ReportError, parse
from runner.evidence.speed_of_light import CaseLimits
from runner.wire import LEAST_POSITIVE, MOST_POSITIVE

NAME: Final = "feedback/1"
Stage = Literal["sent", "parsed", "built", "ran", "correct", "timed"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
LOADING: Final = "while it was being imported"  # in a sentence of the judge about a container that ended
MOST_ROWS: Final = 100  # of errors, and of times
LEAST_TEXT: Final = 100  # characters of a rendering
MOST_TEXT: Final = 20_000
CUT: Final = " […]"
WIDEST: Final = 20.0  # relative half-width of an interval, beyond which nothing is known

Share = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class About(_Strict):
    """The judged submission."""

    submission: int
    candidate: int | None = Field(description="its number in the batch's request, from 1; null: of no batch")
    arrival: int | None = Field(description="the place of its end among the batch's, from 1; null: none yet")
    board: str
    hardware: str
    mode: str
    filename: str
    status: str = Field(description="queued, claimed, building, checking, timing, done or cancelled")
    review: str | None = Field(description="under_review or rejected: the rules or a person hold it; null: neither")
    published: bool = Field(description="whether it has an entry on its board")


class Diagnostic(_Strict):
    """An error at a place of the code."""

    file: str
    line: int = Field(ge=1)
    column: int | None = Field(ge=1, description="null: the compiler names none")
    message: str


class Element(_Strict):
    """An element of an output that differs from the reference."""

    output: int = Field(ge=0, description="number of the output tensor, from 0")
    index: list[int]
    expected: str
    got: str


class Failing(_Strict):
    """The first case that failed. A secret case has neither arguments nor elements."""

    case: str
    public: bool
    arguments: dict[str, Any] | None = Field(description="of the problem's generate_input; null: secret or unknown")
    reason: str
    message: str
    first: Element | None = Field(description="the first wrong element; null: secret, or no element is wrong")
    worst: Element | None = Field(description="the element with the largest error")


class Errors(_Strict):
    """Error statistics of an output of a public case, whether it was right or wrong."""

    case: str
    output: int = Field(ge=0)
    good: bool
    elements: int = Field(ge=0)
    different: int = Field(ge=0, description="elements beyond the allowed error")
    relative_l2: float | None = Field(description="of the output as a whole")
    limit_l2: float | None = Field(description="the largest relative_l2 that passes; null: there is no limit")
    worst_abs: float | None = Field(description="the largest absolute error")
    worst_share: float | None = Field(description="the largest error as a share of the allowed error")


class Times(_Strict):
    """Measured time of a timed case, with the 95 % interval of its ratio."""

    case: str
    measured_us: float
    baseline_us: float
    ratio: float = Field(description="candidate / baseline; below 1 is faster")
    low: float = Field(description="lower end of the ratio's interval")
    high: float
    light_share: Share | None = Field(description="share of the speed of light that was reached; null: unknown")
    limited_by: str = Field(description="resource behind the speed of light: memory, cache or an engine; empty: none")


class Bound(_Strict):
    """What bounds the kernel, from its profile, which was measured beside its code and may be forged."""

    by: str = Field(description="memory, compute, latency or occupancy; empty: unknown")
    sentence: str
    hot: list[str] = Field(description="the operators or kernels that take longest, with their shares")


class HeldBy(_Strict):
    """A rule about the run that holds its result for a person's review, or would hold it in mode ranked."""

    rule: str
    case: str = Field(description="empty: over all cases")
    value: float | None = Field(description="what the rule measured; null: unknown")
    threshold: float | None = Field(description="from which the rule holds; null: unknown")
    sentence: str


class Feedback(_Strict):
    """Feedback on a judged submission."""

    format: Literal["feedback/1"]
    about: About | None = Field(description="null: judged at home")
    outcome: str = Field(description="as in the submission; empty: it ended without a verdict")
    reason: str
    message: str
    stage: Stage = Field(
        description="the last stage that the code reached: parsed, loaded and compiled, ran a case to its end without "
        "a fault, all outputs correct, timed"
    )
    diagnostics: list[Diagnostic]
    failing: Failing | None
    checks_passed: int = Field(ge=0, description="cases with a right output, among them secret cases")
    errors: list[Errors]
    times: list[Times]
    ratio: float | None = Field(description="of all timed cases; null: not timed")
    half_width: float | None = Field(description="relative half-width of its 95 % interval")
    score_us: float | None
    light_share: Share | None = Field(description="geometric mean over the timed cases, 1 at most")
    bound: Bound | None = Field(description="null: no profile")
    held_by: list[HeldBy] = Field(description="none of rules about other entrants, which may hold it, too")
    flags: list[str]
    problem: str = Field(description="why details are missing; empty: they are there")


def feedback(
    report: Mapping[str, Any],
    *,
    about: About | None = None,
    held_by: Iterable[HeldBy] = (),
    covered: bool = False,
    problem: str = "",
) -> Feedback:
    """Return the feedback that follows from a stored report. `covered`: without texts that the code may have written.

    `problem`: why the report is incomplete, for the reader.
    """
    evidence = _evidence(report)
    checked = _checked(report)
    message = "" if covered else str(report.get("message") or "")
    profile = None if covered else profiled.read(report.get("profile"))
    times = [_times(case, evidence) for case in _cases(report) if case.get("stage") == "time"][:MOST_ROWS]
    shares = [one.light_share for one in times if one.light_share]
    return Feedback(
        format=NAME,
        about=about,
        outcome=str(report.get("outcome") or ""),
        reason=str(report.get("reason") or ""),
        message=message,
        stage=stage_of(report),
        diagnostics=[Diagnostic(**asdict(one) | {"file": _sent_name(one.file, about)}) for one in diagnostics(message)],
        failing=_failing(checked, evidence, covered),
        checks_passed=sum(bool(case.get("good")) for case in checked),
        errors=list(_errors(evidence))[:MOST_ROWS],
        times=times,
        ratio=_positive(report.get("ratio")),
        half_width=_finite(report.get("half_width")),
        score_us=_positive(report.get("score_us")),
        light_share=min(1.0, math.exp(fmean(map(math.log, shares)))) if len(shares) == len(times) > 0 else None,
        bound=None
        if profile is None
        else Bound(
            by=profile.bound,
            sentence=profile.sentence,
            hot=[f"{row.name}: {100 * row.share:.0f} %" for row in profile.rows[:5]],
        ),
        held_by=list(held_by),
        flags=[str(flag) for flag in report.get("flags") or ()],
        problem=problem,
    )


def _evidence(report: Mapping[str, Any]) -> Evidence | None:
    try:
        evidence = parse(report.get("evidence"))
    except ReportError:
        return None
    return evidence if isinstance(evidence, Evidence) else evidence.runs[0]


def stage_of(report: Mapping[str, Any]) -> Stage:
    """Return the last stage that the code of a stored report reached. It seldom has to parse the evidence."""
    outcome, reason = report.get("outcome"), report.get("reason")
    if outcome == "passed":
        return "timed" if report.get("score_us") else "correct"
    if outcome == "build_error":
        return "sent" if reason == "syntax" else "parsed"
    checked = _checked(report)
    if not checked:
        if not outcome or outcome == "infra_error":
            return "sent"
        is_loading = reason == "import" or LOADING in str(report.get("message") or "")
        return "parsed" if is_loading else "built"
    if not all(case.get("good") for case in checked):
        return "ran"
    evidence = _evidence(report)
    if evidence is not None and evidence.fault and not evidence.timing:
        return "ran"  # the fault came before the last check
    return "correct"


def _checked(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [case for case in _cases(report) if case.get("stage") == "check"]


def _cases(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [case for case in report.get("cases") or () if isinstance(case, Mapping)]


def _failing(checked: list[Mapping[str, Any]], evidence: Evidence | None, covered: bool) -> Failing | None:
    for place, case in enumerate(checked):
        if case.get("good"):
            continue
        is_public = bool(case.get("public"))
        known = evidence.checks[place] if evidence and is_public and place < len(evidence.checks) else None
        known = known if known and known.public else None
        return Failing(
            case=str(case.get("name") or ""),
            public=is_public,
            arguments=dict(known.arguments) if known and known.arguments else None,
            reason=str(case.get("reason") or ""),
            message="" if covered else str(case.get("message") or ""),
            first=_element(known, "first"),
            worst=_element(known, "worst"),
        )
    return None


def _element(check: Check | None, which: str) -> Element | None:
    for number, figures in enumerate(check.figures if check else ()):
        match figures.get(which):
            case [list(index), expected, got] if all(isinstance(one, int) and one >= 0 for one in index):
                return Element(output=number, index=index, expected=str(expected), got=str(got))
    return None


def _errors(evidence: Evidence | None) -> Iterator[Errors]:
    for check in evidence.checks if evidence else ():
        for number, figures in enumerate(check.figures if check.public else ()):
            elements, different = (max(0, int(_finite(figures.get(name)) or 0)) for name in ("elements", "different"))
            yield Errors(
                case=check.case,
                output=number,
                good=not figures.get("reason"),
                elements=elements,
                different=different,
                relative_l2=_finite(figures.get("relative_l2")),
                limit_l2=_finite(figures.get("limit_l2")),
                worst_abs=_finite(figures.get("worst_abs")),
                worst_share=_finite(figures.get("worst_share")),
            )


def _times(case: Mapping[str, Any], evidence: Evidence | None) -> Times:
    name, ratio = str(case.get("name") or ""), _positive(case.get("ratio"))
    measured, baseline = _positive(case.get("measured_us")) or 0.0, _positive(case.get("baseline_us")) or 0.0
    ratio = ratio or (measured / baseline if baseline else 0.0)
    width = math.exp(min(_positive(case.get("half_width")) or 0.0, WIDEST))
    hard = (evidence.limits.of(name) if evidence else CaseLimits(name)).hard
    return Times(
        case=name,
        measured_us=measured,
        baseline_us=baseline,
        ratio=ratio,
        low=ratio / width,
        high=ratio * width,
        light_share=_positive(hard.ns / 1e3 / measured) if hard and measured else None,
        limited_by=hard.resource if hard else "",
    )


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond any float
        return None


def _positive(value: object) -> float | None:
    """Return a number within the wire's bounds of times and ratios, so that no arithmetic leaves the finite numbers."""
    number = _finite(value)
    return number if number is not None and LEAST_POSITIVE <= number <= MOST_POSITIVE else None


# -- as text -----------------------------------------------------------------------------------------------------------


def _sent_name(file: str, about: About | None) -> str:
    """Return the sender's name of a file: the judge knows the submission as submission.py or submission.cu."""
    is_own = about is not None and file == f"submission{PurePath(about.filename).suffix}"
    return about.filename if about is not None and is_own else file


def _further(found: Feedback) -> str:
    """Return the message without the lines that the diagnostics have already."""
    known = tuple(f": {one.message}" for one in found.diagnostics)
    return "\n".join(line for line in found.message.splitlines() if not (known and line.endswith(known)))


def as_text(found: Feedback, limit: int) -> str:
    """Return the feedback for a prompt, at most `limit` characters: the most useful lines first, then as fit."""
    text = ""
    for line in _lines(found):
        longer = f"{text}\n{line}" if text else line
        if len(longer) > limit:
            return longer[: limit - len(CUT)] + CUT
        text = longer
    return text


def _lines(found: Feedback) -> Iterator[str]:
    why = f" ({found.reason})" if found.reason else ""
    yield f"Outcome: {found.outcome or 'none'}{why}. Stage reached: {found.stage}. Cases right: {found.checks_passed}."
    if found.about is not None and found.about.review:
        yield f"It does not rank: {found.about.review.replace('_', ' ')}."
    if found.ratio:
        sure = f" ± {100 * found.half_width:.1f} %" if found.half_width else ""
        light = f", {100 * found.light_share:.0f} % of the speed of light" if found.light_share else ""
        yield f"Speedup over the baseline: {1 / found.ratio:.3g}{sure}{light}."
    for one in found.diagnostics:
        column = f", column {one.column}" if one.column else ""
        yield f"{one.file}, line {one.line}{column}: {one.message}"
    if message := _further(found).strip():
        yield message
    if (case := found.failing) is not None:
        arguments = f" with {json.dumps(case.arguments)}" if case.arguments else ""
        yield f"First failing case: {case.case}{arguments}: {case.reason}."
        if case.message not in found.message:
            yield case.message
        for title, element in (("First", case.first), ("Worst", case.worst)):
            if element is not None:
                place = f"output {element.output} at {element.index}"
                yield f"{title} wrong element: {place}: expected {element.expected}, got {element.got}."
    for held in found.held_by:
        yield f"Held by {held.rule}{f' in {held.case}' if held.case else ''}: {held.sentence}"
    for time in found.times:
        light = f", {100 * time.light_share:.0f} % of what {time.limited_by} allows" if time.light_share else ""
        interval = f"{1 / time.high:.3g} to {1 / time.low:.3g} times as fast" if time.low else "no ratio"
        yield f"{time.case}: {time.measured_us:.4g} µs, baseline {time.baseline_us:.4g} µs, {interval}{light}."
    if found.bound is not None:
        yield found.bound.sentence
        yield from found.bound.hot
    for row in found.errors:
        if row.worst_share is not None:
            yield f"{row.case}, output {row.output}: largest error {100 * row.worst_share:.3g} % of the allowed error."
    if found.flags:
        yield f"Flags: {', '.join(found.flags)}."
    if found.problem:
        yield found.problem


def schema_text() -> str:
    made = Feedback.model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | made | {"title": NAME}, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
