"""The store of reports: immutable contents by the SHA-256 of their bytes, in a folder or an S3 bucket (REPORT_STORE).

A content lies compressed under its digest, which every read compares. Writing is atomic, and repeating it repairs a
damaged content. The store knows no database: archive.py has the rows that refer to it.
"""

import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from django.conf import settings

from leaderboard.errors import StoreAway

MOST_BYTES: Final = 64_000_000  # of a content: a report of 16 MB, with numbers written in full
SUFFIX: Final = ".json.gz"
PART: Final = ".part-"  # beginning of the name of a file that is being written
SLICES: Final = "0123456789abcdef"  # a sweep looks at the contents of one first digit at a time


class Damaged(Exception):
    """A content whose bytes do not have its digest."""


class Place(Protocol):
    """Where compressed contents lie. OSError: the place does not answer, or is full."""

    def put(self, name: str, data: bytes) -> None: ...
    def get(self, name: str) -> bytes | None:
        """Return the bytes; None if the place does not have them."""

    def delete(self, name: str) -> None: ...
    def names(self, digit: str) -> Iterator[tuple[str, datetime]]:
        """Yield the name and the time of writing of each content whose digest begins with this digit."""


class Folder:
    def __init__(self, root: str) -> None:
        self.root = Path(root)

    def put(self, name: str, data: bytes) -> None:
        self._require()
        path = self.root / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=PART)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
        for folder in (path.parent, self.root):  # the names are on the disk, too, before a row refers to them
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

    def get(self, name: str) -> bytes | None:
        self._require()
        try:
            with (self.root / name).open("rb") as file:
                return file.read(MOST_BYTES)
        except FileNotFoundError:
            return None

    def _require(self) -> None:
        """A disk that is not mounted has lost no report, and takes none."""
        if not self.root.is_dir():
            raise FileNotFoundError(f"REPORT_STORE: {self.root} is not there; make it, for the site's user")

    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    def names(self, digit: str) -> Iterator[tuple[str, datetime]]:
        for folder in sorted(self.root.glob(f"{digit}?")):
            for entry in os.scandir(folder):
                with suppress(FileNotFoundError):  # another sweeper was faster
                    written_at = datetime.fromtimestamp(entry.stat().st_mtime, UTC)
                    if entry.name.startswith(PART) and written_at < datetime.now(UTC) - timedelta(days=1):
                        os.unlink(entry)  # of a process that was killed while it wrote
                    yield f"{folder.name}/{entry.name}", written_at


class Bucket:
    """A bucket of S3 or of a compatible service. boto3 reads endpoint and credentials from AWS's variables."""

    def __init__(self, bucket: str, prefix: str) -> None:
        from botocore.config import Config  # of the extra `s3`
        from storages.backends.s3 import S3Storage

        config = Config(connect_timeout=3, read_timeout=10, retries={"max_attempts": 3, "mode": "standard"})
        self._storage: Any = S3Storage(
            bucket_name=bucket, location=prefix, file_overwrite=True, default_acl=None, client_config=config
        )
        self._prefix = f"{prefix}/" if prefix else ""

    def put(self, name: str, data: bytes) -> None:
        from django.core.files.base import ContentFile

        with _bucket_errors():
            self._storage.save(name, ContentFile(data))

    def get(self, name: str) -> bytes | None:
        with _bucket_errors():
            try:
                with self._storage.open(name) as file:
                    return bytes(file.read(MOST_BYTES))
            except FileNotFoundError:
                return None

    def delete(self, name: str) -> None:
        with _bucket_errors():
            self._storage.delete(name)

    def names(self, digit: str) -> Iterator[tuple[str, datetime]]:
        with _bucket_errors():
            for item in self._storage.bucket.objects.filter(Prefix=f"{self._prefix}{digit}"):
                yield item.key.removeprefix(self._prefix), item.last_modified


class _bucket_errors:
    """Turn boto3's errors into OSError."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        if isinstance(error, BotoCoreError | ClientError):
            raise OSError(f"the bucket does not answer: {error}") from error


@cache
def place_of(url: str) -> Place:
    """Return the place at this address: file:///folder or s3://bucket/prefix."""
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return Bucket(parts.netloc, unquote(parts.path).strip("/"))
    return Folder(unquote(parts.path))


def is_configured() -> bool:
    return bool(settings.REPORT_STORE)


def put(content: bytes) -> str:
    """Keep a content on the disk or in the bucket, and return its digest. Raises StoreAway."""
    digest = hashlib.sha256(content).hexdigest()
    try:
        place_of(settings.REPORT_STORE).put(name_of(digest), gzip.compress(content, compresslevel=6, mtime=0))
    except OSError as error:
        raise StoreAway(str(error)) from error
    return digest


def get(digest: str) -> bytes | None:
    """Return the content; None if it is missing. Raises Damaged or StoreAway."""
    if not is_configured():
        raise StoreAway("REPORT_STORE is not set, but reports lie in a store")
    try:
        packed = place_of(settings.REPORT_STORE).get(name_of(digest))
    except OSError as error:
        raise StoreAway(str(error)) from error
    return None if packed is None else unpack(packed, digest)


def unpack(packed: bytes, digest: str) -> bytes:
    """Return the content of a stored file. Raises Damaged if it does not have this digest, or is too large."""
    reader = zlib.decompressobj(wbits=31)  # gzip's
    try:
        content = reader.decompress(packed, MOST_BYTES)
    except zlib.error as error:
        raise Damaged(str(error)) from error
    if not reader.eof or hashlib.sha256(content).hexdigest() != digest:
        raise Damaged("its bytes do not have its digest")
    return content


def delete(digest: str) -> None:
    """Delete a content that no row needs. Raises StoreAway."""
    try:
        place_of(settings.REPORT_STORE).delete(name_of(digest))
    except OSError as error:
        raise StoreAway(str(error)) from error


def older(digit: str, before: datetime) -> Iterator[str]:
    """Yield the digests of contents, with this first digit, that were written before a time. Raises StoreAway."""
    try:
        for name, written_at in place_of(settings.REPORT_STORE).names(digit):
            if written_at < before and name.endswith(SUFFIX):
                yield Path(name).name.removesuffix(SUFFIX)
    except OSError as error:
        raise StoreAway(str(error)) from error


def name_of(digest: str) -> str:
    return f"{digest[:2]}/{digest}{SUFFIX}"
