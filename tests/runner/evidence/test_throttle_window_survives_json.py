"""A window is stored in the evidence and ruled again on replay: it must come back as it was."""

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from runner.evidence.throttle import Poll, Reading, Window, rule
from tests.runner.judge.windows import GPU

STORED = TypeAdapter(Window)
whole = st.integers(min_value=0, max_value=1 << 62)
real = st.floats(min_value=0, max_value=1e6, allow_nan=False)
text = st.text(min_size=1, max_size=20)
FIELDS = {
    "at_ns": whole,
    "mask": st.none() | whole,
    "counters": st.dictionaries(st.integers(0, 400), whole, max_size=8),
    "memory_mhz": st.none() | real,
    "power_w": st.none() | real,
    "ecc_errors": st.none() | whole,
    "limits": st.dictionaries(text, whole, max_size=4),
    "pcie_width": st.none() | whole,
    "pcie_width_most": st.none() | whole,
    "strangers": st.none() | whole,
    "xids": st.lists(whole, max_size=3).map(tuple),
    "lost": st.booleans(),
    "clock_mhz": st.none() | real,
    "temperature_c": st.none() | real,
    "cores": st.integers(1, 512),
    "foreign_ns": st.lists(whole, max_size=4).map(tuple),
    "foreign_grain_ns": whole,
    "waited_ns": st.none() | whole,
    "steal_ns": st.none() | whole,
    "steal_grain_ns": whole,
    "throttled_ns": st.none() | whole,
}
readings = st.builds(Reading, **FIELDS)
polls = st.builds(Poll, at_ns=whole, mask=st.none() | whole, strangers=st.none() | whole)
windows = st.builds(Window, readings, readings, st.lists(polls, max_size=4).map(tuple))


def test_every_field_of_a_reading_is_stored_here() -> None:
    assert set(FIELDS) == {item.name for item in fields(Reading)}, "add values of the new field to FIELDS"


@given(windows)
def test_window_comes_back_as_it_was(window: Window) -> None:
    assert STORED.validate_json(json.dumps(window.to_json(), allow_nan=False)) == window


@given(windows, windows)
def test_ruling_is_the_same_after_storage(window: Window, warm: Window) -> None:
    stored = STORED.validate_json(json.dumps(window.to_json()))
    assert rule(stored, warm) == rule(window, warm)


def test_what_the_device_does_not_tell_takes_no_room() -> None:
    assert Reading(at_ns=5, mask=0).to_json() == {"at_ns": 5, "mask": 0}


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"before": {}},
        {"before": {}, "after": {}, "between": {}},
        {"before": {"mask": "0"}, "after": {}},
        {"before": {"mask": True}, "after": {}},
        {"before": {"clock_mhz": float("nan")}, "after": {}},
        {"before": {"counters": {"seven": 1}}, "after": {}},
        {"before": {"counters": [1]}, "after": {}},
        {"before": {"xids": 13}, "after": {}},
        {"before": {"lost": 1}, "after": {}},
        {"before": {"aura": 1}, "after": {}},
        {"before": {}, "after": {}, "polls": {}},
        {"before": {}, "after": {}, "polls": [[1, 2]]},
    ],
)
def test_nonsense_is_refused(data: object) -> None:
    with pytest.raises(ValueError):
        STORED.validate_json(json.dumps(data))


def test_a_full_window_is_small_enough_to_be_stored_with_every_block() -> None:
    full = Window(GPU, GPU, (Poll(0, 0, 0),))
    assert len(json.dumps(full.to_json(), separators=(",", ":"))) < 1_000
