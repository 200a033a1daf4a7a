"""Pages and messages: what one side writes the other reads; what a hostile side writes does no harm."""

from __future__ import annotations

import socket
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import protocol


@given(st.integers(1, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.binary(max_size=3000))
def test_a_page_reads_as_it_was_written(nonce: int, kind: int, number: int, text: bytes) -> None:
    page = bytearray(4096)
    protocol.write_page(page, nonce, kind, number, text)
    assert protocol.read_nonce(page) == nonce
    assert protocol.read_page(page, 4096) == (kind, number, text)


@given(st.binary(min_size=256, max_size=256), st.integers(0, 10_000))
def test_reading_a_hostile_page_is_bounded(page: bytes, most: int) -> None:
    _, _, text = protocol.read_page(page, most)
    assert len(text) <= min(most, 256 - protocol.HEADER_BYTES)


@given(st.binary(max_size=400))
def test_cleaned_text_moves_no_cursor_and_turns_no_direction(raw: bytes) -> None:
    text = protocol.clean_text(raw)
    assert not any(ord(c) < 32 and c not in "\t\n" for c in text)
    assert not set(text) & {"\x1b", "\x7f", "\u202e", "\u2066"}
    text.encode("utf-8")


def test_a_message_arrives_with_its_descriptors() -> None:
    left, right = socket.socketpair()
    with left, right, open("/dev/null", "rb") as file:
        protocol.send(left, {"a": [1, "ü"]}, (file.fileno(),))
        message, fds = protocol.receive(right, descriptors=1)
    assert message == {"a": [1, "ü"]}
    assert len(fds) == 1


@pytest.mark.parametrize(
    "raw", [b"\xff\xff\xff\xff", struct.pack("<I", 3) + b"{,}", struct.pack("<I", 2) + b"[]", b"\x01"], ids=repr
)
def test_nonsense_is_a_protocol_error(raw: bytes) -> None:
    left, right = socket.socketpair()
    with right:
        with left:
            left.sendall(raw)
        with pytest.raises(protocol.ProtocolError):
            protocol.receive(right)


def test_deep_json_is_a_protocol_error() -> None:
    left, right = socket.socketpair()
    body = b"[" * 200_000
    with left, right:
        left.sendall(struct.pack("<I", len(body)) + body[:100_000])
        right.settimeout(5)
        left.sendall(body[100_000:])
        with pytest.raises(protocol.ProtocolError):
            protocol.receive(right)


def test_a_peer_that_drips_runs_into_the_deadline() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(struct.pack("<I", 100) + b"{")
        with pytest.raises(TimeoutError):
            protocol.receive(right, deadline_ns=time.monotonic_ns() + 50_000_000)


def test_descriptors_that_nobody_asked_for_are_dropped() -> None:
    left, right = socket.socketpair()
    with left, right, open("/dev/null", "rb") as file:
        protocol.send(left, {}, (file.fileno(),))
        assert protocol.receive(right) == ({}, ())


def test_text_is_cut_where_a_line_ends() -> None:
    text = "".join(f"line {n}\n" for n in range(100))
    cut = protocol.cut(text, 200)
    *lines, last = cut.splitlines()
    assert len(cut) <= 200
    assert text.startswith("\n".join(lines) + "\n")
    assert last == f"… {len(text) - len(cut) + len(last)} characters left out"
    assert protocol.cut(text, len(text)) == text
    assert len(protocol.cut("x" * 300, 200)) <= 200
