"""Facts that the site checks in a handed-in worklog, for its grader. Pure, and linear in the length of the texts.

A check names its place in the text, and decides nothing: the grader does. A figure such as 2.1× counts as a claim about
a report if it stands beside the report's number, such as #12, in the same line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.matches.document import NOT_PROSE
from leaderboard.matches.models import HUMAN, MACHINE, SECTIONS
from leaderboard.wording.figures import interval, times

NEAR: Final = 160  # characters between a claim and the report's number
TOLERANCE: Final = 0.05  # relative; of a figure whose report has no interval
MOST_CLAIMS: Final = 100  # checks of claims, of a worklog
_TOKEN: Final = re.compile(
    rf"""{NOT_PROSE}
    | (?P<end>\n)
    | (?<![\w\#&/\[])\#(?P<report>[0-9]{{1,18}})\b
    | (?<![\w.,])(?P<figure>[0-9]{{1,6}}(?:[.,][0-9]{{1,6}})?)[ \u00a0\u202f]?(?:×|x(?!\w))""",
    re.X | re.M | re.S,
)


@dataclass(frozen=True)
class Check:
    """A sentence about the worklog. `is_good` None: it cannot be said. `section` "": about all of it."""

    name: str
    text: str
    is_good: bool | None
    section: str = ""
    line: int | None = None  # of the section's text, from 1
    number: str = ""  # the claim as the text has it
    url: str = ""


@dataclass(frozen=True)
class _Token:
    line: int
    start: int
    end: int
    text: str
    report: int | None  # None: a claim


def checks_of(document: Mapping[str, Any]) -> list[Check]:
    """Return the checks of a worklog. One of an older shape, without `runs`, has those of its texts alone."""
    runs = document.get("runs")
    found = [*_history(runs)] if runs else []
    missing = [document["titles"][name] for name in document["missing"]]
    text = f"empty: {', '.join(missing)}" if missing else "each has a text"
    return [*found, Check("sections", text, not missing), *_claims(document, runs["versions"] if runs else ())]


def _history(runs: Mapping[str, Any]) -> Iterator[Check]:
    name = "prediction before the first run"
    predicted, first = (runs[key] and datetime.fromisoformat(runs[key]) for key in ("predicted_at", "first_run_at"))
    if predicted is None:
        yield Check(name, "no prediction was committed", is_good=False)
    elif first is None:
        yield Check(name, "committed; nothing ran by hand", is_good=None)
    else:
        yield Check(name, "yes" if predicted < first else "no: a kernel ran before it", predicted < first)
    later = [one for one in runs["versions"] if one["side"] == HUMAN and one["number"] > 1]
    count = sum(one["has_reason"] for one in later)
    text = f"{count} of {len(later)} later versions have a reason" if later else "there is no later version"
    yield Check("reasons", text, count == len(later) if later else None)
    first_try = next((one for one in runs["versions"] if one["side"] == MACHINE and one["number"] == 1), None)
    if first_try is None or not first_try["is_finished"]:
        text = "it has no verdict" if first_try else "the model has no version"
        yield Check("first try of the model", text, is_good=None)
    else:
        text = "passed both gates" if first_try["passes_both"] else "did not pass both gates"
        yield Check("first try of the model", text, is_good=None, url=first_try["url"])


def _claims(document: Mapping[str, Any], versions: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Check each report's number that has a figure beside it. Good claims are counted in a single check."""
    known = {one["submission"]: one for one in versions}
    wrong: list[Check] = []
    count = good = 0
    for section in SECTIONS:
        for claims, report in _pairs(document["texts"][section]):
            count += 1
            version = known.get(report)
            if any(_agrees(claim.text, version) for claim in claims):
                good += 1
            elif len(wrong) < MOST_CLAIMS:
                odd = (claim for claim in claims if not any(_agrees(claim.text, one) for one in versions))
                wrong.append(_flag(section, next(odd, claims[0]), report, version))
    if not count:
        return [Check("claims", "no figure stands beside the number of a report", is_good=None)]
    summary = Check("claims", f"{good} of {count} agree with their reports", not wrong)
    return [summary, *wrong]


def _pairs(text: str) -> Iterator[tuple[list[_Token], int]]:
    """Yield each report's number with the figures beside it in its line, the nearest first.

    The figure before and the figure after count, unless another report stands between.
    """
    tokens = list(_tokens(text))
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.report is None:
            continue
        beside = [one for one in (before, after) if one and one.report is None and one.line == token.line]
        apart = {id(one): max(token.start - one.end, one.start - token.end) for one in beside}
        near = sorted((one for one in beside if apart[id(one)] <= NEAR), key=lambda one: apart[id(one)])
        if near:
            yield near, token.report


def _tokens(text: str) -> Iterator[_Token]:
    """Yield claims and numbers of reports with their lines. Code, formulas and links count as neither."""
    line, seen = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", seen, found.start())
        seen = found.start()
        if found["report"]:
            yield _Token(line, found.start(), found.end(), found[0], int(found["report"]))
        elif found["figure"]:
            yield _Token(line, found.start(), found.end(), found[0], None)


def _agrees(claim: str, version: Mapping[str, Any] | None) -> bool:
    """Return whether a claim, as rounded by its author, meets the interval of the version's speed-up."""
    if version is None or version["speedup"] is None:
        return False
    digits = claim.rstrip("×x \u00a0\u202f").replace(",", ".")
    half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
    wide = TOLERANCE if version["half_width"] is None else version["half_width"]
    low, high = version["speedup"] / (1 + wide), version["speedup"] * (1 + wide)
    return bool(float(digits) + half >= low and float(digits) - half <= high)


def _flag(section: str, claim: _Token, report: int, version: Mapping[str, Any] | None) -> Check:
    if version is None:
        text, url = f"stands beside #{report}, which is no version of this match", ""
    elif version["speedup"] is None:
        text, url = f"stands beside #{report}, whose report has no speed-up", version["url"]
    else:
        figure = f"{times(version['speedup'])} {interval(version['half_width'])}".rstrip()
        text, url = f"stands beside #{report}, whose report says {figure}", version["url"]
    return Check("claim", text, is_good=False, section=section, line=claim.line, number=claim.text, url=url)
