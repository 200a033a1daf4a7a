"""Columns of a data set's tables, with types and meanings. Rows of the site and manufactured rows have the same."""

from typing import Final

from leaderboard.dataset.parquet import REAL, TEXT, TIME, WHOLE

SUBMISSIONS: Final = "submissions"  # sources of rows
MANUFACTURED: Final = "manufactured"
FAILED: Final = "failed"  # kinds of rejected rows
CHEATING: Final = "cheating"
KERNELS_SCHEMA: Final = "kernels/2"
REJECTED_SCHEMA: Final = "rejected/2"

# Public facts of a fingerprint.
MACHINE: Final = ("gpu", "cpu", "cpus", "driver", "cuda", "torch", "torch_cuda", "power_limit_w", "max_sm_mhz")
CASE_FIGURES: Final = ("name", "measured_us", "baseline_us", "ratio", "half_width")

SHARED: Final = {  # columns of both tables
    "schema": TEXT,
    "source": TEXT,
    "submission": WHOLE,
    "problem": TEXT,
    "problem_digest": TEXT,
    "title": TEXT,
    "description": TEXT,
    "reference": TEXT,
    "competition": TEXT,
    "hardware": TEXT,
    "mode": TEXT,
    "filename": TEXT,
    "code": TEXT,
    "code_digest": TEXT,
    "licence": TEXT,
    "author": TEXT,
    "submitted_at": TIME,
    "remixed_from": WHOLE,
    "parents": TEXT,
    "idea": TEXT,
    "model": TEXT,
    "prompt_sha256": TEXT,
    "sampling": TEXT,
    "cost_usd": REAL,
    "strategy": TEXT,
    "run": TEXT,
    "outcome": TEXT,
    "epoch": TEXT,
    "machine": TEXT,
}
KERNELS: Final = SHARED | {
    "speedup": REAL,
    "ratio": REAL,
    "half_width": REAL,
    "score_us": REAL,
    "forgeable": REAL,
    "light": REAL,
    "telemetry": TEXT,
    "cases": TEXT,
}
REJECTED: Final = SHARED | {
    "kind": TEXT,
    "reason": TEXT,
    "message": TEXT,
    "rules": TEXT,
    "failed_cases": TEXT,
}
TABLES: Final = {"kernels": (KERNELS_SCHEMA, KERNELS), "rejected": (REJECTED_SCHEMA, REJECTED)}
FAULTS: Final = ("wrong", "build_error", "runtime_error", "timeout", "out_of_memory", "policy")  # outcomes, of rejected
MEANINGS: Final = {
    "schema": "name and version of the table's schema",
    "source": "`submissions` of people and programs, or `manufactured` by torch.compile",
    "submission": "number on the site; null for a manufactured kernel",
    "problem": "name of the problem; all its rows are in one split",
    "problem_digest": "version of the problem that the kernel was judged by",
    "reference": "source of the reference implementation",
    "code": "source of the kernel",
    "code_digest": "digest that near-identical sources share",
    "licence": "SPDX licence of the code",
    "author": "public name of the entrant",
    "remixed_from": "number of the submission that it is a remix of, if that is public",
    "parents": "JSON: numbers of the public submissions that it descends from",
    "idea": "by its sender: the change in words",
    "model": "by its sender: the model that wrote the code",
    "prompt_sha256": "by its sender: digest of the prompt",
    "sampling": "JSON, by its sender: settings of the model",
    "cost_usd": "by its sender: cost of the model's work",
    "strategy": "by its sender: name of the search strategy",
    "run": "by its sender: name of the search",
    "outcome": "verdict of the judge",
    "epoch": "timing epoch; times of two epochs are not comparable",
    "machine": "JSON: device, driver and versions that the epoch stands for",
    "speedup": "baseline / kernel, above 1 faster",
    "ratio": "kernel / baseline",
    "half_width": "relative half-width of the ratio's 95 % interval",
    "score_us": "measured time in microseconds",
    "forgeable": "at most this share of the true time is missing",
    "light": "share of the speed of light",
    "telemetry": "device state that the runner watched",
    "cases": "JSON: name, measured_us, baseline_us, ratio and half_width of each timed case",
    "kind": "`failed` by the judge, or `cheating`: rejected by a reviewer or by a rule without one",
    "reason": "code of the reason",
    "message": "the reason in a sentence",
    "rules": "JSON: rules that held it",
    "failed_cases": "JSON: name, reason and message of each failed case",
}
