"""The worklog of a match as one document: texts of the human side, facts of the site, both by section. Pure.

A fact may have a speed-up with its interval and the submission that it comes from, so that a text can link the figure
to its report. An extract is a longer text: a diff, a prompt, an answer, an error. `runs` has the same history as data,
for the checks of a grader. The document is what a hand-in keeps; page, Markdown and JSON show nothing else.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from leaderboard.matches.models import HUMAN, PASTED, PROMPTS, SEARCH, SECTIONS
from leaderboard.matches.read import TIE, CasePair, Played, Report, Side
from leaderboard.submissions.diff import unified
from leaderboard.wording.figures import NONE, interval, percent, span, speedup, times

SCHEMA: Final = 2  # of the document; a change of its shape raises it
TITLES: Final = {
    "plan": "Problem and plan",
    "hand": "The attempt by hand",
    "model": "The model's attempt",
    "head_to_head": "Head-to-head",
    "stuck": "Where each side got stuck",
}
WAYS: Final = {
    SEARCH: "a search driver wrote its kernels",
    PROMPTS: "it was asked prompt by prompt",
    PASTED: "its answers were pasted with their prompts",
}
DIFF: Final = "diff"
TEXT: Final = "text"
MOST_EXTRACT_CHARS: Final = 400_000  # of a section; a prompt and its answer fit
MOST_DIFFS: Final = 20  # of a side, the last ones
MOST_CASES: Final = 50

NOT_PROSE: Final = r"""
    ^[ ]{0,3}(?P<fence>`{3,}|~{3,}) .*? (?:^[ ]{0,3}(?P=fence)|\Z)
    | `[^`\n]*`
    | \$[^$\n]*\$
    | \[[^\[\]\n]{0,200}\]\([^()\s]{0,400}\)
    | \\\#
"""
_MENTION: Final = re.compile(rf"{NOT_PROSE} | (?<![\w\#&/\[])\#(?P<number>[0-9]{{1,18}})\b", re.X | re.M | re.S)
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#$~])")


@dataclass(frozen=True)
class Fact:
    """A sentence of the site. `url` "": it has no report. `half_width`: of `speedup`, relative, 95 %; None: unknown."""

    name: str
    text: str
    speedup: float | None = None
    half_width: float | None = None
    submission: int | None = None
    url: str = ""


@dataclass(frozen=True)
class Extract:
    title: str
    kind: str  # DIFF or TEXT
    text: str
    url: str = ""
    is_cut: bool = False


def document_of(
    report: Report, texts: Mapping[str, str], codes: Mapping[int, str], first_run_at: datetime | None
) -> dict[str, Any]:
    """Return the worklog. `codes`: readable sources by submission, for the diffs. `first_run_at`: by hand, any mode."""
    match = report.match
    facts = {
        "plan": _plan(report),
        "hand": [*_versions(report, report.human), *_profile(report)],
        "model": [*_machine(report), *_versions(report, report.machine)],
        "head_to_head": _head_to_head(report),
        "stuck": [fact for side in report.sides for fact in _stuck(report, side)],
    }
    extracts = {
        "hand": _diffs(report, report.human, codes),
        "model": _dialogue(report),
        "stuck": (one for side in report.sides for one in _errors(report, side)),
    }
    kept = {name: texts.get(name, "") for name in SECTIONS}
    return {
        "schema": SCHEMA,
        "match": {
            "id": match.pk,
            "problem": match.board.title,
            "board": match.board.slug,
            "hardware": match.board.hardware,
            "human": match.human.shown_name,
            "model": match.model,
            "machine": match.machine,
        },
        "titles": dict(TITLES),
        "runs": _runs(report, first_run_at),
        "texts": kept,
        "missing": [name for name, text in kept.items() if not text.strip()],
        "facts": {name: [asdict(one) for one in facts[name]] for name in SECTIONS},
        "extracts": {name: [asdict(one) for one in _fitting(extracts.get(name, iter(())))] for name in SECTIONS},
    }


def links_of(document: Mapping[str, Any]) -> dict[int, str]:
    """Return the addresses of the document's submissions, by number."""
    facts = (fact for section in document["facts"].values() for fact in section)
    return {fact["submission"]: fact["url"] for fact in facts if fact["submission"] and fact["url"]}


def linked(text: str, links: Mapping[int, str], base: str = "") -> str:
    """Return Markdown with each mention of a submission, such as #12, as a link; code and formulas stay as typed."""

    def link(found: re.Match[str]) -> str:
        url = links.get(int(found["number"])) if found["number"] else None
        return f"[#{found['number']}]({base}{url})" if url else found[0]

    return _MENTION.sub(link, text)


def as_markdown(document: Mapping[str, Any], base: str) -> str:
    """Return the document as a Markdown file. `base`: the site's address, for the links."""
    match, links = document["match"], links_of(document)
    parts = [
        f"# {_plain(match['human'])} against {_plain(match['model'])}",
        f"{_plain(match['problem'])} on {_plain(match['hardware'])}: "
        f"[match {match['id']}]({base}/matches/{match['id']})",
    ]
    for name in SECTIONS:  # a stored document has lost the order of its keys
        parts.append(f"## {document['titles'][name]}")
        parts.append(linked(document["texts"][name], links, base).strip() or "*Not written yet.*")
        parts += _facts_as_markdown(document["facts"][name], base)
        parts += [_extract_as_markdown(one) for one in document["extracts"][name]]
    return "\n\n".join(parts) + "\n"


def _facts_as_markdown(facts: list[dict[str, Any]], base: str) -> Iterator[str]:
    rows = [
        f"| {_plain(fact['name'])} | {_plain(fact['text'])} | "
        + (f"[#{fact['submission']}]({base}{fact['url']}) |" if fact["submission"] else "|")
        for fact in facts
    ]
    if rows:
        yield "\n".join(["| Fact | Value | Report |", "| --- | --- | --- |", *rows])


def _extract_as_markdown(extract: Mapping[str, Any]) -> str:
    longest = max((len(run) for run in re.findall(r"`+", extract["text"])), default=0)
    fence = "`" * max(3, longest + 1)
    cut = "\n\n*Cut: the page of the version has all of it.*" if extract["is_cut"] else ""
    return f"### {_plain(extract['title'])}\n\n{fence}{extract['kind']}\n{extract['text'].rstrip()}\n{fence}{cut}"


def _plain(text: str) -> str:
    """Return a text as a line of Markdown without markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _plan(report: Report) -> list[Fact]:
    board = report.match.board
    facts = [Fact("problem", f"{board.title} on {board.hardware}", url=f"/boards/{board.slug}")]
    if (predicted := report.prediction) is None:
        return [*facts, Fact("prediction", "none was committed")]
    text = f"{predicted.bound}-bound, {times(predicted.speedup)}; committed {_at(predicted.committed_at)}"
    facts += [Fact("prediction", text, predicted.speedup), Fact("why", predicted.why)]
    first = report.human.first
    if first is not None:
        later = span(first.version.created_at - predicted.committed_at)
        facts.append(Fact("first version", f"{later} after the prediction", **_report_of(report, first)))
    measured, best = report.measured, report.human.best
    if measured is not None and best is not None:
        text = f"bound {measured.bounds or 'unknown'}, {times(best.speedup)}"
        if measured.light_share:
            text += f", {percent(measured.light_share)} of the speed of light"
        facts.append(Fact("measured", text, **_figure_of(report, best)))
    return [*facts, *_compiled(report)]


def _versions(report: Report, side: Side) -> Iterator[Fact]:
    for one in side.versions:
        text = f"{verdict_of(one)}; sent {_at(one.version.created_at)}"
        if one.version.expected is not None:
            text += f"; expected {times(one.version.expected)}"
        if one.version.reason:
            text += f"; reason: {one.version.reason}"
        yield Fact(f"version {one.number}", text, **_figure_of(report, one))


def _profile(report: Report) -> Iterator[Fact]:
    measured = report.measured
    if measured is not None and measured.profile is not None:
        url = f"/submissions/{measured.profile}"
        yield Fact("profile", measured.sentence, submission=measured.profile, url=url)


def _machine(report: Report) -> Iterator[Fact]:
    yield Fact("model", f"{report.match.model}; {WAYS[report.match.machine]}")
    first = report.machine.first
    if first is not None and first.is_finished:
        text = "passed both gates" if first.passes_both else f"did not pass both gates: {verdict_of(first)}"
        yield Fact("first try", text, **_figure_of(report, first))


def _head_to_head(report: Report) -> list[Fact]:
    facts = []
    for name, side in (("best by hand", report.human), ("best of the machine", report.machine)):
        if (best := side.best) is None:
            facts.append(Fact(name, "no correct version"))
        else:
            text = f"version {best.number}: {verdict_of(best)}"
            facts.append(Fact(name, text, **_figure_of(report, best)))
    if report.result and report.lead is not None:
        lead = times(report.lead.speedup)
        text = f"a tie within noise ({lead})" if report.result == TIE else f"{_name(report, report.result)} leads"
        facts.append(Fact("result", f"{text}; by hand over the machine: {lead}"))
    facts += _compiled(report)
    if not report.is_comparable:
        facts.append(Fact("caution", "the two best versions were timed in different timing epochs"))
    facts += [Fact(f"review rule, {name}", sentence) for name, sentence in report.held.items()]
    return facts + [Fact(f"case {pair.name}", _case(report, pair)) for pair in report.cases[:MOST_CASES]]


def _case(report: Report, pair: CasePair) -> str:
    human, machine = (speedup(one.ratio) if one else NONE for one in (pair.human, pair.machine))
    ahead = {"": "", TIE: "; a tie"}.get(pair.winner, f"; {_name(report, pair.winner)} ahead")
    return f"{human} by hand, {machine} by the machine{ahead}"


def _stuck(report: Report, side: Side) -> Iterator[Fact]:
    finished = [one for one in side.versions if one.is_finished]
    failed = [one for one in finished if not one.is_correct]
    name = _name(report, side.name)
    if not finished:
        return
    yield Fact(name, f"{len(failed)} of {len(finished)} versions are not correct")
    for reason, count in Counter(_fault(one) for one in failed).items():
        if count > 1:
            yield Fact(f"{name}, repeated fault", f"{reason}: {count} times")
    pauses = [(later.version.created_at - early.version.created_at, later) for early, later in pairwise(side.versions)]
    if pauses:
        longest, later = max(pauses, key=lambda pause: pause[0])
        text = f"{span(longest)}, before version {later.number}"
        yield Fact(f"{name}, longest pause", text, **_report_of(report, later))
    for one in failed:
        yield Fact(f"{name}, version {one.number}", verdict_of(one), **_report_of(report, one))


def _compiled(report: Report) -> list[Fact]:
    solved = report.compiled
    return [Fact("torch.compile", f"{speedup(solved.ratio)} {interval(solved.half_width)}".rstrip())] if solved else []


def _diffs(report: Report, side: Side, codes: Mapping[int, str]) -> Iterator[Extract]:
    for early, later in list(pairwise(side.versions))[-MOST_DIFFS:]:
        before, after = (codes.get(one.version.submission_id) for one in (early, later))
        if before is None or after is None:
            continue
        diff = unified(before, after)
        title = f"From version {early.number} to version {later.number}"
        text = diff.refusal or "\n".join(line.text for line in diff.lines)
        yield Extract(title, DIFF, text, _address(report, later), diff.is_cut)


def _dialogue(report: Report) -> Iterator[Extract]:
    for one in report.machine.versions:
        for name, text in (("Prompt", one.version.prompt), ("Answer", one.version.answer)):
            if text:
                yield Extract(f"{name} of version {one.number}", TEXT, text, _address(report, one))


def _errors(report: Report, side: Side) -> Iterator[Extract]:
    for one in side.versions:
        if one.is_finished and not one.is_correct and one.status.message:
            title = f"{_name(report, side.name)}, version {one.number}: {_fault(one)}"
            yield Extract(title, TEXT, one.status.message, _address(report, one))


def _fitting(extracts: Iterator[Extract]) -> Iterator[Extract]:
    """Cut the extracts of a section, the last ones first, so that all fit MOST_EXTRACT_CHARS."""
    left = MOST_EXTRACT_CHARS
    for one in extracts:
        is_cut = one.is_cut or len(one.text) > left
        yield Extract(one.title, one.kind, one.text[:left], one.url, is_cut)
        left -= min(left, len(one.text))


def verdict_of(one: Played) -> str:
    """Return a version's verdict with its figure, as half a sentence."""
    if not one.is_finished:
        return "waits for its verdict"
    if one.solved is None:
        return _fault(one)
    figure = f"{speedup(one.solved.ratio)} {interval(one.solved.half_width)}".rstrip()
    return f"{figure}, correct, {'faster' if one.is_faster else 'not surely faster'} than the eager reference"


def _fault(one: Played) -> str:
    words = [one.status.outcome or "cancelled", one.status.reason]
    return ": ".join(word.replace("_", " ") for word in words if word)


def _name(report: Report, side: str) -> str:
    return report.match.human.shown_name if side == HUMAN else report.match.model


def _runs(report: Report, first_run_at: datetime | None) -> dict[str, Any]:
    predicted = report.prediction
    return {
        "predicted_at": predicted.committed_at.isoformat() if predicted else None,
        "first_run_at": first_run_at.isoformat() if first_run_at else None,
        "versions": [
            {
                "side": side.name,
                "number": one.number,
                "has_reason": bool(one.version.reason.strip()),
                "is_finished": one.is_finished,
                "passes_both": one.passes_both,
                **_figure_of(report, one),
            }
            for side in report.sides
            for one in side.versions
        ],
    }


def _figure_of(report: Report, one: Played) -> dict[str, Any]:
    half_width = one.solved.half_width if one.solved else None
    return {"speedup": one.speedup, "half_width": half_width, **_report_of(report, one)}


def _report_of(report: Report, one: Played) -> dict[str, Any]:
    return {"submission": one.version.submission_id, "url": _address(report, one)}


def _address(report: Report, one: Played) -> str:
    """Return the page of a version, which every reader of the match may open; it leads to the verdict."""
    return f"/matches/{report.match.pk}/{one.version.side}/{one.number}"


def _at(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
