"""Every outcome that a runner may report has a title and advice."""

import pytest

from leaderboard.wording.outcomes import TITLES, verdict
from runner.wire import OUTCOMES


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcome_has_a_title_and_advice(outcome: str) -> None:
    assert outcome in TITLES, f"leaderboard/wording/outcomes.py: add {outcome} to TITLES"
    assert outcome == "passed" or verdict(outcome, "").advice, (
        f"leaderboard/wording/outcomes.py: add {outcome} to _ADVICE"
    )
