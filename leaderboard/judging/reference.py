"""The baseline's time of a case in an epoch: learned from its first jobs, then frozen, for comparison in later reports.

The site's worker does it after each timed report. It is computed anew from stored results each time, so it may run
twice or late, and a request that the broker lost is made good by the next. What is in the shadow teaches nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from statistics import median
from typing import Any, Final

from django.db import transaction

from leaderboard.competitions.models import Problem, ProblemVersion
from leaderboard.judging.models import ReferenceTime, Result
from problems.spec import case_name

JOBS: Final = 10


def learn_reference_times(*, problem_digest: str, hardware: str, epoch: str, now: datetime) -> int:
    """Bring the times of this problem in this epoch up to date; answers how many froze now."""
    with transaction.atomic():
        version = ProblemVersion.objects.get(digest=problem_digest)
        Problem.objects.select_for_update(no_key=True).get(pk=version.problem_id)  # versions are append-only: no locks
        frozen = ReferenceTime.objects.filter(
            problem_digest=problem_digest, hardware=hardware, epoch=epoch, frozen_at__isnull=False
        ).values_list("case", flat=True)
        wanted = {case_name(case) for case in version.part("benchmarks", [])} - set(frozen)
        return sum(
            _keep(case, times_ns, now, problem_digest=problem_digest, hardware=hardware, epoch=epoch)
            for case, times_ns in baseline_times_ns(_first_reports(version, hardware, epoch), wanted).items()
        )


def baseline_times_ns(reports: Iterable[list[dict[str, Any]]], wanted: set[str]) -> dict[str, list[float]]:
    """Pure: case → the baseline's time in each of the first JOBS reports that have it."""
    times: dict[str, list[float]] = {}
    for cases in reports:
        told = {
            str(case.get("name")): _time_us(case) for case in reversed(cases) if _time_us(case)
        }  # of cases of one name, the first
        for name in wanted & told.keys():
            time_us = told[name]
            if time_us is not None and len(times.setdefault(name, [])) < JOBS:
                times[name].append(time_us * 1000.0)
    return {name: values for name, values in times.items() if values}


def _time_us(case: dict[str, Any]) -> float | None:
    value = case.get("baseline_us")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if value > 0 else None


def _first_reports(version: ProblemVersion, hardware: str, epoch: str) -> list[list[dict[str, Any]]]:
    results = Result.objects.filter(
        attempt__version=version,
        attempt__hardware=hardware,
        attempt__is_shadow=False,
        epoch=epoch,
        outcome="passed",
        ratio__isnull=False,
    )
    return list(results.order_by("id").values_list("report__cases", flat=True)[:JOBS])


def _keep(case: str, times_ns: list[float], now: datetime, **where: Any) -> bool:
    is_frozen = len(times_ns) >= JOBS
    ReferenceTime.objects.update_or_create(
        **where,
        case=case,
        defaults={"median_ns": median(times_ns), "samples": len(times_ns), "frozen_at": now if is_frozen else None},
    )
    return is_frozen
