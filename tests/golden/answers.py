"""Answers of the code under test to a stored report: the verdict, the screening and the review page, as plain JSON.

This is the only module of the golden tests that imports the code whose behaviour they pin. When that code moves, its
imports change here; neither a stored report nor an answer does.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from leaderboard.review.rules.findings import Known, Likeness, Reported, Source, held_by, measure, worst
from leaderboard.standings.publish import light_share
from leaderboard.web.review import evidence
from problems.spec import Precision
from runner.commands.replay import ReplayError, replay
from runner.evidence import certificate, estimates, rules, schema, speed_of_light, throttle, verdict
from runner.evidence.ceilings import Ceilings, unmeasured
from runner.evidence.sample import EVENT
from runner.evidence.schema import Evidence, Timing

JSON = dict[str, Any]
SIDES = ("candidate", "incumbent")
LONG = 200  # characters; a longer drawing is kept as a hash


def answer(golden: JSON) -> JSON:
    """Return all answers to a golden input.

    `boards`: the standings and sources that the site screens the report beside. `page`: whether its page is pinned.
    """
    if "bounds" in golden:
        return {"bounds": plain([_bounds(each) for each in golden["bounds"]])}
    report = golden["report"]
    given: JSON = {"replay": _replayed(report)}
    if golden["page"]:
        given["page"] = _page(report)
    if report["outcome"] == "passed" and report["ratio"] is not None:
        given["site"] = [_screened(report, board) for board in golden["boards"]]
    found: JSON = plain(given)
    return found


def plain(value: Any) -> Any:
    """Return JSON with sorted keys and finite floats unchanged; infinities and NaN, which JSON lacks, become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return plain({item.name: getattr(value, item.name) for item in fields(value)})
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in sorted(value)}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


# -- the runner ------------------------------------------------------------------------------------------------------


def _replayed(report: JSON) -> JSON:
    try:
        found = replay(report)
    except ReplayError as error:
        return {"refused": str(error)}
    evidence = schema.parse(report["evidence"])
    runs = [evidence] if isinstance(evidence, Evidence) else evidence.everything
    return {
        "runs": found.runs,
        "record": found.record and found.record.to_json(),
        "differences": [asdict(each) for each in found.differences],
        "compared": found.compared,
        "blocks": found.blocks,
        "summed_up": found.summed_up,
        "evidence": [_of_run(run) for run in runs if not run.is_summed_up],
    }


def _of_run(run: Evidence) -> JSON:
    impossible = rules.impossible(run)
    return {
        "findings": [finding.model_dump() for finding in rules.findings(run)],
        "impossible": impossible and impossible.model_dump(),
        "own_calls": certificate.offsets(run.own_calls, rules=run.rules),
        "cases": [_of_case(timing, run) for timing in run.timing],
        "rulings": list(_rulings(run)),
    }


def _of_case(timing: Timing, run: Evidence) -> JSON:
    """Return the certified times of each side, and the times that rules compare."""
    sides = {side for quad in timing.quads for side in quad.sides}
    read = estimates.TimedCase(timing, run)
    found: JSON = {"case": timing.case, "times": {side: getattr(read, side) for side in sorted(sides)}}
    for side in SIDES:
        if side in sides:
            certified = certificate.certify(timing, run, side)
            found[side] = {
                "quads_ns": [" ".join(map(repr, quad)) for quad in certified.quads],
                "spread_ns": certified.spread_ns,
                "mismatch": certified.mismatch,
            }
            if run.clock == EVENT and certified.quads:
                quads = [quad for quad in timing.quads if quad.compares(side)]
                found[side]["hidden"] = list(certificate.hidden_of_case(timing, quads, side, rules=run.rules))
    return found


def _rulings(run: Evidence) -> Iterator[str]:
    """Yield the ruling on each block, unless it is VALID and has no figures but the temperature.

    A ruling considers the block and the last warm-up of its side before it.
    """
    for timing in run.timing:
        for number, quad in enumerate(timing.quads, 1):
            for block in quad.blocks:
                window = block.heat
                before = [
                    warm_up.heat
                    for warm_up in timing.warm_ups
                    if warm_up.side == block.side and warm_up.heat.after.at_ns <= window.before.at_ns
                ]
                ruling = throttle.rule(window, before[-1] if before else None)
                if ruling.action != throttle.VALID or set(ruling.figures) - {"temperature_c"}:
                    figures = ", ".join(f"{name} {value!r}" for name, value in sorted(ruling.figures.items()))
                    charged = ", charged" if ruling.charged else ""
                    yield (
                        f"{timing.case}, quad {number}, {block.side}, {throttle.level_of(window.after)}: "
                        f"{ruling.action} {ruling.reason}{charged} ({figures})"
                    )


def _bounds(given: JSON) -> speed_of_light.Limits:
    """Return the speed of light on a device: the limits of a problem's cases, without a run."""
    found = given["ceilings"]
    ceilings = Ceilings.from_json(found) if isinstance(found, dict) else unmeasured(*found) if found else None
    if ceilings is not None and isinstance(found, dict):
        ceilings = ceilings.with_hard()
    precision = Precision(tuple(given["legal"]), given["max_relative_l2"]) if given["legal"] else None
    return speed_of_light.limits(given["speed_of_light"], given["cases"], ceilings, precision)


# -- the site --------------------------------------------------------------------------------------------------------


def _screened(report: JSON, board: JSON) -> JSON:
    source = dict(board.get("source", {}))
    if source.get("likeness"):
        source["likeness"] = Likeness(**source["likeness"])
    reported = {
        "ratio": report["ratio"],
        "half_width": report["half_width"] or 0.0,
        "forgeable": report["forgeable"] or 0.0,
        "flags": report["flags"],
    }
    reported |= board.get("reported", {})
    found = measure(Reported(**reported, report=report), Known(**board.get("known", {})), Source(**source))
    return {
        "case_ratios": found.case_ratios,
        "measures": [{key: value for key, value in asdict(one).items() if key != "samples"} for one in found.measures],
        "worst": {name: one.value for name, one in worst(found.measures).items()},
        "held": [asdict(one) | {"samples": _cut(one.samples)} for one in held_by(found.measures)],
    }


def _page(report: JSON) -> JSON:
    """Return a competitor's cases, and a reviewer's rows of cases, panels of both clocks and strip of telemetry."""
    run = evidence.evidence_of(report)
    timed = evidence.timings(run)
    return {
        "shown": list(verdict.shown_cases(run, verdict.decide(run))) if run else [],
        "case_rows": [
            asdict(row) | {"light_share": row.light_share, "against_incumbent": row.against_incumbent}
            for row in evidence.case_rows(report, run, report)
        ],
        "light_share": light_share(report),
        "timed": [
            f"{one.case}: {len(one.blocks)} blocks, void {sum(bool(block.void) for block in one.blocks)}, {one.ended}"
            for one in timed
        ],
        "panels": _cut([evidence.panels(one) for one in timed]),
        "strip": _cut(evidence.strip(timed)),
    }


def _cut(value: Any) -> Any:
    """Return the value with a hash in place of each drawing and each excerpt of samples, unreadable as JSON."""
    value = plain(value)
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) > 16:
            return f"{len(value)} items, sha256:{hashlib.sha256(repr(value).encode()).hexdigest()}"
        return [_cut(item) for item in value]
    if isinstance(value, str) and len(value) > LONG:
        return f"{len(value)} characters, sha256:{hashlib.sha256(value.encode()).hexdigest()}"
    return value
