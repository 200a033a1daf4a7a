"""Pure: implausible properties that a person should look at before a result ranks. A rule gives evidence, no verdict.

`measure` computes the number of every applicable rule from a report, its owner's history and its board. `held_by`
returns the numbers beyond the thresholds that a competition sets (thresholds.py, the table of all rules).
All numbers are kept, whether or not they hold, so that other thresholds can be tried on them (dry_run.py).

The rules about a run are the judge's (runner/evidence/rules.py), measured anew on the stored samples, so a judge that
hides a finding hides nothing. A finding of the judge that these samples do not show is kept in the judge's words.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from leaderboard.review.rules.thresholds import RULES, USUAL, Thresholds
from runner.evidence import rules, schema
from runner.evidence.estimates import Run
from runner.evidence.rules import Measure
from runner.evidence.sample import CANDIDATE, INCUMBENT

MOST_SENTENCE_CHARS: Final = 1_000
MOST_RELAYED: Final = 256  # of the judge's findings
OF_OTHERS: Final = {"similar_source", "jump_with_copy", "case_faster_than_best"}  # rules that show others' work
LIKE: Final = 0.5  # similarity from which a jump is worth a look
DISAGREES: Final = 0.10  # the reported ratio is better than its samples by this share, beyond its own interval
# Exceptions of arithmetic over values that each fit the schema but contradict each other.
NONSENSE: Final = (ArithmeticError, LookupError, ValueError)


@dataclass(frozen=True)
class Reported:
    """The runner's report of a passing timed run."""

    ratio: float  # candidate / baseline
    half_width: float = 0.0
    forgeable: float = 0.0
    flags: Collection[str] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """The board before this run, as the site knows it. Ratios are candidate / baseline, in the same timing epoch."""

    incumbent_ratio: float | None = None  # the best standing ratio of another entrant, or that a person cleared
    own_ratio: float | None = None  # the entrant's own best before
    case_ratios: Mapping[str, float] = field(default_factory=dict)  # best per case, results as incumbent_ratio's


@dataclass(frozen=True)
class Likeness:
    """The most similar source that another entrant sent earlier."""

    submission_id: int
    share: float
    shared: int  # fingerprints
    of: int


@dataclass(frozen=True)
class Source:
    likeness: Likeness | None = None
    opaque_chars: int = 0  # of the longest literal that holds data


@dataclass(frozen=True)
class Measured:
    measures: list[Measure]
    case_ratios: dict[str, float] = field(default_factory=dict)  # candidate / baseline, from the samples


def measure(reported: Reported, known: Known, source: Source) -> Measured:
    found = list(_without_samples(reported, known, source))
    try:
        runs, alone = read(reported.report)
        measures = [one for run in (*runs, *alone) for one in _of_run(run, reported, known)]
        timed = {case.name: case.time.ratio for run in runs for case in run.cases if case.time}
        ratios = {name: ratio for name, ratio in timed.items() if math.isfinite(ratio)}
        if any(not run.cases for run in runs):
            raise schema.ReportError("no case was timed")
    except NONSENSE as error:
        said = str(error) if isinstance(error, schema.ReportError) else f"{type(error).__name__}: {str(error)[:200]}"
        return Measured([*found, Measure("unreadable_evidence", 1.0, f"Its samples cannot be read ({said}).")])
    return Measured([*found, *measures], ratios)


def read(report: Mapping[str, Any]) -> tuple[list[Run], list[Run]]:
    """Return the runs of a report, and the incumbent's runs alone beside a confirmation. Raises ReportError."""
    parsed = schema.parse(report.get("evidence") or {})
    if isinstance(parsed, schema.Evidence):
        return [Run(parsed)], []
    return list(map(Run, parsed.runs)), [Run(run) for run in parsed.alone if run is not None]


@dataclass(frozen=True)
class Evidence:
    """The evidence that holds a result: a measure beyond its threshold."""

    rule: str
    threshold: float
    sentence: str
    figures: dict[str, Any]
    samples: dict[str, Any]


def worst(measures: Iterable[Measure]) -> dict[str, Measure]:
    """Return each rule's measure that is farthest out; without samples of its own it takes another measure's."""
    found: dict[str, Measure] = {}
    for one in measures:
        other = found.get(one.rule)
        if other is None or RULES[one.rule].worse(one.value, other.value):
            found[one.rule] = replace(one, samples=one.samples or (other.samples if other else {}))
        elif not other.samples:
            found[one.rule] = replace(other, samples=one.samples)
    return found


def held_by(measures: Iterable[Measure], thresholds: Thresholds = USUAL) -> list[Evidence]:
    """Return the measures beyond their threshold, in the order of the table of rules."""
    found, held = worst(measures), []
    for rule in RULES.values():
        one, threshold = found.get(rule.id), thresholds[rule.id]
        if one is None or threshold is None or not rule.holds(one.value, threshold):
            continue
        sentence = f"{one.case}: {one.sentence}" if one.case else one.sentence
        figures = {"value": one.value} | ({"case": one.case} if one.case else {}) | one.figures
        figures = {name: None if _is_not_finite(value) else value for name, value in figures.items()}
        sentence = f"{sentence} {rule.look}"[:MOST_SENTENCE_CHARS]
        held.append(Evidence(rule.id, threshold, sentence, figures, one.samples))
    return held


def _is_not_finite(value: object) -> bool:
    """Return whether a number has no JSON form, so that no database would keep it."""
    return isinstance(value, float) and not math.isfinite(value)


def held_by_run(reported: Reported, opaque_chars: int, thresholds: Thresholds) -> list[Evidence]:
    """Return the evidence that holds a run by its report and source, without board and history.

    The same arguments have the same answer, whatever others have sent.
    """
    return held_by(measure(reported, Known(), Source(opaque_chars=opaque_chars)).measures, thresholds)


def _without_samples(reported: Reported, known: Known, source: Source) -> Iterator[Measure]:
    """Yield the measures of rules that need no samples: of the reported figures, then of the source.

    The comparison is with the best published entry and a tuned baseline (ratio 1); faster_than_eager covers untuned
    references.
    """
    others = known.incumbent_ratio
    is_tuned = bool((reported.report.get("evidence") or {}).get("tuned", True))
    best = min([ratio for ratio in (others, 1.0 if is_tuned else None) if ratio is not None], default=math.inf)
    whom = "the best published entry" if others is not None and others <= best else "the baseline"
    faster = best / reported.ratio if math.isfinite(best) else 0.0
    figures = {"ratio": reported.ratio, "incumbent_ratio": others, "best_ratio": best if faster else None}
    yield Measure("faster_than_best", faster, f"{faster:.2f}× as fast as {whom}, over all cases.", figures=figures)
    if "not_certified" in reported.flags:
        yield Measure("not_certified", 1.0, rules.NOT_FROZEN, figures={"flags": sorted(reported.flags)})
    if reported.forgeable:
        sentence = f"{100 * reported.forgeable:.3g} % of the time could be forged without the judge's clock telling."
        yield Measure("forgeable", reported.forgeable, sentence)
    if source.opaque_chars:
        sentence = f"A literal of {source.opaque_chars:,} characters holds data where code is expected."
        yield Measure("opaque_source", source.opaque_chars, sentence)
    like = source.likeness
    if like is None:
        return
    figures = {"other_submission": like.submission_id, "share": like.share, "shared": like.shared, "of": like.of}
    said = f"{100 * like.share:.0f} % of its code stands in submission {like.submission_id}, which was sent earlier"
    yield Measure("similar_source", like.share, f"{said} by another entrant.", figures=figures)
    if like.share >= LIKE and known.own_ratio is not None:
        faster = known.own_ratio / reported.ratio
        sentence = f"{faster:.3g} times as fast as its owner's best before, and {said} by another entrant."
        figures = figures | {"own_ratio": known.own_ratio, "ratio": reported.ratio}
        yield Measure("jump_with_copy", faster, sentence, figures=figures)


def _with_cover(found: Measure, known: Known) -> Measure:
    """Scale down a comparison with the baseline in a case, or over all cases, in which faster results stand."""
    stands = known.case_ratios.get(found.case) if found.case else known.incumbent_ratio
    cover = min(1.0, stands or 1.0)
    against_baseline = found.rule == "faster_than_best" and found.figures.get("best") != INCUMBENT
    if cover < 1.0 and (against_baseline or found.rule == "faster_than_eager"):
        return replace(found, value=found.value * cover, figures=found.figures | {"fastest_that_stands": cover})
    return found


def _relayed(run: Run, measured: list[Measure]) -> Iterator[Measure]:
    """Yield the judge's findings that its samples do not bear out, in its words: a person decides them all the same.

    The competition's threshold applies to the number that a finding gives. A finding without a number holds, and so
    does a finding of a rule that this site does not know.
    """
    borne_out = {(one.rule, one.case) for one in measured if RULES[one.rule].holds(one.value, USUAL[one.rule])}
    cases = {case.name: case for case in run.cases}
    for finding in run.evidence.findings[:MOST_RELAYED]:
        rule, case, figures = finding.rule, finding.case, dict(finding.figures)
        if (rule, case) in borne_out:
            continue
        value, sentence = figures.pop("value", None), finding.sentence
        figures.pop("case", None)  # the finding names it
        if rule not in RULES:
            rule, value, sentence = "runner_finding", 1.0, f"{rule}: {sentence}"
        number = float(value) if isinstance(value, int | float) else math.nan
        yield Measure(rule, number, sentence, case, figures, rules.blocks(cases[case]) if case in cases else {})


def _of_run(run: Run, reported: Reported, known: Known) -> Iterator[Measure]:
    measured = list(rules.measures(run))
    yield from (_with_cover(found, known) for found in (*measured, *_relayed(run, measured)))
    for case in run.cases:
        best, ratio = known.case_ratios.get(case.name), case.ratio_of(CANDIDATE)
        if best is not None and ratio:
            best = min(best, 1.0) if run.evidence.tuned else best  # a tuned baseline's own ratio is 1
            sentence = f"{best / ratio:.3g} times as fast here as any result that stands."
            figures = {"ratio": ratio, "best_ratio": best}
            yield Measure("case_faster_than_best", best / ratio, sentence, case.name, figures)
    if run.cases and not reported.report["evidence"].get("runs"):
        sampled, said = run.ratio, ""
        if sampled is not None and not math.isfinite(sampled):  # more void quads of the candidate than valid ones
            sampled = None
        if sampled is None:
            said = "its own samples give no time"
        elif reported.ratio < sampled * (1 - DISAGREES - min(reported.half_width, 1.0) / 2):
            said = f"its own samples {sampled:.4g}"
        if said:
            sentence = f"The report says {reported.ratio:.4g} of the baseline's time, {said}."
            sources = {"ratio": reported.ratio, "from_samples": sampled}
            yield Measure("figures_disagree", 1.0, sentence, figures=sources)
