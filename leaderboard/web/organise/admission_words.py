"""Admission tests in words."""

from __future__ import annotations

from typing import Final

from leaderboard.admissions.models import FAILED, PASSED, AdmissionTest
from leaderboard.judging.work import AT_WORK, ERROR

TONES: Final = {PASSED: "good", FAILED: "bad", ERROR: "warn", AT_WORK: "running"}
WORDS: Final = {PASSED: "passed", FAILED: "failed", ERROR: "could not be tested"}


def chip(test: AdmissionTest | None) -> dict[str, str]:
    if test is None:
        return {"text": "not tested", "tone": ""}
    state = test.outcome or test.state
    return {"text": WORDS.get(state, state), "tone": TONES.get(state, "")}
