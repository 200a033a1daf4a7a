"""Phases are in order, each submission belongs to a stage by its time, and a freeze hides the submissions it covers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.competitions.calendar import (
    TAKING,
    Phase,
    Schedule,
    Stage,
    closes_at,
    current_stage,
    is_frozen_at,
    is_over_at,
    phase_at,
    shown_at,
    span_at,
    stage_of,
    takes_at,
    timeline,
    window_of,
)

START = datetime(2026, 11, 1, tzinfo=UTC)
ORDER = (Phase.BEFORE, Phase.PRACTICE, Phase.CONTEST, Phase.FROZEN, Phase.REVIEW)  # then OPEN, or FINAL
FEW = settings(max_examples=50, deadline=None, database=None)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


MOMENTS = st.integers(-1, 13).map(lambda half: day(half / 2))  # few values, to hit a schedule's times often
OPTIONAL = st.none() | MOMENTS


@st.composite
def schedules(draw: st.DrawFn, *, ends: bool = False) -> Schedule:
    """Draw a schedule that the database admits: times in order, each optional."""
    times = [day(number / 2) for number in sorted(draw(st.lists(st.integers(0, 12), min_size=5, max_size=5)))]
    practice, contest, freeze, deadline, final = (time if draw(st.booleans()) else None for time in times)
    return Schedule(
        practice_at=practice,
        contest_at=contest,
        freeze_at=freeze,
        deadline=times[3] if ends else deadline,
        revealed_at=draw(OPTIONAL),
        final_at=final,
        stays_open=draw(st.booleans()),
    )


CUP = Schedule(
    practice_at=day(1), contest_at=day(2), freeze_at=day(4), deadline=day(5), revealed_at=None, final_at=day(8)
)


@pytest.mark.parametrize(
    ("moment", "phase", "is_taking"),
    [
        (day(0.5), Phase.BEFORE, False),
        (day(1), Phase.PRACTICE, True),
        (day(2), Phase.CONTEST, True),
        (day(4), Phase.FROZEN, True),
        (day(5), Phase.REVIEW, False),
        (day(8), Phase.OPEN, True),
    ],
)
def test_a_competition_with_all_its_times(moment: datetime, phase: Phase, is_taking: bool) -> None:
    assert phase_at(CUP, moment) is phase
    assert takes_at(CUP, moment) is is_taking


def test_one_that_does_not_stay_open_is_final() -> None:
    assert phase_at(replace(CUP, stays_open=False), day(9)) is Phase.FINAL
    assert not takes_at(replace(CUP, stays_open=False), day(9))


def test_one_without_times_is_a_contest_that_never_ends() -> None:
    assert phase_at(Schedule(), START) is Phase.CONTEST
    assert takes_at(Schedule(), START)
    assert stage_of(Schedule(), START) is Stage.CONTEST


def test_one_without_a_deadline_ends_when_it_is_final() -> None:
    ended = Schedule(final_at=day(3))
    assert [stage_of(ended, day(number)) for number in (2, 3)] == [Stage.CONTEST, Stage.AFTERWARDS]
    assert phase_at(ended, day(3)) is Phase.OPEN


@FEW
@given(schedule=schedules(ends=True), early=MOMENTS, late=MOMENTS)
def test_phases_follow_each_other(schedule: Schedule, early: datetime, late: datetime) -> None:
    order = (*ORDER, Phase.OPEN if schedule.stays_open else Phase.FINAL)
    early, late = sorted((early, late))
    assert order.index(phase_at(schedule, early)) <= order.index(phase_at(schedule, late))


@FEW
@given(schedule=schedules(), moment=MOMENTS)
def test_the_timeline_says_the_phase_of_every_moment(schedule: Schedule, moment: datetime) -> None:
    spans = timeline(schedule)
    assert spans[0].since is None
    assert spans[-1].until is None
    assert all(left.until == right.since for left, right in pairwise(spans))
    assert all(left.phase is not right.phase for left, right in pairwise(spans))
    assert span_at(schedule, moment).phase is phase_at(schedule, moment)


@FEW
@given(schedule=schedules(), closes=OPTIONAL, submitted=MOMENTS)
def test_stages_share_all_submissions_out(schedule: Schedule, closes: datetime | None, submitted: datetime) -> None:
    of = [stage for stage in Stage if window_of(schedule, stage, board_deadline=closes).holds(submitted)]
    assert of == [stage_of(schedule, submitted, board_deadline=closes)]


@FEW
@given(schedule=schedules(), stage=st.sampled_from(Stage), closes=OPTIONAL, moment=MOMENTS, submitted=MOMENTS)
def test_what_is_shown_is_of_the_stage(
    schedule: Schedule, stage: Stage, closes: datetime | None, moment: datetime, submitted: datetime
) -> None:
    if shown_at(schedule, stage, moment, board_deadline=closes).holds(submitted):
        assert window_of(schedule, stage, board_deadline=closes).holds(submitted)


@FEW
@given(schedule=schedules(), stage=st.sampled_from(Stage), early=MOMENTS, late=MOMENTS, submitted=MOMENTS)
def test_time_takes_nothing_back_that_was_shown(
    schedule: Schedule, stage: Stage, early: datetime, late: datetime, submitted: datetime
) -> None:
    early, late = sorted((early, late))
    if submitted <= early and shown_at(schedule, stage, early).holds(submitted):
        assert shown_at(schedule, stage, late).holds(submitted)


@FEW
@given(schedule=schedules(), act=MOMENTS, moment=MOMENTS, submitted=MOMENTS)
def test_a_reveal_only_ever_shows_more(
    schedule: Schedule, act: datetime, moment: datetime, submitted: datetime
) -> None:
    before = replace(schedule, revealed_at=None)
    if shown_at(before, Stage.CONTEST, moment).holds(submitted):
        assert shown_at(replace(before, revealed_at=act), Stage.CONTEST, moment).holds(submitted)


@FEW
@given(schedule=schedules(ends=True), act=MOMENTS, moment=MOMENTS, submitted=MOMENTS)
def test_declaring_it_final_only_ever_shows_more(
    schedule: Schedule, act: datetime, moment: datetime, submitted: datetime
) -> None:
    assert schedule.deadline is not None
    before = replace(schedule, final_at=None)
    after = replace(schedule, final_at=max(act, schedule.deadline))
    if shown_at(before, Stage.CONTEST, moment).holds(submitted):
        assert shown_at(after, Stage.CONTEST, moment).holds(submitted)


@FEW
@given(schedule=schedules(ends=True), moment=MOMENTS, submitted=MOMENTS)
def test_a_freeze_hides_what_was_sent_in_it_until_it_is_revealed(
    schedule: Schedule, moment: datetime, submitted: datetime
) -> None:
    freeze, deadline = schedule.freeze_at, schedule.deadline
    assert deadline is not None
    was_shown = any(act is not None and act <= moment for act in (schedule.revealed_at, schedule.final_at))
    is_frozen = freeze is not None and freeze <= moment and (moment < deadline or not was_shown)
    assert is_frozen_at(schedule, moment) is is_frozen
    hidden = window_of(schedule, Stage.CONTEST).holds(submitted) and not shown_at(
        schedule, Stage.CONTEST, moment
    ).holds(submitted)
    assert hidden is (
        is_frozen and freeze <= submitted < deadline and stage_of(schedule, submitted) is Stage.CONTEST  # type: ignore[operator]
    )


@FEW
@given(schedule=schedules(ends=True), closes=OPTIONAL, late=st.timedeltas(timedelta(), timedelta(days=9)))
def test_nothing_from_a_deadline_on_is_in_the_contest(
    schedule: Schedule, closes: datetime | None, late: timedelta
) -> None:
    first = closes_at(schedule, closes)
    assert first is not None
    assert stage_of(schedule, first + late, board_deadline=closes) is not Stage.CONTEST
    assert not window_of(schedule, Stage.CONTEST, board_deadline=closes).holds(first + late)


@FEW
@given(schedule=schedules(), closes=OPTIONAL, moment=MOMENTS)
def test_what_is_taken_counts_where_its_phase_says(
    schedule: Schedule, closes: datetime | None, moment: datetime
) -> None:
    if not takes_at(schedule, moment, board_deadline=closes):
        return
    phase, stage = phase_at(schedule, moment), stage_of(schedule, moment, board_deadline=closes)
    assert phase in TAKING
    assert stage is {Phase.PRACTICE: Stage.PRACTICE, Phase.OPEN: Stage.AFTERWARDS}.get(phase, Stage.CONTEST)


@FEW
@given(schedule=schedules(), moment=MOMENTS)
def test_a_board_shows_practice_until_the_contest_begins(schedule: Schedule, moment: datetime) -> None:
    is_practice = schedule.contest_at is not None and moment < schedule.contest_at
    assert current_stage(schedule, moment) is (Stage.PRACTICE if is_practice else Stage.CONTEST)


def test_a_board_that_closes_early_is_over_with_its_competition() -> None:
    assert not is_over_at(CUP, day(4.5), board_deadline=day(3))
    assert is_over_at(CUP, day(5), board_deadline=day(3))
    assert is_over_at(Schedule(), day(3), board_deadline=day(3))
