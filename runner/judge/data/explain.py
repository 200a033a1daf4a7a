"""Results of a comparison (compare.py) in words: for the author of a submission, and for a reviewer. Pure.

For a public case all details may be shown; for a secret case only our own figures and its size class, never the data.
"""

from __future__ import annotations

import math

from runner.evidence.schema import Finding
from runner.judge.data import error_model
from runner.judge.data.compare import Figures
from runner.judge.data.criterion import Rule
from runner.judge.data.layout import DTYPES, Layout


def explain(case: str, found: Figures, output: int, of: int) -> str:
    """Explain a public case to the author of a submission: which elements differ, the first, the worst, and their
    pattern."""
    which = "" if of == 1 else f", output {output}"
    if found.reason == "precision":
        return " ".join([f"Case {case}{which}: {_imprecise(found)}", *found.hints])
    lines = [f"Case {case}{which}: {found.different} of {found.elements} elements are wrong."]
    for label, element in (("First", found.first), ("Worst", found.worst)):
        if element is not None and not (label == "Worst" and element == found.first):
            lines.append("{} at {}: expected {}, got {}.".format(label, *element))
    if found.reason == "nan":
        lines.append("There are NaNs where finite values are expected.")
    return " ".join([*lines, *found.hints])


def explain_secret(found: Figures) -> str:
    """Explain a secret case: our own figures and the size class, without any hint of the data."""
    text = f"A secret case with about {_about(found.elements)} output elements: "
    if found.reason == "precision":
        return text + _imprecise(found)
    text += f"{100 * found.different / max(found.elements, 1):.3g} % of them are wrong"
    if found.worst_abs is not None:
        text += f", the worst by {found.worst_abs:.3g}"
    return text + ". Try odd sizes, large and tiny values, and constant rows."


def _imprecise(found: Figures) -> str:
    error, limit = ("not finite" if one is None else f"{one:.2g}" for one in (found.relative_l2, found.limit_l2))
    return (
        "each element is near enough, but all together they are less precise than they must be: "
        f"relative L2 error {error}, at most {limit}. "
        "Is a part of it computed in a narrower number format?"
    )


def size_class(layout: Layout) -> int:
    """Return the output elements to the nearest power of two, the only size that may be shown of a secret case."""
    return _about(sum(slot.nbytes // DTYPES[slot.dtype][0] for slot in layout.outputs))


def _about(elements: int) -> int:
    return int(2 ** round(math.log2(max(elements, 1))))


def precision_findings(case: str, layout: Layout, found: list[Figures], rule: Rule) -> list[Finding]:
    """Return findings for a reviewer: right outputs with the error of a cheaper format than the problem's
    `precision.legal`.

    A finding does not reject by itself: an unstable algorithm in a legal format can be as far off. An author who wants
    it rejected declares `max_relative_l2`; without a tolerance the error model has the legal formats in its bound.
    """
    cheaper = error_model.cheaper(rule.precision)
    outputs = [slot for slot in layout.outputs if slot.nbytes]
    findings = []
    for slot, figures in zip(outputs, found, strict=True):
        if cheaper is None or slot.dtype not in error_model.UNIT or not figures.good or figures.relative_l2 is None:
            continue
        if figures.references_own:  # rounding alone identifies no format
            continue
        name, least = cheaper[0], max(cheaper[1], error_model.UNIT[slot.dtype])
        if figures.relative_l2 >= least:
            sentence = (
                f"The relative L2 error is {figures.relative_l2:.2g}; computing in {name} leaves {least:.2g} and more, "
                f"the legal formats ({', '.join(rule.precision.legal if rule.precision else ())}) far less."
            )
            told = {"relative_l2": figures.relative_l2, "least": least, "basis": figures.basis}
            findings.append(Finding(rule="cheaper_precision", case=case, figures=told, sentence=sentence))
    return findings
