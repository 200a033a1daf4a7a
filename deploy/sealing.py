"""Encrypted backups in the format of age: files that only the holder of a private key reads, who is not the site.

`age-keygen -o key.txt` makes a pair of keys on another machine. The site gets the public key, `age1…`, in
BACKUP_RECIPIENT. The private key is needed for a restore alone. Each report of a store is sealed by itself, so that a
backup adds new reports only.
"""

import gzip
import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final

from deploy.console import SetupError

SUFFIX: Final = ".age"
REPORT: Final = ".json.gz"
DAY_S: Final = 86_400.0
WHOLE: Final = 0.9  # share of the reports that a whole store has: some expire meanwhile


def recipient_of(text: str) -> Any:
    import pyrage

    try:
        return pyrage.x25519.Recipient.from_str(text.strip())
    except pyrage.RecipientError:
        remedy = "`age-keygen` prints one, age1…, as the public key"
        raise SetupError(f"BACKUP_RECIPIENT={text!r} is no public key of age: {remedy}") from None


def identity_of(file: str) -> Any:
    """Read the private key out of a file as age-keygen writes it."""
    import pyrage

    if not file:
        raise SetupError("the backup is encrypted: set BACKUP_IDENTITY to the file with its private key")
    try:
        lines = [line.strip() for line in Path(file).read_text().splitlines()]
        (key,) = [line for line in lines if line.startswith("AGE-SECRET-KEY-")]
        return pyrage.x25519.Identity.from_str(key)
    except OSError as error:
        raise SetupError(f"BACKUP_IDENTITY={file!r}: {error.strerror}") from None
    except (ValueError, pyrage.IdentityError):
        raise SetupError(f"BACKUP_IDENTITY={file!r} is no file with one private key of age") from None


@contextmanager
def sealed(target: IO[bytes], recipient: Any) -> Iterator[IO[bytes]]:
    """Give a file to write to; its content goes encrypted into `target` meanwhile."""
    import pyrage

    failures: list[Exception] = []

    def encrypt() -> None:
        with open(reading, "rb") as plain:
            try:
                pyrage.encrypt_io(plain, target, [recipient])
            except Exception as error:  # raised again below, in the writer's thread
                failures.append(error)

    reading, writing = os.pipe()
    worker = Thread(target=encrypt, name="age")
    worker.start()
    try:
        with suppress(BrokenPipeError), open(writing, "wb") as plain:
            yield plain
    finally:
        worker.join()
    if failures:
        raise SetupError(f"the backup could not be encrypted: {failures[0]}")


@contextmanager
def unsealed(file: Path, identity: Any) -> Iterator[IO[bytes]]:
    """Decrypt a file into a temporary file without a name, on the same disk, where it has room.

    No copy job finds the content, and it is gone with this process, however that ends.
    """
    import pyrage

    with ExitStack() as stack:
        try:
            plain = stack.enter_context(tempfile.TemporaryFile(dir=file.parent))
            with file.open("rb") as source:
                pyrage.decrypt_io(source, plain, [identity])
            plain.seek(0)  # writes what is left in its buffer
        except pyrage.DecryptError as error:
            raise SetupError(f"{file} is damaged, or not for this private key ({error}): nothing was changed") from None
        except OSError as error:
            raise SetupError(f"{file} could not be decrypted in {file.parent} ({error}): nothing was changed") from None
        yield plain


def copy_reports(store: Path, into: Path, recipient: Any, *, keep_days: int, expected: int) -> tuple[int, int]:
    """Seal the reports that the backup lacks; return the numbers of new ones and of all in the store.

    A copy's time says when its report was last in the store. Copies of reports that have left the store go after
    `keep_days`, like the backups of the database that refer to them. `expected`: reports that the database refers to;
    no copy goes while the store lacks a tenth of them.
    """
    import pyrage

    if not store.is_dir():
        raise SetupError(f"REPORT_STORE: {store} is not there; no report was backed up")
    new, total, now = 0, 0, time.time()
    for path in store.glob(f"??/*{REPORT}"):
        copy = into / path.parent.name / f"{path.name}{SUFFIX}"
        total += 1
        try:
            os.utime(copy, (now, now))
            continue
        except FileNotFoundError:
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # expired meanwhile
            part = copy.with_name(f".part-{copy.name}")
            part.write_bytes(pyrage.encrypt(path.read_bytes(), [recipient]))
            part.chmod(0o600)
            part.replace(copy)
            new += 1
    if total < WHOLE * expected:
        raise SetupError(f"{store} has {total} of {expected} reports: no copy was deleted; is the store whole?")
    for copy in list(into.glob(f"??/*{SUFFIX}")):
        if copy.stat().st_mtime < now - keep_days * DAY_S:
            copy.unlink()
    return new, total


def restore_reports(copies: Path, store: Path, identity: Any, *, is_drill: bool = False) -> tuple[int, list[str]]:
    """Put reports that the store lacks back from their copies; return their number, and the names of damaged copies.

    `is_drill`: read every copy, and put none back.
    """
    import pyrage

    if not store.is_dir():
        raise SetupError(f"REPORT_STORE: {store} is not there; make it, for the site's user")
    owner, restored, damaged = store.stat(), 0, []
    for copy in sorted(copies.glob(f"??/*{REPORT}{SUFFIX}")):
        path = store / copy.parent.name / copy.name.removesuffix(SUFFIX)
        if path.exists() and not is_drill:
            continue
        try:
            packed = pyrage.decrypt(copy.read_bytes(), [identity])
            whole = hashlib.sha256(gzip.decompress(packed)).hexdigest() == path.name.removesuffix(REPORT)
        except (pyrage.DecryptError, OSError, EOFError, zlib.error):
            whole = False
        if not whole:
            damaged.append(copy.name)
            continue
        restored += 1
        if is_drill:
            continue
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part = path.with_name(f".part-{path.name}")
        part.write_bytes(packed)
        part.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(part, owner.st_uid, owner.st_gid)
            os.chown(path.parent, owner.st_uid, owner.st_gid)
        part.replace(path)
    return restored, damaged
