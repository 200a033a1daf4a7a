"""Manufactured kernels as a data set: a row of a judged kernel, and the folder of all rows.

Rows have the columns of the site's export, so that both load together. The judge's command uses this module without a
site.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from leaderboard.dataset import columns, folder, parquet
from leaderboard.dataset.folder import HUB_LICENCES, About, Row
from leaderboard.dataset.likeness import SPLITS, keys_of
from leaderboard.submissions.tokens import code_digest
from problems.spec import Problem
from runner.wire import Job, Report

LICENCES: Final = tuple(sorted(HUB_LICENCES))
PASSED: Final = "passed"
FOLDER: Final = "data"
TITLE: Final = "Manufactured kernels"
TEXT: Final = (
    "PyTorch modules and the kernels that torch.compile (Inductor) wrote for them. A judge outside the sandbox\n"
    "checked each on fresh random inputs, and timed it beside the module itself.\n"
)

missing = "" if parquet.IS_INSTALLED else parquet.MISSING


def table_of(report: Report) -> str:
    """Return the table that a judged kernel belongs to; "": none, for it has no verdict or its run needs a person."""
    if report.outcome == PASSED:
        return "" if report.evidence.get("findings") else "kernels"
    return "rejected" if report.outcome in columns.FAULTS else ""


def row_of(problem: Problem, job: Job, report: Report, *, licence: str, now: datetime) -> dict[str, Any]:
    """Return the values of a judged kernel, as JSON."""
    table = table_of(report)
    schema, kinds = columns.TABLES[table]
    fingerprint: Mapping[str, Any] = report.evidence.get("fingerprint") or {}
    reference = problem.files.get("reference.py", "")
    values = dict.fromkeys(kinds) | {
        "schema": schema,
        "source": columns.MANUFACTURED,
        "problem": problem.slug,
        "problem_digest": problem.digest,
        "title": problem.title,
        "description": problem.description,
        "reference": reference,
        "hardware": job.hardware,
        "mode": job.mode,
        "filename": job.filename,
        "code": job.source,
        "code_digest": code_digest(job.source),
        "licence": licence,
        "author": f"torch.compile of torch {fingerprint.get('torch', 'unknown')}",
        "submitted_at": now.isoformat(),
        "outcome": report.outcome,
        "epoch": report.epoch,
        "machine": {name: fingerprint[name] for name in columns.MACHINE if name in fingerprint},
    }
    if table == "kernels":
        timed = [case for case in report.cases if case.get("stage") == "time"]
        figures = {
            name: getattr(report, name) for name in ("ratio", "half_width", "score_us", "forgeable", "telemetry")
        }
        figures |= {"speedup": 1 / report.ratio if report.ratio else None}
        return values | figures | {"cases": [{name: case.get(name) for name in columns.CASE_FIGURES} for case in timed]}
    wrong = [case for case in report.cases if not case.get("good", True)]
    return values | {
        "kind": columns.CHEATING if report.outcome == "policy" else columns.FAILED,
        "reason": report.reason or report.outcome,
        "message": report.message,
        "rules": [],
        "failed_cases": [{name: case.get(name) for name in ("name", "reason", "message")} for case in wrong],
    }


def write(into: Path, found: Iterable[dict[str, Any]], *, now: datetime) -> dict[str, int]:
    """Write the rows as a data set into the folder `data`, which replaces an earlier one. Return rows by table."""
    values = sorted(found, key=lambda one: (one["problem"], one["hardware"], one.get("ratio") or 0))
    by_problem = groupby(values, key=lambda one: str(one["problem"]))
    keys = keys_of({problem: {code_digest(one["reference"]) for one in group} for problem, group in by_problem})
    part, place = into / f"{FOLDER}.part", into / FOLDER
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    tables = {table: _rows(values, schema) for table, (schema, _) in columns.TABLES.items()}
    counts: dict[str, Counter[str]] = folder.write(part, tables, keys, About(TITLE, TEXT, now))
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)
    return {table: sum(count[split] for split in SPLITS) for table, count in counts.items()}


def _rows(values: Iterable[dict[str, Any]], schema: str) -> Iterator[Row]:
    for one in values:
        if one["schema"] == schema:
            reason = f"{one['kind']} {one['reason']} " if "kind" in one else ""
            yield Row((one["problem"], one["hardware"]), reason + one["code_digest"], one["code"], one)
