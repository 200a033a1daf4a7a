"""Pure: which part of one source stands in another, by winnowing (Schleimer, Wilkerson, Aiken: Winnowing, local
algorithms for document fingerprinting, SIGMOD 2003).

A source becomes its stream of tokens, in which every name is one token, dotted or not, and every literal another, and
round brackets are left out: renaming, aliases, reformatting, comments, the spelling of numbers, needless brackets and
the order of functions leave no trace. K tokens in a row are a
gram; of every W grams in a row the one with the smallest hash is kept. So whatever two sources share in a stretch of
K + W - 1 tokens or more is seen, and nothing that is shorter than K; about 2 / (W + 1) of all grams are kept.

Whoever puts something of their own between every two statements breaks the grams; so whole statements are kept as
well, each by itself and without its order. Both kinds are told apart by their last bit and compared each with its own.

What a problem gives to everybody (starters, reference, public samples) is taken off both. C++, CUDA and anything else
in a string literal of some length is part of the stream, with the same tokens as if it stood outside, so that moving
code into a string that is compiled or run hides nothing.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, count, groupby
from typing import Final

from leaderboard.submissions.ctokens import Token, is_source, lex_c
from leaderboard.submissions.tokens import LAYOUT, read

VERSION: Final = 1  # of the way of making fingerprints; others are not compared
K: Final = 12  # tokens of a gram: the least that counts as shared
W: Final = 6  # grams of a window: K + W - 1 = 17 shared tokens in a row are always seen
LEAST_STATEMENT: Final = 7  # tokens of a statement that is kept as a whole; shorter ones are everybody's
MOST_PRINTS: Final = 6_000  # of one source, some 20,000 tokens; what has more is too long to be compared
LEAST_PRINTS: Final = 20  # below, a source is too short to say whose it is
LEAST_STATEMENTS: Final = 8
LEAST_EMBEDDED: Final = 80  # characters of a literal from which on it is read as code

# Words that every language here has, and that are no names; all others may be called otherwise.
_KEPT: Final = frozenset({"for", "while", "if", "else", "return"})
_NAME, _LITERAL, _END, _JOINT = "n", "l", "", "."
_JOINTS: Final = frozenset({".", "->", "::"})
_LEFT_OUT: Final = frozenset({'"', "(", ")"})
_ENDS: Final = frozenset({";", "{", "}"})  # as much layout as Python's
_LEAST: Final = {0: LEAST_PRINTS, 1: LEAST_STATEMENTS}  # by the last bit
_BASE: Final = 1_000_003
_MASK: Final = (1 << 61) - 1
_DATA: Final = re.compile(r"[^\s]{40,}")
_TEXTS: Final = frozenset({"string", "bytes", "format"})
_LEAST_TEXT: Final = 400  # characters; shorter ones are messages and options
_LEAST_ROW: Final = 64  # literals
_NUMBER_CHARS: Final = 4

Prints = Set[int]


@dataclass(frozen=True)
class Likeness:
    """How much two sources share: of whichever holds less of its own. `share` 0 … 1."""

    share: float
    shared: int
    of: int


def fingerprints(source: str) -> frozenset[int]:
    """Whole numbers of 62 bits, odd ones of statements; none where the source is shorter than a gram."""
    return fingerprints_of(read(source).tokens)


def fingerprints_of(stream: Sequence[Token]) -> frozenset[int]:
    written = list(_shaped(stream))
    tokens = [token for token in written if token != _END]
    kept = {value << 1 for value in winnow(grams(tokens))}
    whole = {value << 1 | 1 for value in _statements(written)}
    return frozenset(sorted(kept | whole)[:MOST_PRINTS])


def likeness(suspect: Prints, other: Prints) -> Likeness:
    """A copy with much added still holds all of the other; a part of another is still all of the suspect.

    So the larger of both containments counts; of fewer than LEAST_PRINTS nothing is said.
    """
    by_kind = [_contained(_of_kind(suspect, kind), _of_kind(other, kind), least) for kind, least in _LEAST.items()]
    return max(by_kind, key=lambda found: (found.share, found.of))


def _contained(suspect: Prints, other: Prints, least: int) -> Likeness:
    shared, of = len(suspect & other), min(len(suspect), len(other))
    return Likeness(shared / of if of >= least else 0.0, shared, of)


def _of_kind(prints: Prints, kind: int) -> Prints:
    return {value for value in prints if value & 1 == kind}


def _shaped(stream: Iterable[Token]) -> Iterator[str]:
    """The tokens as they are compared, with ends of statements; `a.b`, `a->b` and `a::b` are one name."""
    previous = is_joined = ""
    for token in chain.from_iterable(map(_shape, stream)):
        if token == _JOINT:
            is_joined = token
            continue
        if not (is_joined and token == previous == _NAME):
            yield token
        previous, is_joined = token, ""


def _statements(tokens: Iterable[str]) -> Iterator[int]:
    for is_end, statement in groupby(tokens, key=lambda token: token == _END):
        text = list(statement)
        if not is_end and len(text) >= LEAST_STATEMENT:
            digest = hashlib.blake2b("\x1f".join(text).encode(), digest_size=8).digest()
            yield int.from_bytes(digest, "big") & _MASK


def grams(tokens: Sequence[str]) -> Iterator[int]:
    """A rolling hash of every K tokens in a row."""
    values = [zlib.crc32(token.encode()) + 1 for token in tokens]
    if len(values) < K:
        return
    first = pow(_BASE, K - 1, _MASK)
    rolling = 0
    for place, value in enumerate(values):
        if place >= K:
            rolling = (rolling - values[place - K] * first) % _MASK
        rolling = (rolling * _BASE + value) % _MASK
        if place >= K - 1:
            yield mixed(rolling)


def winnow(hashes: Iterable[int]) -> Iterator[int]:
    """Of every W in a row the smallest, the last of equal ones; of fewer than W the smallest of all."""
    window: deque[tuple[int, int]] = deque()  # (place, hash), hashes rising
    kept = -1
    place = -1
    for place, value in enumerate(hashes):
        while window and window[-1][1] >= value:
            window.pop()
        window.append((place, value))
        if window[0][0] <= place - W:
            window.popleft()
        if place >= W - 1 and window[0][0] != kept:
            kept = window[0][0]
            yield window[0][1]
    if 0 <= place < W - 1:
        yield window[0][1]


def mixed(value: int) -> int:
    """Spread over all of 61 bits, so that the smallest of some hashes is a fair choice (a step of splitmix64)."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def opaque_chars(source: str) -> int:
    return opaque_chars_of(read(source).tokens, len(source))


def opaque_chars_of(tokens: Sequence[Token], size: int) -> int:
    """Characters of literals that hold data where code is expected: long texts that are no source, long words in those
    that are, rows of literals. A source of `size` characters that cannot be taken apart is opaque as a whole."""
    if not tokens:
        return size
    texts = sum(_data_chars(token.text) for token in tokens if token.kind in _TEXTS)
    return texts + sum(_rows(tokens))


def _data_chars(text: str) -> int:
    if not is_source(text) and len(text) >= _LEAST_TEXT:
        return len(text)
    return sum(len(word) for word in _DATA.findall(text))


def _rows(tokens: Sequence[Token]) -> Iterator[int]:
    """Characters of rows of literals that nothing but commas and signs parts; of texts the short ones, a number as a
    byte of data is usually written."""
    counted = (token for token in tokens if token.text not in (",", "-") and token.kind != LAYOUT)
    for is_literal, row in groupby(counted, key=lambda token: token.kind == "literal" or token.kind in _TEXTS):
        sizes = [_NUMBER_CHARS if one.kind == "literal" else len(one.text) for one in row if is_literal]
        if len(sizes) >= _LEAST_ROW:
            yield sum(size for size in sizes if size < _LEAST_TEXT)


def _shape(token: Token) -> Iterator[str]:
    if token.kind == LAYOUT:
        yield _END
    elif token.kind == "operator":
        if token.text in _ENDS:
            yield _END
        elif token.text in _JOINTS:
            yield _JOINT
        elif token.text not in _LEFT_OUT:
            yield token.text
    elif token.text in _KEPT:
        yield token.text
    elif token.kind in _TEXTS and len(token.text) >= LEAST_EMBEDDED:
        for one in lex_c(token.text, count(1)):
            yield from _shape(one._replace(kind="literal") if one.kind == "string" else one)
    elif token.kind == "literal" or token.kind in _TEXTS:
        yield _LITERAL
    else:
        yield _NAME
