"""The reader of a submission's file, for site, command line and judge at home. It neither parses nor runs the file.

A syntax error passes these checks: the judge's verdict names its place.
"""

import re
from pathlib import Path
from typing import Final

MAX_SOURCE_BYTES: Final = 1_000_000
MAX_WORD_CHARS: Final = 10_000  # letters, digits, _ and . in a row: Python's tokenizer takes 500 bytes for each
MAX_LINE_ESCAPES: Final = 10_000  # backslashes, which cost the tokenizer as much
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_LONG_WORD: Final = re.compile(rf"(?<![\w.])[\w.]{{{MAX_WORD_CHARS + 1}}}")
_FENCE: Final = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")  # of a code block in Markdown
_MAGIC: Final = {
    b"\x7fELF": "a compiled program (ELF)",
    b"MZ": "a Windows program",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
}


class SourceError(Exception):
    """A file that is no submission, with its faulty text (None: not to be shown) and the status of an HTTP answer."""

    def __init__(self, value: str | None, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.value = value
        self.message = message
        self.status = status


def read_file(path: Path) -> str:
    """Return the text of a file. Raises SourceError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise SourceError(None, f"cannot be read ({error.strerror})") from None
    if len(data) > MAX_SOURCE_BYTES:
        raise SourceError(None, f"a submission has at most {MAX_SOURCE_BYTES:,} bytes")
    return read_source(data)


def read_source(data: bytes) -> str:
    """Return the text of a file's bytes. Raises SourceError if it is plainly not Python text."""
    if not data:
        raise SourceError("", "the file is empty")
    if len(data) > MAX_SOURCE_BYTES:
        raise SourceError(None, f"{len(data):,} bytes; a submission has at most {MAX_SOURCE_BYTES:,}", status=413)
    # Control bytes confirm a binary: a magic of two printable letters could begin honest text.
    is_binary = data[:1] in (b"\x89", b"\x93", b"%") or _CONTROL.search(data[:4096].decode("latin-1"))
    for magic, what in _MAGIC.items():
        if is_binary and data.startswith(magic) and b"\n" not in data[:2]:
            raise SourceError(None, f"this is {what}, not Python source")
    if b"\x00" in data:
        raise SourceError(None, f"NUL byte at offset {data.index(0):,}; a Python source has none")
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, offset = data[error.start], error.start
        raise SourceError(None, f"not UTF-8: byte 0x{byte:02x} at offset {offset:,}; save the file as UTF-8") from None
    _check_text(source)
    return source


def _check_text(source: str) -> None:
    stripped = source.strip()
    if not stripped:
        raise SourceError("", "the file has only blanks")
    if stripped.startswith("<"):
        raise SourceError(stripped[:40], "this looks like HTML or XML, not Python source")
    odd = _CONTROL.search(source)
    if odd:
        line = source.count("\n", 0, odd.start()) + 1
        raise SourceError(None, f"control character 0x{ord(odd.group()):02x} in line {line}; not Python source")
    # A longer word or more backslashes would take hundreds of megabytes to read.
    long = _LONG_WORD.search(source)
    if long:
        line, column = source.count("\n", 0, long.start()) + 1, long.start() - source.rfind("\n", 0, long.start())
        raise SourceError(
            long.group()[:40] + "…",
            f"a word or number of more than {MAX_WORD_CHARS:,} characters in line {line}, column {column}; "
            "break a long text into strings on several lines",
        )
    for number, text in enumerate(source.splitlines(), start=1):
        if text.count("\\") > MAX_LINE_ESCAPES:
            raise SourceError(
                text[:40] + "…",
                f"{text.count(chr(92)):,} backslashes in line {number}; at most {MAX_LINE_ESCAPES:,} in a line, "
                "so break a long text into strings on several lines",
            )


def read_code(text: str) -> str:
    """Return the longest fenced code block of a model's answer; without a whole block, an unfinished block; or ""."""
    blocks: list[tuple[bool, int, str]] = []  # whether it is whole, its size, its text
    fence, lines = "", list[str]()
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if not fence:
            if match:
                fence, lines = match.group(1), []
        elif match and match.group(1).startswith(fence) and line.strip() == match.group(1):
            blocks.append((True, sum(map(len, lines)), "\n".join(lines)))
            fence = ""
        else:
            lines.append(line)
    if fence:
        blocks.append((False, sum(map(len, lines)), "\n".join(lines)))
    return max(blocks, key=lambda block: block[:2])[2].strip("\n") if blocks else ""
