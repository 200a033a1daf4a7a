"""Answers of a profiler's container, which holds the submission: the verdict stays, and the profile fits its limits."""

import base64
import json
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from leaderboard.judging.runners import check_storable
from runner.evidence import profiled
from runner.evidence.profiled import FILES, MOST_FILE_CHARS, MOST_SENT_CHARS, Counted, Kernel, Profiled, Traced
from runner.job import profile
from runner.judge.data.memory import Memory
from runner.wire import Report, dump
from sandbox.protocol import clean_text

TABLE = (Path(__file__).parents[1] / "evidence" / "ncu-details.csv").read_text()
JSON = dict[str, Any]

NUMBER = st.one_of(
    st.floats(),
    st.integers(-3, 10**13),
    st.sampled_from([10**400, -(10**400), 1e999, 5e-324, 1e12, 0, True, "7", "nan"]),
)
TEXT = st.text(max_size=6) | st.sampled_from(["\x00", "\ud800", "\u202e", "x" * 400])
ANY = st.recursive(NUMBER | TEXT | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner))
CONTENT = st.binary(max_size=9).map(lambda raw: base64.b64encode(raw).decode()) | st.sampled_from(["=", "abc", "ab==c"])
SENT = st.dictionaries(st.sampled_from([*FILES, "../x"]), CONTENT | ANY, max_size=3)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(lambda number: good if number else ANY)


US = st.floats(0, 1e12) | NUMBER
ROW = st.fixed_dictionaries({"name": mostly(TEXT), "calls": mostly(st.integers(0, 9)), "us": mostly(US)})
TRACED = st.fixed_dictionaries(
    {
        "wall_us": mostly(US),
        "cpu_us": mostly(US),
        "cores": mostly(st.integers(1, 64)),
        "outside": mostly(st.floats(0, 1)),
        "operators": mostly(st.lists(mostly(ROW), max_size=4)),
    },
    optional={"files": mostly(SENT), "more": ANY},
)
COUNTED = st.fixed_dictionaries({}, optional={"said": mostly(TEXT), "files": mostly(SENT)})
CELL = st.sampled_from(
    ["nan", "inf", "-1", "1e12", "1e308", "9" * 400, "", '"', "\x00", "43,072", "99.5", "0", "s", "%"]
)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Nsight Compute's table with repeated kernels and some other cells."""
    head, *lines = TABLE.splitlines()
    found = [line.split('","') for line in lines for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(0, 4))):
        cells = draw(st.sampled_from(found))
        cells[draw(st.integers(0, len(cells) - 1))] = draw(CELL)
    text = "\n".join(['","'.join(cells) for cells in found])
    return f"{draw(st.sampled_from(['', 'words', head[:30]]))}\n{head}\n{text}"


def check_profile(found: Profiled) -> None:
    """Check that a profile can be sent, stored and read again."""
    told = found.model_dump(mode="json")
    assert Profiled.model_validate(told) == found
    report = Report(attempt_id="1", token=1, outcome="passed", profile=told)
    assert Report.from_json(json.loads(dump(report))) == report
    check_storable(told, "profile")
    for content in found.files.values():
        base64.b64decode(content, validate=True)


def read(kind: Any, told: Any) -> Any:
    with suppress(ValidationError):
        return kind.model_validate(told)


def kernels(table: str) -> list[Kernel]:
    try:
        return profiled.kernels_of(clean_text(table.encode("utf-8", "replace")))
    except ValueError:
        return []


@settings(max_examples=100, deadline=None, derandomize=True)
@given(TRACED | ANY, st.none() | st.floats(0, 1e12), st.lists(TEXT.map(profile._clean), max_size=2))
def test_any_trace_is_a_profile_or_refused(told: Any, light_us: float | None, notes: list[str]) -> None:
    check_profile(profiled.on_cpu("n=1", read(Traced, told), light_us, notes))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(TRACED, COUNTED, tables() | st.text(max_size=50))
def test_any_counters_are_a_profile_or_refused(told: JSON, counters: JSON, table: str) -> None:
    counted = read(Counted, counters)
    found, notes = kernels(table), []
    if counted is not None:
        try:
            profile._kernels(counted)
        except profile._Failed as failed:
            notes.append(str(failed))
    for one in found:
        assert all(0 <= percent <= 100 for percent in (one.memory, one.compute, one.occupancy))
    files = {} if counted is None else counted.files
    check_profile(profiled.on_gpu("n=1", read(Traced, told), found, notes, files))
    check_profile(profiled.on_gpu("n=1", None, found, notes, files))


def test_kernel_of_many_launches_takes_no_longer_than_a_report_can_hold() -> None:
    lines = [line for line in TABLE.splitlines() if line.startswith('"0"')]
    again = "\n".join(f'"{number}{line[2:]}' for number in range(1, 4) for line in lines)
    (found,) = profiled.kernels_of(f"{TABLE}\n{again}".replace("43,072", "9e20"))
    assert found.us == profiled.MOST_US
    check_profile(profiled.on_gpu("n=1", None, [found]))


@pytest.mark.parametrize("content", ["a", "ab", "abc", "abcde", "ab=", "====", "a===", "ab==ab==", "ab==\n"])
def test_file_that_is_no_base64_is_refused(content: str) -> None:
    with pytest.raises(ValidationError):
        Counted(files={"counters.txt": content})


def test_files_of_two_profilers_fit_a_report() -> None:
    whole, less = "A" * MOST_FILE_CHARS, "A" * (MOST_SENT_CHARS - MOST_FILE_CHARS)
    traced = {"wall_us": 1.0, "cpu_us": 1.0, "cores": 1, "outside": 0.0, "operators": []}
    for kind, told in ((Traced, traced), (Counted, {})):
        with pytest.raises(ValidationError):
            kind.model_validate(told | {"files": {"operators.txt": whole, "trace.json.gz": whole}})
    one = Traced.model_validate(traced | {"files": {"operators.txt": less, "trace.json.gz": whole}})
    other = Counted.model_validate({"files": {"counters.txt": less, "counters.csv": whole}})
    check_profile(profiled.on_gpu("n=1", one, [], (), one.files | other.files))


# -- over the connection ---------------------------------------------------------------------------------------------


def framed(told: Any) -> bytes:
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    return struct.pack("<I", len(body)) + body


def answered(raw: bytes, patch: pytest.MonkeyPatch) -> Traced | str:
    ours, theirs = socket.socketpair()
    container = SimpleNamespace(close=lambda: None, printed=(0, 0), logs=dict)
    ready: Any = SimpleNamespace(start_profiler=lambda counters: container)
    pages: Any = SimpleNamespace(size=256, fd=0)
    patch.setattr(profile, "connect", lambda *_: ours)
    with theirs:
        theirs.sendall(raw)
        theirs.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        try:
            return profile._told(Traced, ready, Memory(), {"build": None, "counters": False}, pages, profile.LIMIT_S)
        except profile._Failed as failed:
            return str(failed)
        finally:
            assert time.monotonic() - began < 5


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    (TRACED | ANY | st.fixed_dictionaries({"failed": ANY})).map(framed) | st.binary(max_size=99), st.binary(max_size=9)
)
@example(framed(b'{"failed": ' + b"[" * 900 + b"]" * 900 + b"}"), b"")
@example(framed(b'{"failed": {}, "failed": 7}'), b"")
@example(framed(b'{"failed": "\\ud800\\u0000\\u202e"}'), b"")
@example(struct.pack("<I", 1 << 31), b"")
def test_any_answer_of_a_profiler_is_figures_or_a_sentence(raw: bytes, more: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        found = answered(raw + more, patch)
    if isinstance(found, Traced):
        check_profile(profiled.on_cpu("n=1", found, None))
    else:
        check_profile(profiled.on_cpu("n=1", None, None, [found]))
