"""The journal of a search: JSON lines that are only appended, each on disk before the search goes on.

A line that a kill cut off is dropped when the journal is opened again.
"""

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ..account import Misuse

MOST_BYTES: Final = 256_000_000
FORMAT: Final = "search/1"
NAME: Final = "journal.jsonl"

Record = dict[str, Any]


def read(path: Path) -> tuple[list[Record], int]:
    """Return the records of a journal, and the bytes of its whole lines. Raises Misuse, FileNotFoundError."""
    if path.stat().st_size > MOST_BYTES:
        raise Misuse(f"{path}: has more than {MOST_BYTES:,} bytes; start a new search with --into")
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    records = []
    for place, line in enumerate(data[:whole].splitlines(), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            raise Misuse(f"{path}, line {place}: is damaged; remove the line, or start a new search with --into")
        records.append(record)
    if records and records[0].get("format") != FORMAT:
        raise Misuse(f"{path}: is not a journal of a search ({FORMAT}); choose another folder with --into")
    return records, whole


class Journal:
    """An open journal, for a single process at a time."""

    def __init__(self, folder: Path) -> None:
        """Open or create the journal of a folder. Raises Misuse."""
        self.path = path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as error:
            raise Misuse(f"{path}: {error.strerror}; choose another folder with --into") from None
        try:
            _lock(self._file.fileno(), path)
            self.records, whole = read(path)
            self._file.truncate(whole)
            self._file.seek(whole)
        except BaseException:
            self._file.close()
            raise

    def add(self, record: Record) -> Record:
        """Append a record, wait until it is on disk, and return it as it will be read. Raises Misuse."""
        line = json.dumps(record).encode()
        try:
            self._file.write(line + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise Misuse(f"{self.path}: cannot be written: {error.strerror}") from None
        self.records.append(json.loads(line))
        return self.records[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: two searches in a folder are up to the user
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Misuse(f"{path}: another search writes to it; wait for its end, or choose another --into") from None
