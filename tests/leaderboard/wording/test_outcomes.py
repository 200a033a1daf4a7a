"""Every outcome that a runner may report has a title and advice."""

import pytest

from leaderboard.wording.outcomes import TITLES, place_in_queue, verdict
from runner.wire import OUTCOMES


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcome_has_a_title_and_advice(outcome: str) -> None:
    assert outcome in TITLES, f"leaderboard/wording/outcomes.py: add {outcome} to TITLES"
    assert outcome == "passed" or verdict(outcome, "").advice, (
        f"leaderboard/wording/outcomes.py: add {outcome} to _ADVICE"
    )


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ((1, 1, 1, 0.0), "Next in the queue for cpu, starts now."),
        ((3, 7, 1, 40.4), "3rd of 7 in the queue for cpu, starts in about 40 seconds."),
        ((2, 1_200, 4, None), "2nd of 1,200 in the queue for cpu."),
        ((11, 12, 1, 150.0), "11th of 12 in the queue for cpu, starts in about 2 minutes."),
        ((121, 122, 1, 3_700.0), "121st of 122 in the queue for cpu, starts in about 1 hour."),
        ((3, 7, 0, None), "No runner of cpu is connected; it waits."),
    ],
)
def test_place_in_queue_is_a_sentence(place: tuple[int, int, int, float | None], sentence: str) -> None:
    assert place_in_queue("cpu", *place) == sentence
