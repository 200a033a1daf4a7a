"""Reports of a confirmation, as a runner sends them."""

from typing import Any

from leaderboard import pipeline
from leaderboard.confirmations.models import Confirmation
from leaderboard.judging.models import Runner
from runner.wire import Job, Report
from tests.leaderboard.stage import Stage

GAINS = [0.02, 0.021, 0.019, 0.02, 0.022]
REFUSED = {
    "accepted": False,
    "reason": "too_small",
    "sentence": "Not a record, a gain of at least 0.5 % is needed.",
    "gains": [0.001, -0.002, 0.003, 0.0, 0.001],
    "median_gain": 0.001,
    "least_gain": -0.002,
    "wins": 3,
}
FAILED = {
    "accepted": False,
    "reason": "candidate_failed",
    "sentence": "Run 2 of 2 decides nothing. 3 values differ.",
    "gains": [0.02],
    "median_gain": None,
    "least_gain": None,
    "wins": 0,
}


def found(job: Job, *, told: dict[str, Any] | None = None, **report: Any) -> Report:
    """Return a report of a two-percent record, with the given changes."""
    assert job.incumbent is not None
    confirmation = {
        "accepted": True,
        "reason": "confirmed",
        "sentence": "A record: 2.00 % faster in the median of 5 runs.",
        "held": False,
        "gains": GAINS,
        "median_gain": 0.02,
        "least_gain": 0.018,
        "wins": 5,
        "runs": 5,
        "incumbent": job.incumbent.submission_id,
        "incumbent_failures": [],
    }
    report = {"outcome": "passed", "score_us": 800.0, "ratio": 0.8, "telemetry": "full"} | report
    if report["outcome"] != "passed":
        report |= {"score_us": None, "ratio": None}
    return Report(attempt_id=job.attempt_id, token=job.token, confirmation=confirmation | (told or {}), **report)


def claim(stage: Stage, runner: Runner | None = None) -> Job:
    """Claim the next confirmation, once nobody is at work: that of a record waits until then."""
    stage.later(pipeline.CALM.total_seconds())
    job = pipeline.claim_work(runner=runner or stage.rex, now=stage.now)
    assert job is not None, "there was nothing to claim"
    assert job.incumbent is not None, "it is no confirmation"
    return job


def confirm(stage: Stage, *, told: dict[str, Any] | None = None, **report: Any) -> Confirmation:
    """Claim and report the next confirmation in the queue."""
    job = claim(stage)
    pk = int(job.attempt_id.removeprefix("confirmation-"))
    assert pipeline.take_report(runner=stage.rex, report=found(job, told=told, **report), now=stage.later(1))
    return Confirmation.objects.get(pk=pk)
