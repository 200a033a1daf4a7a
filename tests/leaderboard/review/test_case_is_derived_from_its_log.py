"""The state of a case is a pure function of its log, for any sequence of possible acts."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.review.case import states
from leaderboard.review.case.states import Row, Standing, derive, problem, standing_rows
from tests.leaderboard.stage import NOON

OWNER = 1
REVIEWERS = (2, 3, 4)
BY_OWNER = (states.ANSWER, states.APPEAL)
STEPS = st.lists(
    st.tuples(st.sampled_from(states.ACTS), st.sampled_from(REVIEWERS), st.booleans(), st.integers(0, 50)), max_size=25
)


def play(steps: list[tuple[str, int, bool, int]], *, by_itself: bool) -> list[Row]:
    """Return the log rows of the possible steps, as acts would write them."""
    rows: list[Row] = []
    at = NOON
    for act, reviewer, flag, minutes in steps:
        at += timedelta(minutes=minutes)
        now = derive(rows, opened_at=NOON, by_itself=by_itself)
        actor = OWNER if act in BY_OWNER else reviewer
        if problem(now, act, actor=actor, at=at):
            continue
        rows.append(row_of(len(rows) + 1, act, actor, now, needs_two=flag, minutes=minutes))
    return rows


def row_of(pk: int, act: str, actor: int, now: Standing, *, needs_two: bool, minutes: int) -> Row:
    about = {
        states.UNDO: now.last,
        states.ANSWER: now.question,
        states.APPEAL: now.rejection,
        states.UPHOLD: now.appeal,
        states.GRANT: now.appeal,
    }.get(act)
    at = NOON + timedelta(seconds=pk)
    return Row(
        id=pk,
        act=act,
        actor=actor,
        at=at,
        about=about,
        needs_two=needs_two and act == states.CLEAR,
        until=at + timedelta(minutes=30) if act == states.CLAIM else None,
        code="odd" if act in (states.LABEL, states.UNLABEL) else "",
    )


@given(STEPS, st.booleans(), st.sampled_from(states.UNDOABLE), st.booleans())
@settings(max_examples=50, deadline=None)
def test_undo_restores_exactly_the_state_before(steps, by_itself: bool, act: str, needs_two: bool) -> None:
    rows = play(steps, by_itself=by_itself)
    before = derive(rows, opened_at=NOON, by_itself=by_itself)
    actor = next((one for one in REVIEWERS if not problem(before, act, actor=one, at=NOON + timedelta(days=9))), None)
    if actor is None:
        return
    done = [*rows, row_of(len(rows) + 1, act, actor, before, needs_two=needs_two, minutes=1)]
    decided = derive(done, opened_at=NOON, by_itself=by_itself)
    assert decided.last == len(done)
    assert decided != before
    undone = [*done, row_of(len(done) + 1, states.UNDO, actor, decided, needs_two=False, minutes=1)]
    assert derive(undone, opened_at=NOON, by_itself=by_itself) == before


@given(STEPS, st.booleans())
@settings(max_examples=50, deadline=None)
def test_undoing_what_it_was_held_along_with_restores_it_too(steps, by_itself: bool) -> None:
    rows = play(steps, by_itself=by_itself)
    before = derive(rows, opened_at=NOON, by_itself=by_itself)
    held = [*rows, Row(id=100, act=states.HOLD_ALONG, actor=2, at=NOON, about=7_000)]
    undone = [*held, Row(id=101, act=states.UNDO, actor=2, at=NOON, about=100)]
    if rows:
        assert derive(undone, opened_at=NOON, by_itself=by_itself) == before
    assert derive(held, opened_at=NOON, by_itself=by_itself).state not in states.STANDS
    assert before.state in states.STANDS or derive(held, opened_at=NOON, by_itself=by_itself) == before or not rows


def test_what_only_that_opened_is_then_held_by_nobody() -> None:
    along = Row(id=1, act=states.HOLD_ALONG, actor=2, at=NOON, about=7_000)
    undo = Row(id=9, act=states.UNDO, actor=2, at=NOON, about=1)
    meanwhile = {
        (): states.NOT_HELD,
        (states.ASK,): states.NOT_HELD,
        (states.ASK, states.ANSWER): states.NOT_HELD,
        (states.CLEAR,): states.CLEARED,
        (states.REJECT,): states.REJECTED,
        (states.HOLD,): states.WAITING,
    }
    for acts, state in meanwhile.items():
        rows = [Row(id=pk, act=act, actor=3, at=NOON) for pk, act in enumerate(acts, start=2)]
        assert derive([along, *rows], opened_at=NOON).state != states.NOT_HELD
        assert derive([along, *rows, undo], opened_at=NOON).state == state, acts
    half = Row(id=2, act=states.CLEAR, actor=3, at=NOON, needs_two=True)
    assert derive([along, half, undo], opened_at=NOON).state == states.NOT_HELD
    doubted = derive([along, undo], opened_at=NOON, doubted_at=NOON)
    assert doubted.state == states.WAITING, "what failed on fresh seeds waits all the same"


@given(STEPS, st.booleans(), st.randoms())
@settings(max_examples=50, deadline=None)
def test_the_order_is_that_of_the_ids(steps, by_itself: bool, chance) -> None:
    rows = play(steps, by_itself=by_itself)
    mixed = list(rows)
    chance.shuffle(mixed)
    told = {"opened_at": NOON, "by_itself": by_itself}
    assert derive(mixed, **told) == derive(rows, **told)


@given(STEPS, st.booleans())
@settings(max_examples=50, deadline=None)
def test_what_needs_two_is_cleared_by_two_different_people(steps, by_itself: bool) -> None:
    rows = play(steps, by_itself=by_itself)
    now = derive(rows, opened_at=NOON, by_itself=by_itself)
    clears = [row for row in standing_rows(rows) if row.act == states.CLEAR and row.actor in now.cleared_by]
    if now.state == states.CLEARED:
        assert len({row.actor for row in clears}) >= (2 if now.needs_two else 1)
        assert OWNER not in now.cleared_by
    if now.state == states.HALF_CLEARED:
        assert len(now.cleared_by) == 1


@given(STEPS, st.booleans())
@settings(max_examples=50, deadline=None)
def test_one_appeal_and_one_answer_a_decision(steps, by_itself: bool) -> None:
    rows = standing_rows(play(steps, by_itself=by_itself))
    for act in (states.APPEAL, states.ANSWER):
        about = [row.about for row in rows if row.act == act and row.about is not None]
        assert len(about) == len(set(about))
    assert not [row for row in rows if row.act == states.UNDO]


def log(*acts: tuple[str, int], needs_two: bool = False) -> Standing:
    rows: list[Row] = []
    for act, actor in acts:
        now = derive(rows, opened_at=NOON)
        assert not problem(now, act, actor=actor, at=NOON), (act, problem(now, act, actor=actor, at=NOON))
        rows.append(row_of(len(rows) + 1, act, actor, now, needs_two=needs_two, minutes=1))
    return derive(rows, opened_at=NOON)


def test_the_way_of_a_case() -> None:
    assert log().state == states.WAITING
    assert log((states.ASK, 2)).state == states.ASKED
    assert log((states.ASK, 2), (states.ANSWER, OWNER)).state == states.WAITING
    assert log((states.CLEAR, 2)).state == states.CLEARED
    assert log((states.CLEAR, 2), needs_two=True).state == states.HALF_CLEARED
    assert log((states.CLEAR, 2), (states.ASK, 3), (states.ANSWER, OWNER), needs_two=True).state == states.HALF_CLEARED
    assert log((states.CLEAR, 2), (states.CLEAR, 3), needs_two=True).state == states.CLEARED
    assert log((states.REJECT, 2)).state == states.REJECTED
    assert log((states.REJECT, 2), (states.APPEAL, OWNER)).state == states.APPEALED
    assert log((states.REJECT, 2), (states.APPEAL, OWNER), (states.UPHOLD, 3)).state == states.REJECTED
    assert log((states.REJECT, 2), (states.APPEAL, OWNER), (states.GRANT, 3)).state == states.WAITING
    assert log((states.REJECT, 2), (states.APPEAL, OWNER), (states.UNDO, 3)).state == states.WAITING


def test_a_second_clear_by_the_same_person_is_none() -> None:
    now = log((states.CLEAR, 2), needs_two=True)
    assert "another person" in problem(now, states.CLEAR, actor=2, at=NOON)
    assert problem(now, states.CLEAR, actor=3, at=NOON) == ""


def test_a_claim_keeps_others_from_deciding_until_it_expires() -> None:
    now = log((states.CLAIM, 2))
    assert "claimed by another" in problem(now, states.REJECT, actor=3, at=NOON)
    assert problem(now, states.REJECT, actor=2, at=NOON) == ""
    assert problem(now, states.REJECT, actor=3, at=NOON + timedelta(hours=1)) == ""


def test_a_rejection_by_the_verdict_is_overturned_and_no_other() -> None:
    assert derive([], opened_at=NOON, by_itself=True).is_by_itself
    assert "undo that decision" in problem(log((states.REJECT, 2)), states.OVERTURN, actor=3, at=NOON)
