"""Files of one load: each real file is read and parsed once, however many problems name it, within a total limit.

Owns nothing on disk. Returned values are shared and must not be changed. A file that cannot be read is refused each
time in the same words. Together the files of one load stay within the limits below.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Final, TypeVar

from problems.errors import ProblemError
from problems.formats import inspect
from problems.formats.text import parse_yaml, read_text, resolve_inside

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

MAX_CHARS_IN_ALL: Final = 8_000_000
MAX_YAML_CHARS_IN_ALL: Final = 2_000_000  # the slowest to read: some 100 kB a second where it means harm


class Files:
    def __init__(self) -> None:
        self._texts: dict[Path, str | ProblemError] = {}
        self._values: dict[Path, object] = {}
        self._codes: dict[str, inspect.Code] = {}
        self._chars_left = MAX_CHARS_IN_ALL
        self._yaml_chars_left = MAX_YAML_CHARS_IN_ALL

    def text(self, path: Path, root: Path, where: str, *, written: str = "") -> str:
        """Read a file. Raises ProblemError if it is missing, no plain file, outside `root`, not UTF-8 or too large.

        `written`: the name under which the caller knows it.
        """

        def read() -> str:
            text = read_text(path, root, where)
            self._chars_left = _less(self._chars_left, text, where, f"{MAX_CHARS_IN_ALL} characters")
            return text

        return _once(self._texts, resolve_inside(path, root, where, written=written), where, read)

    def yaml(self, path: Path, root: Path, where: str) -> object:
        """Read a YAML file. Raises ProblemError as `text` does, and for a file that is not YAML of plain values."""

        def read() -> object:
            text = self.text(path, root, where)
            self._yaml_chars_left = _less(
                self._yaml_chars_left, text, where, f"{MAX_YAML_CHARS_IN_ALL} characters of YAML"
            )
            return parse_yaml(text, where)

        return _once(self._values, resolve_inside(path, root, where), where, read)

    def code(self, source: str) -> inspect.Code:
        if source not in self._codes:
            self._codes[source] = inspect.code(source)
        return self._codes[source]


def _less(left: int, text: str, where: str, limit: str) -> int:
    if len(text) > left:
        raise ProblemError(where, f"with it the files come to more than {limit} in all; split the set")
    return left - len(text)


def _once(known: dict[K, T | ProblemError], key: K, where: str, read: Callable[[], T]) -> T:
    if key not in known:
        try:
            known[key] = read()
        except ProblemError as error:
            known[key] = error
    found = known[key]
    if isinstance(found, ProblemError):
        raise ProblemError(where, found.message)
    return found
