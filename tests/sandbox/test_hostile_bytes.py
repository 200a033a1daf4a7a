"""Bytes that a program in a container sends, prints or writes into shared memory: every reader is bounded, and raises
its documented errors alone."""

import json
import os
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sandbox import container, helper, protocol
from sandbox.container import Capture, Container, Exit, Paper

fuzz = settings(max_examples=100, deadline=None, derandomize=True)

# -- messages ----------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ODD_BODIES = (
    b'{"a": 1, "a": {}}',
    b'{"a": 1e999}',
    b'{"a": ' + b"9" * 5_000 + b"}",
    b'{"a": -Infinity}',
    b'{"a": "\\ud800\\u0000"}',
    b'\xef\xbb\xbf{"a": 1}',
    '{"a": 1}'.encode("utf-16"),
    b"{" * 3_000,
    b"[" * 990 + b"]" * 990,
    b"",
)


def framed(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


@st.composite
def damaged(draw: st.DrawFn, good: st.SearchStrategy[bytes]) -> bytes:
    """Messages that are cut short, prolonged, repeated, or changed in a few bytes."""
    raw = bytearray(draw(good))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(raw) - 1, 0)))
        how = draw(st.sampled_from(["change", "cut", "insert", "twice"]))
        if how == "change":
            raw[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif how == "cut":
            del raw[at:]
        elif how == "insert":
            raw[at:at] = draw(st.binary(max_size=9))
        else:
            raw += bytes(raw)
    return bytes(raw)


MESSAGES = st.one_of(
    st.binary(max_size=200),
    damaged(st.one_of(JSON, st.dictionaries(st.text(max_size=5), JSON)).map(json.dumps).map(str.encode).map(framed)),
    st.sampled_from(ODD_BODIES).map(framed),
)


def received(raw: bytes) -> dict[str, Any]:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(raw)
        return protocol.receive(ours, deadline_ns=time.monotonic_ns() + 10_000_000_000)[0]


@fuzz
@given(MESSAGES)
@example(framed(ODD_BODIES[-2]))
def test_receive_returns_an_object_or_a_protocol_error(raw: bytes) -> None:
    with suppress(protocol.ProtocolError):
        assert type(received(raw)) is dict


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None, derandomize=True)
@example(protocol.MAX_MESSAGE_BYTES)
def test_receive_takes_no_memory_for_an_announced_length(length: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(protocol.ProtocolError):
            received(struct.pack("<I", max(length, 9)) + b"{")
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()


# -- control pages -----------------------------------------------------------------------------------------------------


class ChangingPage(bytearray):
    """Page whose contents change after each read, as a hostile program changes them in between."""

    change: Callable[[], None] = lambda: None
    reads: list[tuple[int, int]]

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.reads.append((place.start, place.stop))
        self.change()
        return found


class ChangingWords:
    """Reader of words of a ChangingPage, in place of a struct.Struct."""

    def __init__(self, words: struct.Struct) -> None:
        self._words = words

    def unpack_from(self, page: ChangingPage, at: int) -> tuple[Any, ...]:
        found = self._words.unpack_from(page, at)
        page.reads.append((at, at + self._words.size))
        page.change()
        return found


WORD = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 16_000, 2**63, 2**64 - 1])


@fuzz
@given(st.lists(st.tuples(WORD, WORD, WORD, WORD), min_size=3, max_size=3), st.integers(0, 5_000))
def test_read_page_reads_each_word_once_while_it_changes(pages: list[tuple[int, ...]], most: int) -> None:
    page = ChangingPage(1024)
    left = iter(pages)

    def change() -> None:
        if (words := next(left, None)) is not None:
            struct.pack_into("<4Q", page, 0, *words)

    change()
    page.change, page.reads = change, []
    with patch.object(protocol, "_WORDS", ChangingWords(protocol._WORDS)):
        status, number, text = protocol.read_page(page, most)
    assert (status, number) == pages[0][1:3]
    words, (begin, end) = page.reads
    assert (words, begin) == ((0, 32), protocol.HEADER_BYTES)
    assert len(text) == end - begin == min(pages[0][3], most, 1024 - protocol.HEADER_BYTES)


# -- output ------------------------------------------------------------------------------------------------------------


def is_visible(text: str) -> bool:
    return not any(map(protocol.is_unseen, text))


@fuzz
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_capture_keeps_two_ends_and_counts_the_rest(chunks: list[bytes]) -> None:
    with patch.object(container, "KEEP_BYTES", 40):
        taken = Capture()
        for chunk in chunks:
            taken.feed(chunk)
        text = taken.text()
    whole = b"".join(chunks)
    assert taken.total == len(whole)
    assert is_visible(text)
    assert len(text) <= 2 * 40 + len(f"\n… {len(whole)} bytes left out …\n")
    if len(whole) <= 40:
        assert text == protocol.clean_text(whole)


class Pipe:
    """Docker's end of an attached container: hands out bytes in pieces of the given lengths."""

    def __init__(self, raw: bytes, lengths: list[int]) -> None:
        self._raw, self._lengths = raw, iter(lengths)

    def recv(self, most: int) -> bytes:
        length = min(next(self._lengths, most), most)
        piece, self._raw = self._raw[:length], self._raw[length:]
        return piece


@contextmanager
def box_of(raw: bytes = b"", lengths: list[int] | None = None, *ends: tuple[bool, int, bool]) -> Iterator[Any]:
    """A container without an engine. `killed` counts; `ends`: the engine's successive answers."""
    box: Any = Container.__new__(Container)
    killed: list[int] = []
    reported = iter(ends)
    box._cell = SimpleNamespace(
        output=Pipe(raw, lengths or []), kill=lambda: killed.append(1), pidfd=os.pidfd_open(os.getpid()), freezer=None
    )
    box._cell.end = lambda: next(reported, ends[-1])
    box.stdout, box.stderr, box._papers = Capture(), Capture(), (Paper(), Paper())
    box._flooded, box._reader, box.killed = False, None, killed
    try:
        yield box
    finally:
        os.close(box._cell.pidfd)
        for paper in box._papers:
            paper.close()


def frames(raw: bytes) -> tuple[int, int]:
    """Bytes of both streams in Docker's framing, read in one go."""
    found, at = [0, 0], 0
    while len(raw) - at >= 8:
        stream, length = struct.unpack_from(">BxxxI", raw, at)
        found[stream == 2] += len(raw[at + 8 : at + 8 + length])
        at += 8 + length
    return found[0], found[1]


FRAME = st.builds(
    lambda stream, text, more: struct.pack(">BxxxI", stream, len(text) + more) + text,
    st.integers(0, 255),
    st.binary(max_size=40),
    st.sampled_from([0, 0, 0, 1, 2**32 - 50]),
)


@fuzz
@given(st.lists(FRAME, max_size=5).map(b"".join) | st.binary(max_size=100), st.lists(st.integers(1, 30), max_size=20))
def test_drain_takes_any_frames_in_any_pieces(raw: bytes, lengths: list[int]) -> None:
    with box_of(raw, lengths) as box:
        box._drain()
        assert (box.stdout.total, box.stderr.total) == frames(raw)
        assert not box.killed


@fuzz
@given(st.lists(FRAME, min_size=3, max_size=9).map(b"".join), st.integers(0, 60))
def test_drain_ends_a_flood_once(raw: bytes, most: int) -> None:
    with patch.object(container, "FLOOD_BYTES", most), box_of(raw, [11] * 99) as box:
        box._drain()
        assert len(box.killed) == (sum(frames(raw)) > most)
        assert box.stdout.total + box.stderr.total <= most + 11


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.just("write"), st.binary(max_size=300))
        | st.tuples(st.just("size"), st.integers(0, 400) | st.sampled_from([1 << 24, 1 << 40, 2**63 - 4096])),
        max_size=4,
    )
)
def test_paper_is_read_within_bounds_whatever_its_holder_does_to_the_file(acts: list[tuple[str, Any]]) -> None:
    with patch.object(container, "FLOOD_BYTES", 1000), box_of() as box:
        paper = box._papers[0]
        for act, what in acts:
            with suppress(OSError):  # the file is too large
                os.write(paper.fd, what) if act == "write" else os.ftruncate(paper.fd, what)
        assert box.alive() == (paper.size <= 1000)
        assert len(box.killed) == (paper.size > 1000)
        logs = box.logs()["stdout"]
        assert len(logs) <= 1000
        assert is_visible(logs)


@fuzz
@given(st.lists(st.tuples(st.booleans(), st.integers(), st.booleans()), min_size=1, max_size=3), st.booleans())
def test_wait_exit_ends_whatever_the_engine_reports(ends: list[tuple[bool, int, bool]], flooded: bool) -> None:
    with patch.object(container, "END_S", 0.0), patch.object(time, "sleep"), box_of(b"", None, *ends) as box:
        box._flooded = flooded
        end = box.wait_exit()
    assert isinstance(end, Exit)
    assert (end.code, end.oom_killed, end.flooded) in {(code, oom, flooded) for _, code, oom in ends}


# -- requests to the helper --------------------------------------------------------------------------------------------

REQUESTS = st.sampled_from(
    [
        {"do": "image"},
        {"do": "start", "kind": "tenant", "cores": "0,1"},
        {"do": "kill", "id": "1"},
        {"do": "end", "id": "1"},
    ]
).map(lambda one: json.dumps(one).encode())


@fuzz
@given(st.binary(max_size=200) | damaged(REQUESTS) | JSON.map(json.dumps).map(str.encode) | st.sampled_from(ODD_BODIES))
def test_helper_parses_exact_requests_or_refuses(raw: bytes) -> None:
    with suppress(helper.Refused):
        asked = helper.parse(raw)
        assert asked.keys() == helper.REQUESTS[asked["do"]]
        assert all(type(value) is str for value in asked.values())
