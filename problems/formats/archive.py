"""Unpacks an organiser's zip file into a folder: plain files inside that folder, and nothing else.

An archive's own figures are not trusted: bytes are counted while they are unpacked, and a name that climbs, a link, a
doubled name or a bomb refuses the whole archive.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

from problems.fields import ProblemError, shown

MAX_ZIP_BYTES: Final = 5_000_000
MAX_ENTRIES: Final = 5000  # files and folders
MAX_UNPACKED_BYTES: Final = 50_000_000  # of all files together
MAX_NAME_CHARS: Final = 300
MAX_LEVELS: Final = 16
_CHUNK_BYTES: Final = 65_536
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

DAMAGE: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError, OverflowError)


def unpack(data: bytes, into: Path) -> None:
    """Unpack the archive. Raises ProblemError, naming the file; the caller removes the files written until then."""
    if len(data) > MAX_ZIP_BYTES:
        fault = f"{len(data)} bytes, at most {MAX_ZIP_BYTES}; leave out what is no problem's text"
        raise ProblemError("archive", fault)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                most = f"at most {MAX_ENTRIES}; pack the set alone"
                raise ProblemError("archive", f"{len(entries)} files and folders, {most}")
            left = MAX_UNPACKED_BYTES
            for entry in entries:
                left -= _unpack(archive, entry, into / _checked_name(entry), left)
    except ProblemError:
        raise
    except DAMAGE as error:
        raise ProblemError("archive", f"is no zip file that can be read ({error}); pack the folder again") from error


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, most: int) -> int:
    """Write a file or folder; return its bytes. Raises ProblemError for more than `most` bytes."""
    try:
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            return 0
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = 0
        with archive.open(entry) as source, target.open("xb") as file:
            while chunk := source.read(_CHUNK_BYTES):
                copied += len(chunk)
                if copied > most:
                    fault = f"unpacks to more than {MAX_UNPACKED_BYTES} bytes; leave large files out"
                    raise ProblemError("archive", fault)
                file.write(chunk)
        return copied
    except OSError as error:  # a name that stands twice, or is both a file and a folder, or is too long
        raise ProblemError(shown(entry.filename), f"cannot be unpacked: {error.strerror}; rename it") from error


def _checked_name(entry: zipfile.ZipInfo) -> PurePosixPath:
    """Return the entry's path below the folder."""
    where = shown(entry.filename)
    name = PurePosixPath(entry.filename)
    mode = entry.external_attr >> 16
    if len(entry.filename) > MAX_NAME_CHARS or len(name.parts) > MAX_LEVELS:
        fault = f"a name of more than {MAX_NAME_CHARS} characters or {MAX_LEVELS} folders; shorten it"
        raise ProblemError(where, fault)
    written = entry.orig_filename
    is_plain = written.isprintable() and not set(written) & set('\\:*?"<>|')
    if name.is_absolute() or ".." in name.parts or not name.parts or not is_plain:
        raise ProblemError(where, "is no path inside the archive; pack the set's folder by its relative name")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ProblemError(where, "is a link or a device; put the file itself into the archive")
    if entry.flag_bits & 0x1:
        raise ProblemError(where, "is encrypted; pack it without a password")
    if entry.compress_type not in _METHODS:
        raise ProblemError(where, "is compressed in a way that is not read here; use plain zip (deflate)")
    return name
