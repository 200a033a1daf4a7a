"""Output of a judge that was taken over: the daemon takes its job's events and its one report, or refuses the judge."""

import json
from typing import Any
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from runner.daemon import judge_handle
from runner.daemon.judge_handle import _Output
from runner.errors import JudgeFault
from runner.wire import Event, Job, Report, dump
from tests.runner.test_wire_is_strict import EVENT, JOB, REPORT, anything

THE_JOB = Job.from_json(JOB)
READY = {"fingerprint": {"cpu": "x"}, "epoch": "e", "images": ["sha256:0"]}
GOOD: tuple[dict[str, Any], ...] = (
    {"ready": READY},
    {"event": EVENT},
    {"event": EVENT | {"seq": 2, "data": {"done": 3}}},
    {"report": REPORT},
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A message of a judge, perhaps with other values, a second key, or bytes changed."""
    data = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    (inner,) = data.values()
    for key in draw(st.lists(st.sampled_from(sorted(inner)), max_size=2)):
        inner[key] = draw(anything)
    raw = bytearray(json.dumps(data).encode())
    if draw(st.booleans()):
        raw = bytearray(raw.replace(b"1", draw(st.sampled_from([b"1e999", b"1.0", b"-1", b"1", b"9" * 30])), 1))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1]))):
        at = draw(st.integers(0, len(raw) - 1))
        raw[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(raw)


MESSAGES = st.lists(
    st.sampled_from(GOOD).map(lambda one: json.dumps(one).encode()) | lines() | st.binary(max_size=30), max_size=7
)


def refusal_of(output: _Output, chunks: list[bytes]) -> str:
    """Feed the chunks; return why the judge was refused, "" if it was not."""
    try:
        for chunk in chunks:
            output.take_stdout(chunk)
    except JudgeFault as fault:
        return f"{fault.reason}: {fault}"
    return ""


@settings(max_examples=150, deadline=None, derandomize=True)
@given(MESSAGES, st.integers(1, 400), st.booleans())
@example([b'{"event": {"seq": 1, "kind": "progress", "data": {"done": 1e999}}}'], 400, True)
@example([b"[" * 5_000], 400, True)
@example([b'{"report": {}, "report": {}}'], 7, True)
def test_output_of_a_judge_is_taken_as_the_wire_has_it_or_refused(whole: list[bytes], step: int, has_job: bool) -> None:
    output, events = _Output(), list[Event]()
    raw = b"".join(line + b"\n" for line in whole)
    if has_job:
        output.expect(THE_JOB, events.append)
    refusal = refusal_of(output, [raw[at : at + step] for at in range(0, len(raw), step)])
    assert len(refusal) < 2_000
    assert has_job or (output.report is None and not events)
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    for event in events:
        dump(event)
    if output.report is not None:
        assert (output.report.attempt_id, output.report.token) == (THE_JOB.attempt_id, THE_JOB.token)
        assert Report.from_json(json.loads(dump(output.report))) == output.report


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=300), max_size=9))
def test_output_of_a_judge_is_bounded_in_memory(chunks: list[bytes]) -> None:
    with patch.multiple(judge_handle, MAX_LINE_BYTES=200, MAX_STDERR_BYTES=400, LOG_LINE_CHARS=20, TAIL_LINES=3):
        output = _Output()
        for chunk in chunks:
            output.take_stderr(chunk)
            assert len(output._stderr_line) <= 400
        assert all(len(line) <= 4 * 20 for line in output.tail)
        assert refusal_of(output, [*chunks, b"x" * 201])
        assert len(output._line) <= 200 + 300
