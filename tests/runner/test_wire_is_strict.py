"""What crosses between runner and site is parsed once: every field typed and bounded, and an error names it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.wire import Event, Job, Report, WireError

REPORT = Report(attempt_id="1", token=1, outcome="passed", score_us=1.5, ratio=0.9).to_json()
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def test_a_report_survives_the_way() -> None:
    assert Report.from_json(json.loads(json.dumps(REPORT))).to_json() == REPORT


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("score_us", 10**400),
        ("score_us", -1),
        ("score_us", float("nan")),
        ("ratio", 1e-310),
        ("ratio", True),
        ("wire", True),
        ("wire", 1.0),
        ("wire", 2),
        ("outcome", "won"),
        ("token", -1),
        ("token", 2**63),
        ("message", "x" * 10_000),
        ("message", "a\x00b"),
        ("flags", ["x" * 100]),
        ("cases", [1]),
        ("logs", {"stdout": 5}),
        ("evidence", []),
    ],
)
def test_a_bad_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(WireError) as caught:
        Report.from_json(REPORT | {field: value})
    assert caught.value.field.startswith(f"report.{field}")


@given(st.sampled_from([Job, Event, Report]), st.dictionaries(st.sampled_from(sorted(REPORT)), anything))
def test_nonsense_is_a_wire_error_and_nothing_else(kind: Any, data: dict[str, Any]) -> None:
    with contextlib.suppress(WireError):
        kind.from_json(data)
