"""Pure: check that a file is Python text for a runner, by its name and bytes. This module neither parses nor runs it.

A syntax error passes these checks: the judge's verdict names its place.
"""

from __future__ import annotations

import re
from typing import Final

from leaderboard.errors import UserError
from runner.wire import MAX_SOURCE_BYTES

MAX_FILENAME_CHARS: Final = 100
MAX_WORD_CHARS: Final = 10_000  # letters, digits, _ and . in a row: Python's tokenizer takes 500 bytes for each
MAX_LINE_ESCAPES: Final = 10_000  # backslashes, which cost the tokenizer as much
LANGUAGES: Final = {".py": "Python", ".cu": "CUDA C++"}
_FILENAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. +-]*\.(py|cu)")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_LONG_WORD: Final = re.compile(rf"(?<![\w.])[\w.]{{{MAX_WORD_CHARS + 1}}}")
_MAGIC: Final = {
    b"\x7fELF": "a compiled program (ELF)",
    b"MZ": "a Windows program",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
}


def check_filename(name: str) -> str:
    if len(name) > MAX_FILENAME_CHARS:
        raise UserError("filename", name, f"{len(name)} characters; a name has at most {MAX_FILENAME_CHARS}")
    if "/" in name or "\\" in name:
        raise UserError("filename", name, "give the plain name of the file, without folders")
    if not name.endswith(tuple(LANGUAGES)):
        raise UserError("filename", name, "expected a source file: its name must end in .py, or in .cu")
    if not _FILENAME.fullmatch(name):
        raise UserError("filename", name, "use letters, digits and _ . + - only, starting with a letter, digit or _")
    return name


def check_language(name: str, wanted: str) -> None:
    """Check the ending of a file's name. `wanted` is the problem's submission name; its ending gives the language."""
    suffix = next((one for one in LANGUAGES if wanted.endswith(one)), ".py")
    if not name.endswith(suffix):
        said = f"this problem takes {LANGUAGES[suffix]}: the file's name must end in {suffix}"
        raise UserError("filename", name, said)


def read_source(data: bytes) -> str:
    """Return the text of an uploaded file; raise UserError if it is plainly not Python text."""
    if not data:
        raise UserError("code", "", "the file is empty")
    if len(data) > MAX_SOURCE_BYTES:
        raise UserError("code", None, f"{len(data):,} bytes; a submission has at most {MAX_SOURCE_BYTES:,}", status=413)
    for magic, what in _MAGIC.items():
        if data.startswith(magic) and b"\n" not in data[:2]:
            _refuse_binary(data, what)
    if b"\x00" in data:
        raise UserError("code", None, f"NUL byte at offset {data.index(0):,}; a Python source has none")
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            "code", None, f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start:,}; save the file as UTF-8"
        ) from None
    return _check_text(source)


def _refuse_binary(data: bytes, what: str) -> None:
    """Raise UserError if control bytes confirm a binary: a magic of two printable letters could begin honest text."""
    if _CONTROL.search(data[:4096].decode("latin-1")) or data[:1] in (b"\x89", b"\x93", b"%"):
        raise UserError("code", None, f"this is {what}, not Python source")


def _check_text(source: str) -> str:
    stripped = source.strip()
    if not stripped:
        raise UserError("code", "", "the file has only blanks")
    if stripped.startswith("<"):
        raise UserError("code", stripped[:40], "this looks like HTML or XML, not Python source")
    odd = _CONTROL.search(source)
    if odd:
        line = source.count("\n", 0, odd.start()) + 1
        raise UserError("code", None, f"control character 0x{ord(odd.group()):02x} in line {line}; not Python source")
    _check_words(source)
    return source


def _check_words(source: str) -> None:
    """Raise UserError for a text that needs hundreds of megabytes to read."""
    long = _LONG_WORD.search(source)
    if long:
        line, column = source.count("\n", 0, long.start()) + 1, long.start() - source.rfind("\n", 0, long.start())
        raise UserError(
            "code",
            long.group()[:40] + "…",
            f"a word or number of more than {MAX_WORD_CHARS:,} characters in line {line}, column {column}; "
            "break a long text into strings on several lines",
        )
    for number, text in enumerate(source.splitlines(), start=1):
        if text.count("\\") > MAX_LINE_ESCAPES:
            raise UserError(
                "code",
                text[:40] + "…",
                f"{text.count(chr(92)):,} backslashes in line {number}; at most {MAX_LINE_ESCAPES:,} in a line, "
                "so break a long text into strings on several lines",
            )
