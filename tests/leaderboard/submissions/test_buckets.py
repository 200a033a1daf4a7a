"""A quota is a token bucket: its level follows from the ledger lines, in any order."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.errors import RateLimited, UserError
from leaderboard.submissions.quota import USUAL, Bucket, Level, Movement, check_bucket, level_at, parse_quotas
from tests.leaderboard.stage import NOON

DOZEN = Bucket(12, 12)
buckets = st.builds(Bucket, capacity=st.integers(1, 20), per_day=st.integers(1, 50))
moments = st.integers(0, 3 * 24 * 60 - 1).map(lambda minutes: NOON + timedelta(minutes=minutes))  # before END
ledgers = st.lists(st.builds(Movement, at=moments, tokens=st.sampled_from([-1, -1, 1])), max_size=40)
END = NOON + timedelta(days=3)


def admitted(bucket: Bucket, asked: list[datetime]) -> list[datetime]:
    """Return the requests that this bucket admits."""
    lines: list[Movement] = []
    for at in sorted(asked):
        if level_at(bucket, lines, at).left:
            lines.append(Movement(at, -1))
    return [line.at for line in lines]


@given(bucket=buckets, asked=st.lists(moments, max_size=60))
@settings(max_examples=50, deadline=None)
def test_no_window_lets_in_more_than_capacity_and_refill(bucket: Bucket, asked: list[datetime]) -> None:
    let_in = admitted(bucket, asked)
    for first, since in enumerate(let_in):
        for last in range(first, len(let_in)):
            assert last - first + 1 <= bucket.capacity + (let_in[last] - since) / bucket.period


@given(bucket=buckets, lines=ledgers, seed=st.integers())
@settings(max_examples=50)
def test_the_order_in_which_lines_are_read_does_not_matter(bucket: Bucket, lines: list[Movement], seed: int) -> None:
    shuffled = list(lines)
    random.Random(seed).shuffle(shuffled)
    assert level_at(bucket, shuffled, END) == level_at(bucket, lines, END)


@given(bucket=buckets, lines=ledgers, later=st.lists(st.integers(0, 10**6), min_size=2, max_size=6))
@settings(max_examples=50)
def test_what_is_left_only_grows_while_nothing_happens(bucket: Bucket, lines: list[Movement], later: list[int]) -> None:
    levels = [level_at(bucket, lines, END + timedelta(seconds=seconds)) for seconds in sorted(later)]
    assert [level.filled for level in levels] == sorted(level.filled for level in levels)
    assert all(0 <= level.left <= bucket.capacity for level in levels)


@given(bucket=buckets, lines=ledgers)
@settings(max_examples=50)
def test_giving_back_restores_exactly_one(bucket: Bucket, lines: list[Movement]) -> None:
    before = level_at(bucket, lines, END)
    after = level_at(bucket, [*lines, Movement(END, 1)], END)
    assert after.filled == min(bucket.full, before.filled + bucket.period)
    assert level_at(bucket, [*lines, Movement(END, -1), Movement(END, 1)], END) == before


@given(bucket=buckets, lines=ledgers, cut=st.integers(0, 40))
@settings(max_examples=50)
def test_a_replay_may_begin_at_a_known_level(bucket: Bucket, lines: list[Movement], cut: int) -> None:
    lines = sorted(lines, key=lambda line: line.at)
    old = [line for line in lines[:cut] if line.at < lines[min(cut, len(lines) - 1)].at]
    opening = level_at(bucket, old, max((line.at for line in old), default=NOON)) if old else None
    assert level_at(bucket, lines[len(old) :], END, opening=opening) == level_at(bucket, lines, END)


@given(bucket=buckets, lines=ledgers)
@settings(max_examples=50)
def test_the_next_token_comes_when_it_was_said(bucket: Bucket, lines: list[Movement]) -> None:
    level = level_at(bucket, lines, END)
    if level.next_at is None:
        assert level.left == bucket.capacity
        return
    assert level_at(bucket, lines, level.next_at - timedelta(microseconds=1)).left == level.left
    assert level_at(bucket, lines, level.next_at).left == level.left + 1


def test_another_machine_s_clock_buys_nothing() -> None:
    ahead = [Movement(NOON + timedelta(seconds=5), -1)] * 12
    assert level_at(DOZEN, ahead, NOON).left == 0


def test_a_refusal_says_when() -> None:
    level = level_at(DOZEN, [Movement(NOON, -1)] * 12, NOON)
    with pytest.raises(
        RateLimited, match=r"the next one comes at 2026-11-20 14:00:00 UTC; try again in 7200 s"
    ) as caught:
        check_bucket(level, mode="ranked", board="softmax on cpu", now=NOON)
    assert caught.value.retry_after_s == 7200
    check_bucket(Level(DOZEN, DOZEN.period, NOON), mode="ranked", board="softmax on cpu", now=NOON)


def test_a_competition_says_its_own_quotas() -> None:
    quotas = parse_quotas({"ranked": 5, "test": {"capacity": 20, "per_day": 40}})
    assert quotas == {**USUAL, "ranked": Bucket(5, 5), "test": Bucket(20, 40)}
    assert parse_quotas({}) == USUAL


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (["ranked"], "quotas"),
        (None, "quotas"),
        ({"rank": 5}, "quotas"),
        ({"ranked": 0}, "quotas.ranked"),
        ({"ranked": True}, "quotas.ranked"),
        ({"ranked": 2.5}, "quotas.ranked"),
        ({"ranked": 10_001}, "quotas.ranked"),
        ({"ranked": {"capacity": 5}}, "quotas.ranked"),
        ({"ranked": {"capacity": 5, "per_day": 5, "x": 1}}, "quotas.ranked"),
        ({"ranked": {"capacity": 5, "per_day": -1}}, "quotas.ranked.per_day"),
        ({"ranked": {"capacity": "5", "per_day": 1}}, "quotas.ranked.capacity"),
    ],
)
def test_wrong_quotas_are_named(said: Any, field: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_quotas(said)
    assert caught.value.field == field
