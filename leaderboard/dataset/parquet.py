"""Tables as Parquet files, by pyarrow of the extra `parquet`: typed columns, and one row group in memory at a time."""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import Any, Final

MEDIA_TYPE: Final = "application/vnd.apache.parquet"
IS_INSTALLED: Final = find_spec("pyarrow") is not None
MISSING: Final = "pyarrow is not installed; install the extra `parquet`"
TEXT: Final = "text"
WHOLE: Final = "whole"
REAL: Final = "real"
TRUTH: Final = "truth"
TIME: Final = "time"  # microseconds, UTC


class Pieces(io.RawIOBase):
    """The file as it is written: bytes wait here until `take`."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._waiting.append(bytes(data))
        return len(self._waiting[-1])

    def take(self) -> bytes:
        found, self._waiting = b"".join(self._waiting), []
        return found


class Writer:
    """A Parquet file in pieces. `columns`: name → type; `meanings`: name → sentence, kept in the file's schema."""

    def __init__(self, columns: Mapping[str, str], meanings: Mapping[str, str] | None = None) -> None:
        import pyarrow
        from pyarrow.parquet import ParquetWriter

        types = {
            TEXT: pyarrow.string(),
            WHOLE: pyarrow.int64(),
            REAL: pyarrow.float64(),
            TRUTH: pyarrow.bool_(),
            TIME: pyarrow.timestamp("us", tz="UTC"),
        }
        about = {name: {"description": text} for name, text in (meanings or {}).items() if text}
        fields = [pyarrow.field(name, types[kind], metadata=about.get(name)) for name, kind in columns.items()]
        self._kinds, self._schema, self._pieces = list(columns.values()), pyarrow.schema(fields), Pieces()
        self._table, self._file = pyarrow.Table, ParquetWriter(self._pieces, self._schema)

    def group(self, rows: Sequence[Sequence[Any]]) -> bytes:
        """Return the bytes of a row group with these rows."""
        named = zip(self._schema.names, self._kinds, zip(*rows, strict=True), strict=True)
        table = {name: [value_of(kind, value) for value in values] for name, kind, values in named}
        self._file.write_table(self._table.from_pydict(table, schema=self._schema))
        return self._pieces.take()

    def end(self) -> bytes:
        self._file.close()
        return self._pieces.take()


def value_of(kind: str, value: Any) -> Any:
    if value is None or (kind != TEXT and value == ""):
        return None
    if kind == TIME:
        return value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if kind == TEXT:
        return json.dumps(value) if isinstance(value, list | dict) else str(value)
    return value
