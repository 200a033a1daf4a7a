"""Pages and messages: both sides read each other's writes, and a hostile side's writes do no harm."""

import socket
import struct
import time
import unicodedata

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


UNSEEN = {
    "controls": "\0\a\b\r\x1b\x7f\x80\x9b\x9f",
    "directions": "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
    "joiners and breaks": "\u00ad\u034f\u200b\u200c\u200d\u2060\u2064\ufeff",
    "line ends": "\u2028\u2029",
    "annotations, musical and shorthand controls": "\ufff9\ufffa\ufffb\U0001d173\U0001d17a\U0001bca0\U0001bca3",
    "variation selectors": "\u180b\u180c\u180d\u180f\ufe00\ufe0e\U000e0100\U000e01ef",
    "fillers": "\u115f\u1160\u17b4\u17b5\u3164\uffa0",
    "tags": "\U000e0001\U000e0020\U000e0041\U000e007f",
    "private use": "\ue000\uf8ff\U000f0000\U000ffffd\U00100000\U0010fffd",
    "kept free": "\u2065\ufff0\ufff8\U000e0000\U000e0080\U000e01f0\U000e0fff",
}
READ = (
    "tab\t newline\n café naïve 5 µs ± 1 % → ✓ “quotes” € 𝛼𝛽 ∑ x² ½",
    "Ελληνικά, Русский, עברית, العربية, فارسی, हिन्दी, தமிழ், ไทย, ភាសាខ្មែរ, ᠮᠣᠩᠭᠣᠯ",
    "中文、日本語がぎ、한국어、\u1112\u1161\u11ab, e\u0301, 👍🏽 🎉 🇩🇪 ⚠ █▓░ ╭─╮ \N{REPLACEMENT CHARACTER}",
)


@pytest.mark.parametrize("characters", UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_sees_is_replaced(characters: str) -> None:
    raw = "".join(f"a{character}b" for character in characters).encode()
    assert protocol.clean_text(raw) == "a\N{REPLACEMENT CHARACTER}b" * len(characters)


def test_lines_that_end_as_on_windows_stay_lines() -> None:
    assert protocol.clean_text(b"one\r\ntwo\rthree") == "one\ntwo\N{REPLACEMENT CHARACTER}three"


@pytest.mark.parametrize("text", READ)
def test_every_script_reads_as_it_was_written(text: str) -> None:
    assert protocol.clean_text(text.encode()) == text


def test_joined_emoji_come_apart() -> None:
    assert protocol.clean_text("👩\u200d🔬 ⚠\ufe0f".encode()).replace("\N{REPLACEMENT CHARACTER}", "") == "👩🔬 ⚠"


def is_shown(character: str) -> bool:
    name, kind = unicodedata.name(character, ""), unicodedata.category(character)
    is_filler = name.startswith(("HANGUL", "HALFWIDTH HANGUL")) and name.endswith("FILLER")
    hides = is_filler or "VARIATION SELECTOR" in name or kind in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return character in "\t\n" or not hides


@given(st.binary(max_size=400) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_cleaned_text_can_be_seen_whole(raw: bytes) -> None:
    text = protocol.clean_text(raw)
    assert all(map(is_shown, text))
    assert protocol.clean_text(text.encode()) == text


def test_of_all_characters_none_unseen_survives() -> None:
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    assert [character for character in set(protocol.clean_text(every.encode())) if not is_shown(character)] == []


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
