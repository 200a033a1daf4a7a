"""Typed, bounded access to a mapping from outside (YAML or JSON); every failure names the field.

Owns no state. Always true: values that these functions return have the requested type and lie in the requested range.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, Self, TypeVar

T = TypeVar("T")

MAX_SHOWN_CHARS: Final = 80  # of a wrong value, in a message
MAX_PRINTED_CHARS: Final = 500  # of a message in a report
MAX_EXPRESSION_CHARS: Final = 500
_NO_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")
_UNSEEN_KINDS: Final = ("Cc", "Cf", "Co", "Zl", "Zp")  # control, formatting, private characters, line breaks
_JOINERS: Final = "\u200c\u200d"  # some scripts and emoji need them
# Neither spaces nor marks to Unicode, and invisible: default ignorable code points, and a cell without dots.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_EXPRESSION: Final = re.compile(r"[A-Za-z0-9_+\-*/%(). ,]+")


class ProblemError(ValueError):
    """A problem folder, set or bundle is faulty: its author's fault, shown to its author as text.

    `field` is the place of the fault; the message gives the value found there and the remedy.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def shown(value: object) -> str:
    """Return the value for a message: at most a line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists a thousand deep
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


def printable(text: str) -> str:
    """Return text that may quote a stranger, for reports: printable and at most a few lines long."""
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return plain if len(plain) <= MAX_PRINTED_CHARS else plain[:MAX_PRINTED_CHARS] + "…"


def as_mapping(value: object, where: str, most: int = 1024) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ProblemError(where, f"expected a mapping of names to values, got {shown(value)}")
    if len(value) > most:
        raise ProblemError(where, f"{len(value)} entries, at most {most}")
    for key in value:
        if not isinstance(key, str):
            hint = " (YAML reads on, off, yes and no as true or false)" if isinstance(key, bool) else ""
            raise ProblemError(where, f"the key {shown(key)} is not text{hint}; put it in quotes")
    return dict(value)


def as_table(
    value: object, where: str, most: int, name: Callable[[str, str], str], item: Callable[[object, str], T]
) -> dict[str, T]:
    """Return a mapping whose keys are read by `name`, its values by `item`."""
    return {name(key, where): item(one, f"{where}.{key}") for key, one in as_mapping(value, where, most).items()}


def as_list(value: object, where: str, most: int) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ProblemError(where, f"expected a list, got {shown(value)}")
    if len(value) > most:
        raise ProblemError(where, f"{len(value)} items, at most {most}")
    return list(value)


def as_text(value: object, where: str, most: int, *, empty_ok: bool = True) -> str:
    if not isinstance(value, str):
        raise ProblemError(where, f"expected text, got {shown(value)}; put it in quotes")
    if len(value) > most:
        raise ProblemError(where, f"{len(value)} characters, at most {most}")
    if _NO_TEXT.search(value):
        raise ProblemError(where, "holds a NUL character or half a surrogate pair; save it as plain UTF-8 text")
    if not empty_ok and not value.strip():
        raise ProblemError(where, "is empty; write something there or leave the key out")
    return value


def as_line(value: object, where: str, most: int, *, empty_ok: bool = False) -> str:
    """Return text that people tell apart by its looks: one line, without invisible characters or reversed words."""
    text = as_text(value, where, most, empty_ok=empty_ok)
    for place, char in enumerate(text, 1):
        if (unicodedata.category(char) in _UNSEEN_KINDS and char not in _JOINERS) or _BLANK.match(char):
            raise ProblemError(where, f"holds the invisible character U+{ord(char):04X} at place {place}; remove it")
    return text


def as_name(value: object, where: str, pattern: re.Pattern[str], what: str) -> str:
    text = as_text(value, where, 255)
    if not pattern.fullmatch(text):
        raise ProblemError(where, f"{shown(text)} is not {what}")
    return text


def as_whole(value: object, where: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProblemError(where, f"expected a whole number, got {shown(value)}{_unquoted(value)}")
    if not least <= value <= most:
        raise ProblemError(where, f"{shown(value)} is outside {least} … {most}")
    return value


def as_number(value: object, where: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == math.inf:
        raise ProblemError(where, f"expected a finite number, got {shown(value)}{_unquoted(value)}")
    if not least <= value <= most:
        raise ProblemError(where, f"{shown(value)} is outside {least} … {most}")
    return float(value)


def _unquoted(value: object) -> str:
    return "; write it without quotes" if isinstance(value, str) else ""


def as_bool(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ProblemError(where, f"expected true or false, got {shown(value)}")
    return value


def as_expression(value: object, where: str) -> str:
    """Return arithmetic over a case's arguments; only letters and length are checked, arithmetic.py has the grammar."""
    text = shown(value) if isinstance(value, int) and not isinstance(value, bool) else value
    text = as_text(text, where, MAX_EXPRESSION_CHARS)
    if not _EXPRESSION.fullmatch(text):
        raise ProblemError(where, f"{shown(text)} is not arithmetic over the case's arguments, such as 4 * rows * cols")
    return text


class Fields:
    """A mapping, read key by key. `prefix` stands before each field's name in messages ("fuzz.")."""

    def __init__(self, data: object, name: str, *, prefix: str = "") -> None:
        self.data = as_mapping(data, name)
        self._prefix = prefix

    def where(self, key: str) -> str:
        return f"{self._prefix}{key}"

    def required(self, key: str, parse: Callable[[object, str], T]) -> T:
        if key not in self.data:
            raise ProblemError(self.where(key), "missing; it must be given")
        return parse(self.data[key], self.where(key))

    def optional(self, key: str, parse: Callable[[object, str], T], default: T) -> T:
        """Parse an optional field. The default also stands for an explicit null: `gpus:` without a value."""
        value = self.data.get(key)
        return default if value is None else parse(value, self.where(key))

    def mapping(self, key: str) -> dict[str, Any]:
        """Return an optional mapping; {} when it is missing."""
        value = self.data.get(key)
        return {} if value is None else as_mapping(value, self.where(key))

    def unknown(self, known: Collection[str]) -> list[str]:
        return [self.where(key) for key in self.data if key not in known]

    def only(self, known: Collection[str]) -> None:
        for name in self.unknown(known):
            raise ProblemError(name, f"unknown key; known here: {', '.join(sorted(known))}")

    def values(self, record: type[Record]) -> dict[str, Any]:
        """Return the values of a record's fields; fields without a default are required."""
        found = {}
        for one in fields(record):
            if parse := one.metadata.get("parse"):
                if one.default is one.default_factory is MISSING:
                    found[one.name] = self.required(one.name, parse)
                elif self.data.get(one.name) is not None:
                    found[one.name] = parse(self.data[one.name], self.where(one.name))
        return found


def by(parse: Callable[[object, str], object], *, omitted: bool = False) -> dict[str, Any]:
    """Return the metadata of a record's field that is read by `parse`.

    `omitted`: the JSON form leaves it out at its default, so that the digest of problems that do not declare it stays.
    Every new field of a Problem needs it, since each import of a changed digest makes a new version.
    """
    return {"parse": parse, "omitted": omitted}


@dataclass(frozen=True)
class Record:
    """A frozen value with a JSON form: an object with its fields. Fields without metadata are left out."""

    @classmethod
    def from_json(cls, data: object, where: str) -> Self:
        found = Fields(data, where, prefix=f"{where}.")
        found.only([one.name for one in fields(cls)])
        return cls(**found.values(cls))

    def to_json(self) -> dict[str, Any]:
        kept = [one for one in fields(self) if "parse" in one.metadata]
        bare = {
            one.name: one.default_factory() if one.default_factory is not MISSING else one.default
            for one in kept
            if one.metadata["omitted"]
        }
        found = {one.name: getattr(self, one.name) for one in kept}
        return {name: _as_json(value) for name, value in found.items() if name not in bare or value != bare[name]}


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value.to_json() if hasattr(value, "to_json") else value
