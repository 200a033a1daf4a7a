"""Candidates of a search, their likeness, and the archive that keeps fast kernels of different kinds. Pure."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from ..values import mapping, mappings, number, sequence

GRAM: Final = 4  # tokens of a gram
ALIKE: Final = 0.85  # Jaccard similarity from which two kernels count as one kind
KEPT: Final = 16  # kernels of an archive
MOST_FEEDBACK_CHARS: Final = 2_000
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_COMMENT: Final = re.compile(r"[ \t]*#(?=[ \t]|$)")  # `#include` and `#!PHOTOFINISH` are code, and `// 2` may be


@dataclass(frozen=True)
class Verdict:
    """The judge's answer on a candidate."""

    submission: int
    outcome: str
    reason: str = ""
    stage: str = ""
    ratio: float | None = None  # candidate / baseline; below 1 is faster
    half_width: float | None = None
    held_by: tuple[str, ...] = ()  # rules, or the state of its review
    text: str = ""  # feedback for a prompt

    @classmethod
    def of(cls, found: Mapping[str, Any], text: str) -> "Verdict":
        """Read an object of feedback/1."""
        about = mapping(found.get("about"))
        rules = [str(one.get("rule", "")) for one in mappings(found.get("held_by"))]
        review = [str(about["review"])] if about.get("review") else []
        return cls(
            submission=int(number(about.get("submission")) or 0),
            outcome=str(found.get("outcome") or about.get("status") or ""),
            reason=str(found.get("reason") or ""),
            stage=str(found.get("stage") or ""),
            ratio=number(found.get("ratio")),
            half_width=number(found.get("half_width")),
            held_by=tuple(dict.fromkeys(rules + review)),
            text=text[:MOST_FEEDBACK_CHARS],
        )

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> "Verdict":
        """Read a verdict of a journal."""
        fields = {name: kept[name] for name in cls.__dataclass_fields__ if name in kept}
        return cls(**{**fields, "held_by": tuple(map(str, sequence(kept.get("held_by"))))})


@dataclass
class Candidate:
    """A kernel that the proposer wrote, and its verdict."""

    number: int
    round: int
    code: str
    idea: str = ""
    parents: tuple[int, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)  # model, prompt, sampling and usage
    prompt: str = ""  # kept in a match alone, as the answer
    answer: str = ""
    left_out: str = ""  # why it was not sent; empty: it was, or waits
    verdict: Verdict | None = None

    @cached_property
    def digest(self) -> str:
        return digest(self.code)

    @cached_property
    def grams(self) -> frozenset[int]:
        return grams(self.code)

    @property
    def ratio(self) -> float | None:
        """The ratio of a correct kernel that no rule holds; None for every other candidate."""
        found = self.verdict
        return found.ratio if found and found.outcome == "passed" and found.ratio and not found.held_by else None

    @property
    def speedup(self) -> float:
        """The speedup over the baseline, 0 without a usable time."""
        return 1 / self.ratio if self.ratio else 0.0


def tokens(code: str) -> list[str]:
    """Return the tokens of a source without blanks and without lines that are comments."""
    return [token for line in code.split("\n") if not _COMMENT.match(line) for token in _TOKEN.findall(line)]


def digest(code: str) -> str:
    """Return a digest that sources share if they differ in blanks and comment lines alone."""
    depth = (
        str(len(line) - len(line.lstrip())) for line in code.split("\n") if line.strip() and not _COMMENT.match(line)
    )
    return hashlib.sha256("\n".join([*tokens(code), *depth]).encode("utf-8", "replace")).hexdigest()


def grams(code: str) -> frozenset[int]:
    """Return the hashed token grams of a source."""
    found = tokens(code)
    return frozenset(hash(tuple(found[at : at + GRAM])) for at in range(max(1, len(found) - GRAM + 1)))


def similarity(one: Candidate, other: Candidate) -> float:
    """Return the Jaccard similarity of two kernels, from 0 to 1."""
    shared = len(one.grams & other.grams)
    return shared / (len(one.grams) + len(other.grams) - shared or 1)


def diverse(candidates: Iterable[Candidate], most: int = KEPT) -> list[Candidate]:
    """Return the fastest correct kernels, fastest first, of each kind the fastest alone."""
    kept: list[Candidate] = []
    for one in sorted((one for one in candidates if one.ratio), key=lambda one: (one.ratio, one.number)):
        if len(kept) == most:
            break
        if all(similarity(one, other) < ALIKE for other in kept):
            kept.append(one)
    return kept


@dataclass(frozen=True)
class Idea:
    """An idea in words, and the best of its kernels so far."""

    text: str
    speedup: float  # 0: no kernel of it was correct and timed
    outcome: str  # of its best kernel, or of its last


def ideas(candidates: Sequence[Candidate]) -> list[Idea]:
    """Return the ideas with a verdict, in the order in which they were tried."""
    found: dict[str, Idea] = {}
    for one in candidates:
        if not one.idea or one.verdict is None:
            continue
        known = found.get(one.idea)
        if known is None or one.speedup >= known.speedup:
            why = f"held by {', '.join(one.verdict.held_by)}" if one.verdict.held_by else one.verdict.outcome
            found[one.idea] = Idea(one.idea, one.speedup, " ".join(filter(None, (why, one.verdict.reason))))
    return list(found.values())
