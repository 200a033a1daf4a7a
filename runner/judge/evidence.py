"""Empty evidence of an attempt. verdict.py derives a verdict from it, and reports store all of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from problems.spec import Problem
from runner.evidence import schema, throttle
from runner.evidence.schedule import Profile
from runner.judge.data.call import Input
from runner.judge.data.compare import Figures


def blank(problem: Problem, mode: str, profile: Profile) -> dict[str, Any]:
    return {
        "version": schema.VERSION,
        "rules": schema.RULES,
        "mode": mode,
        "ranking_by": problem.ranking_by,
        "profile": asdict(profile),
        "clock": profile.clock,
        "certified": False,
        "telemetry": throttle.NONE,
        "fault": None,
        "processor_share": None,
        "checks": [],
        "timing": [],
        "findings": [],
        "set_aside": "",
        "init_seed": None,
        "limits": {},
    }


def blank_check(given: Input, found: list[Figures], *, public: bool) -> dict[str, Any]:
    """Return an entry of `checks` without an error."""
    return {
        "case": given.case,
        "seed": given.seed,
        "public": public,
        "good": True,
        "reason": "",
        "message": "",
        "figures": [figures.to_json(public=public) for figures in found],
    }
