"""Evidence of tests made whole: fields that a test leaves out get the values of an uneventful run."""

import json
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any

from runner.evidence import rules, schema
from runner.evidence.schedule import CPU, Profile

JSON = dict[str, Any]

PROFILE = {item.name: getattr(CPU, item.name) for item in fields(Profile) if item.default is MISSING}
HEAT = {"before": {}, "after": {}}
CHECK: JSON = {"case": "n=1", "seed": 7, "public": True, "good": True, "reason": "", "message": "", "figures": []}
REPEAT: JSON = {"same_bits": True}
QUAD: JSON = {"void": "", "charged": ""}
TIMING: JSON = {
    "case": "n=1",
    "arguments": {},
    "idle": [[1, 0, 0, 1, 0, 0, 0]],
    "probe_limit_ns": 0.0,
    "warm": {},
    "warm_ups": [],
    "calls": 0,
    "quads": [],
    "repeats": [],
    "ended": "converged",
    "ended_why": "",
    "input_bytes": 0,
    "output_bytes": 0,
    "eager_ns": None,
}
EVIDENCE: JSON = {
    "version": 3,
    "mode": "ranked",
    "ranking_by": "geom",
    "clock": "wall",
    "certified": True,
    "hardware": "cpu",
    "telemetry": "mask_only",
    "fingerprint": {},
    "epoch": "0123456789abcdef",
    "problem_digest": "sha256:" + "0" * 64,
    "image": "sha256:" + "1" * 64,
    "left_out": [],
    "cores": {},
    "phases_s": {},
    "fault": None,
    "checks": [CHECK],
    "timing": [],
    "findings": [],
    "set_aside": "",
    "limits": {},
}


def whole(evidence: JSON) -> JSON:
    """Return evidence that fits the schema, as JSON brings it back."""
    found = EVIDENCE | evidence
    found["profile"] = asdict(Profile(**(PROFILE | evidence.get("profile", {}))))
    found["checks"] = [CHECK | check for check in found["checks"]]
    found["timing"] = [whole_timing(timing) for timing in found["timing"]]
    again: JSON = json.loads(json.dumps(found))
    return again


def whole_timing(timing: JSON) -> JSON:
    found = {**TIMING, **timing}
    found["idle"] = found["idle"] or TIMING["idle"]
    found["quads"] = [
        {**QUAD, **quad, "blocks": [_block(block) for block in quad["blocks"]]} for quad in found["quads"]
    ]
    found["repeats"] = [REPEAT | repeat for repeat in found["repeats"]]
    return found


def _block(block: JSON) -> JSON:
    return {"took_ns": 0, **block, "heat": block.get("heat") or HEAT}


def parsed(evidence: JSON) -> schema.Evidence:
    return schema.parse_run(whole(evidence))


def parsed_timing(timing: JSON | list[JSON], **told: Any) -> tuple[schema.Timing, schema.Evidence]:
    """Return a timing and the evidence around it."""
    evidence = parsed({"timing": timing if isinstance(timing, list) else [timing], **told})
    return evidence.timing[0], evidence


def confirmation(runs: Sequence[JSON], alone: Sequence[JSON | None] = ()) -> schema.Confirmation:
    given = {"version": 3, "runs": [whole(run) for run in runs], "alone": [run and whole(run) for run in alone]}
    found = schema.parse(given)
    assert isinstance(found, schema.Confirmation)
    return found


def findings(evidence: JSON) -> list[schema.Finding]:
    return rules.findings(parsed(evidence))


def impossible(evidence: JSON) -> schema.Finding | None:
    return rules.impossible(parsed(evidence))
