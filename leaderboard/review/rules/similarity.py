"""Pure: the part of a source that stands in another, by winnowing (Schleimer, Wilkerson, Aiken: Winnowing, local
algorithms for document fingerprinting, SIGMOD 2003).

A source becomes its stream of tokens; names, literals, layout and the order of functions leave no trace. Of every W
grams of K tokens the gram with the smallest hash is kept, so a shared stretch of K + W - 1 tokens is always seen, and a
stretch shorter than K never. Whole statements are kept as well, each by itself, against code inserted between them; the
last bit distinguishes both kinds. Code that a problem gives to everybody is removed from both sides. Text in a long
string literal is part of the stream: moving code into a string that is compiled hides no copy.
"""

import hashlib
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, count, groupby
from typing import Final

from leaderboard.submissions.tokens import LAYOUT, Token, is_source, lex_c, read

VERSION: Final = 1  # of the fingerprint algorithm; prints of different versions are not compared
K: Final = 12  # tokens of a gram: the shortest stretch that counts as shared
W: Final = 6  # grams of a window: K + W - 1 = 17 shared tokens in a row are always seen
LEAST_STATEMENT: Final = 7  # tokens of a statement that is kept as a whole; shorter statements are in all sources
MOST_PRINTS: Final = 6_000  # per source, some 20,000 tokens; a source with more is too long to compare
LEAST_PRINTS: Final = 20  # a source with fewer is too short to attribute
LEAST_STATEMENTS: Final = 8
LEAST_EMBEDDED: Final = 80  # characters from which a literal is read as code

# Keywords that all languages here share. All remaining words are names, which a copy can rename.
_KEPT: Final = frozenset({"for", "while", "if", "else", "return"})
_NAME, _LITERAL, _END, _JOINT = "n", "l", "", "."
_JOINTS: Final = frozenset({".", "->", "::"})
_LEFT_OUT: Final = frozenset({'"', "(", ")"})
_ENDS: Final = frozenset({";", "{", "}"})  # statement ends, as Python's layout is
_LEAST: Final = {0: LEAST_PRINTS, 1: LEAST_STATEMENTS}  # by the last bit
_BASE: Final = 1_000_003
_MASK: Final = (1 << 61) - 1
_DATA: Final = re.compile(r"[^\s]{40,}")
_TEXTS: Final = frozenset({"string", "bytes", "format"})
_LEAST_TEXT: Final = 400  # characters; shorter texts are messages and options
_LEAST_ROW: Final = 64  # literals
_NUMBER_CHARS: Final = 4

Prints = Set[int]


@dataclass(frozen=True)
class Likeness:
    """Shared part of two sources, relative to the source with fewer prints. `share` 0 … 1."""

    share: float
    shared: int
    of: int


def fingerprints(source: str) -> frozenset[int]:
    """Return whole numbers of 62 bits, odd for statements; none if the source is shorter than a gram."""
    return fingerprints_of(read(source).tokens)


def fingerprints_of(stream: Sequence[Token]) -> frozenset[int]:
    written = list(_shaped(stream))
    tokens = [token for token in written if token != _END]
    kept = {value << 1 for value in winnow(grams(tokens))}
    whole = set()
    for is_end, statement in groupby(written, key=lambda token: token == _END):
        text = list(statement)
        if not is_end and len(text) >= LEAST_STATEMENT:
            digest = hashlib.blake2b("\x1f".join(text).encode(), digest_size=8).digest()
            whole.add((int.from_bytes(digest, "big") & _MASK) << 1 | 1)
    return frozenset(sorted(kept | whole)[:MOST_PRINTS])


def likeness(suspect: Prints, other: Prints) -> Likeness:
    """Compare two sets of prints by the larger of both containments.

    A copy with many additions still holds the whole source; a part of a source is still the whole suspect. Fewer than
    LEAST_PRINTS prints give share 0.
    """
    by_kind = []
    for kind, least in _LEAST.items():
        ours, theirs = _of_kind(suspect, kind), _of_kind(other, kind)
        shared, of = len(ours & theirs), min(len(ours), len(theirs))
        by_kind.append(Likeness(shared / of if of >= least else 0.0, shared, of))
    return max(by_kind, key=lambda found: (found.share, found.of))


def overlap(one: Prints, other: Prints) -> float:
    """Return the shared part of the smaller set of prints, 0 … 1, also for sources that are too short to attribute."""
    return 1.0 if one == other else len(one & other) / max(1, min(len(one), len(other)))


def _of_kind(prints: Prints, kind: int) -> Prints:
    return {value for value in prints if value & 1 == kind}


def _shaped(stream: Iterable[Token]) -> Iterator[str]:
    """Yield tokens in their compared form, with ends of statements; `a.b`, `a->b` and `a::b` are a single name."""
    previous = is_joined = ""
    for token in chain.from_iterable(map(_shape, stream)):
        if token == _JOINT:
            is_joined = token
            continue
        if not (is_joined and token == previous == _NAME):
            yield token
        previous, is_joined = token, ""


def grams(tokens: Sequence[str]) -> Iterator[int]:
    """Yield a rolling hash of every K tokens in a row."""
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
    """Yield the smallest of every W hashes in a row, the last of equals; of fewer than W the smallest of all."""
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
    """Spread a hash over all of 61 bits: the smallest of some hashes is then a fair choice (a step of splitmix64)."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def opaque_chars(source: str) -> int:
    return opaque_chars_of(read(source).tokens, len(source))


def opaque_chars_of(tokens: Sequence[Token], size: int) -> int:
    """Return the characters of literals that hold data where code is expected.

    These are long texts that are no source, long words in texts that are, and rows of literals. A source of `size`
    characters that cannot be tokenised is opaque as a whole.
    """
    if not tokens:
        return size
    chars = sum(_rows(tokens))
    for text in (token.text for token in tokens if token.kind in _TEXTS):
        is_data = len(text) >= _LEAST_TEXT and not is_source(text)
        chars += len(text) if is_data else sum(map(len, _DATA.findall(text)))
    return chars


def _rows(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the characters of each row of literals that only commas and signs separate.

    Only short texts count. A number counts as long as a byte of data is usually written.
    """
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
