"""Pure: near duplicates among kernels, and the split of a data set by problem.

A sketch holds the smallest hashes of a source's grams of tokens (MinHash with a single hash function; Broder: On the
resemblance and containment of documents, 1997). Names, comments and layout leave no trace in the tokens. A new sketch
is compared with at most MOST_COMPARED kept sketches that share a hash with it, so the work is linear in the sources.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from leaderboard.review.rules.similarity import grams
from leaderboard.submissions.tokens import Token, rendered

SKETCH: Final = 256  # hashes; a source with fewer grams is compared exactly
INDEXED: Final = 16  # smallest hashes of a sketch, by which kept sketches are found
MOST_COMPARED: Final = 32
LIKE: Final = 0.7  # similarity (Jaccard) of near duplicates: two changed literals in 200 tokens give 0.79
SPLITS: Final = ("train", "validation", "test")
TEST_PERCENT: Final = 10
VALIDATION_PERCENT: Final = 10

Sketch = tuple[int, ...]  # rising


def sketch_of(tokens: Iterable[Token]) -> Sketch:
    """Return the sketch of a source; empty for a source that is shorter than a gram, or too long to read."""
    return tuple(heapq.nsmallest(SKETCH, set(grams(list(rendered(list(tokens)))))))


def similarity(one: Sketch, other: Sketch) -> float:
    """Return the estimated share of grams that two sources have in common, of all grams of both."""
    both, first, second = heapq.nsmallest(SKETCH, set(one) | set(other)), set(one), set(other)
    return sum(value in first and value in second for value in both) / len(both) if both else 0.0


class Kept:
    """The kernels that stay in a data set, of one problem and hardware."""

    def __init__(self) -> None:
        self._digests: set[str] = set()
        self._sketches: list[Sketch] = []
        self._found: dict[int, list[int]] = defaultdict(list)  # hash → places of sketches

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, digest: str, sketch: Sketch) -> str:
        """Keep a kernel and return "", or return why it is left out: "exact" or "near"."""
        if digest in self._digests:
            return "exact"
        shared = Counter(place for value in sketch[:INDEXED] for place in self._found[value][:MOST_COMPARED])
        for place, _ in shared.most_common(MOST_COMPARED):
            if similarity(sketch, self._sketches[place]) >= LIKE:
                return "near"
        self._digests.add(digest)
        for value in sketch[:INDEXED]:
            self._found[value].append(len(self._sketches))
        self._sketches.append(sketch)
        return ""


def split_of(key: str) -> str:
    """Return the split of a problem by the digest of its key: the same in every export."""
    percent = int.from_bytes(sha256(key.encode()).digest()[:8], "big") % 100
    if percent < TEST_PERCENT:
        return "test"
    return "validation" if percent < TEST_PERCENT + VALIDATION_PERCENT else "train"


def keys_of(references: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Map each problem to the key of its split. `references`: digests of its reference code by problem.

    Problems that share a reference share a key, so that a problem under two names is in a single split.
    """
    parent: dict[str, str] = {name: name for name in references}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first: dict[str, str] = {}
    for name in sorted(references):
        for digest in references[name]:
            roots = sorted((root(name), root(first.setdefault(digest, name))))
            parent[roots[1]] = roots[0]
    return {name: root(name) for name in references}
