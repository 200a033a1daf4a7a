"""Attempt states: moves go forward only, end states are final, and the database knows the same states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import IllegalMove
from leaderboard.judging.models import FINISHED, NEXT, QUEUED, RUNNING, STATES, check_move

states = st.sampled_from(STATES)


def test_every_state_is_in_the_table() -> None:
    assert set(NEXT) == set(STATES)
    assert all(follower in STATES for followers in NEXT.values() for follower in followers)


@given(st.sampled_from(FINISHED), states)
def test_nothing_follows_an_end(end: str, state: str) -> None:
    with pytest.raises(IllegalMove):
        check_move(end, state)


@given(st.lists(states, min_size=1, max_size=12))
def test_any_walk_goes_forward_unless_it_is_handed_back(wanted: list[str]) -> None:
    state, walked = QUEUED, [QUEUED]
    for new in wanted:
        if new == QUEUED:
            continue
        try:
            check_move(state, new)
        except IllegalMove:
            continue
        state = new
        walked.append(new)
    places = [STATES.index(step) for step in walked]
    assert places == sorted(set(places)), "a walk came back to an earlier state"
    assert sum(step in FINISHED for step in walked) <= 1
    assert walked[1:2] in ([], ["claimed"], ["cancelled"])


@pytest.mark.parametrize("state", RUNNING)
def test_whoever_runs_can_end_in_each_way_or_be_handed_back(state: str) -> None:
    check_move(state, QUEUED)
    for end in FINISHED:
        check_move(state, end)


@pytest.mark.parametrize(("old", "new"), [("queued", "done"), ("queued", "lost"), ("timing", "building")])
def test_a_leap_or_a_step_back_is_refused(old: str, new: str) -> None:
    with pytest.raises(IllegalMove, match=f"{old} cannot become {new}"):
        check_move(old, new)
