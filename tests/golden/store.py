"""Files of golden reports and their answers: reports are compressed, answers are readable."""

import gzip
import json
from pathlib import Path
from typing import Any

LINE = 140  # most characters in a line of an answer
HERE = Path(__file__).parent
REPORTS, ANSWERS = HERE / "reports", HERE / "answers"

JSON = dict[str, Any]


def names() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in REPORTS.glob("*.json.gz"))


def report_path(name: str) -> Path:
    return REPORTS / f"{name}.json.gz"


def answer_path(name: str) -> Path:
    return ANSWERS / f"{name}.json"


def read(name: str) -> JSON:
    found: JSON = json.loads(gzip.decompress(report_path(name).read_bytes()))
    return found


def packed(golden: JSON) -> bytes:
    """Return compressed bytes that depend on the report alone, not on the time."""
    text = json.dumps(golden, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), 9, mtime=0)


def read_answer(name: str) -> JSON:
    found: JSON = json.loads(answer_path(name).read_text("utf-8"))
    return found


def text_of(answer: JSON) -> str:
    """Return readable JSON: a value that fits into a line stays in a single line."""
    return _lines(answer, "") + "\n"


def _lines(value: Any, indent: str) -> str:
    short = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict | list) or len(short) + len(indent) <= LINE:
        return short
    more = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(more + _lines(item, more) for item in value) + f"\n{indent}]"
    items = (f"{more}{json.dumps(key, ensure_ascii=False)}: {_lines(item, more)}" for key, item in value.items())
    return "{\n" + ",\n".join(items) + f"\n{indent}}}"
