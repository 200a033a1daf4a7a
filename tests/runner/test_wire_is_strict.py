"""Messages between runner and site are parsed once: every field is typed and bounded, and an error names its field."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.wire import (
    EXTENSIONS_FIRST,
    MAX_CONFIRMATION_BYTES,
    MOST_AHEAD,
    Event,
    Incumbent,
    Job,
    Report,
    WireError,
    to_build_ahead,
)

REPORT = Report(
    attempt_id="1",
    token=1,
    outcome="passed",
    score_us=1.5,
    ratio=0.9,
    set_aside="XID 79",
    telemetry="full",
    epoch="sha256:0123456789",
    forgeable=0.02,
    confirmation={"accepted": True},
    admission={"passed": True},
).to_json()
JOB = Job(
    attempt_id="1",
    token=1,
    lease_s=60,
    hardware="cpu",
    mode="ranked",
    submission_id="2",
    filename="a.py",
    source="x",
    problem={},
    problem_digest="sha256:0",
    incumbent=Incumbent(source="y", filename="b.py", submission_id="1"),
    runs=5,
).to_json()
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def test_a_report_survives_the_way() -> None:
    assert Report.from_json(json.loads(json.dumps(REPORT))).to_json() == REPORT


def test_a_confirmation_job_survives_the_way() -> None:
    job = Job.from_json(json.loads(json.dumps(JOB)))
    assert job.to_json() == JOB
    assert job.incumbent is not None
    assert (job.incumbent.submission_id, job.runs) == ("1", 5)


NEW_IN_REPORT = ("set_aside", "telemetry", "epoch", "forgeable", "confirmation", "admission")


def test_an_older_side_sends_less_and_is_understood() -> None:
    job = Job.from_json({key: value for key, value in JOB.items() if key not in ("incumbent", "runs", "task")})
    assert (job.incumbent, job.runs, job.task) == (None, 1, "judge")
    report = Report.from_json({key: value for key, value in REPORT.items() if key not in NEW_IN_REPORT})
    assert (report.set_aside, report.telemetry, report.epoch, report.forgeable, report.confirmation) == (
        "",
        "",
        "",
        None,
        {},
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"runs": 0}, "job.runs"),
        ({"runs": 10}, "job.runs"),
        ({"runs": 2.0}, "job.runs"),
        ({"runs": 2, "incumbent": None}, "job.runs"),
        ({"incumbent": "b.py"}, "job.incumbent"),
        ({"incumbent": {"source": "y", "filename": "b.py"}}, "job.incumbent.submission_id"),
        ({"incumbent": {"source": "y" * 1_000_001, "filename": "b", "submission_id": "1"}}, "job.incumbent.source"),
        ({"mode": "test"}, "job.incumbent"),
        ({"mode": "profile"}, "job.incumbent"),
        ({"task": "mine"}, "job.task"),
        ({"task": "admission"}, "job.mode"),
    ],
)
def test_a_confirmation_that_makes_no_sense_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(WireError) as caught:
        Job.from_json(JOB | changes)
    assert caught.value.field == field


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
        ("cases", [{}, {"half_width": -1000}]),
        ("cases", [{"ratio": 1e308}]),
        ("cases", [{"measured_us": "many"}]),
        ("cases", [{"baseline_us": 10**400}]),
        ("logs", {"stdout": 5}),
        ("evidence", []),
        ("set_aside", "x" * 501),
        ("telemetry", "some"),
        ("epoch", 7),
        ("forgeable", 1.01),
        ("forgeable", -0.1),
        ("forgeable", float("nan")),
        ("confirmation", {"x": "y" * MAX_CONFIRMATION_BYTES}),
    ],
)
def test_a_bad_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(WireError) as caught:
        Report.from_json(REPORT | {field: value})
    assert caught.value.field.startswith(f"report.{field}")


EVENT = Event(seq=1, kind="progress").to_json()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine draws nonsense slowly
@given(st.sampled_from([(Job, JOB), (Event, EVENT), (Report, REPORT)]), st.data())
def test_nonsense_is_a_wire_error_and_nothing_else(kind: tuple[Any, dict[str, Any]], data: st.DataObject) -> None:
    parser, good = kind
    changes = data.draw(st.dictionaries(st.sampled_from(sorted(good)), anything, max_size=3))
    with contextlib.suppress(WireError):
        parser.from_json(good | changes)


def test_the_first_extensions_are_built_before_all_else_and_the_next_jobs_after_them() -> None:
    words = ["torch", *["triton"] * 5, "load_inline", "cpp_extension", *["load_inline"] * 3]
    jobs = [Job.from_json({**JOB, "attempt_id": str(at), "source": word}) for at, word in enumerate(words)]
    named = [int(job.attempt_id) for job in to_build_ahead(jobs)]
    assert named == [6, 7, 1, 2, 3, 4, 5, 8]
    assert len(named) == EXTENSIONS_FIRST + MOST_AHEAD
    assert [int(job.attempt_id) for job in to_build_ahead(jobs[5:])] == [6, 7, 5, 8, 9, 10]
    assert to_build_ahead(jobs[:1]) == []
