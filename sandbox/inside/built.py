"""Archive of the files that a build ahead left, from its container to the submission's own tenant."""

import contextlib
import os
import stat
import tarfile
from collections.abc import Sequence

MOST_BYTES = 64 << 20  # of an archive
SPARE_BYTES = 8 << 20  # room that a last file may still need
NS = "photofinish.ns"  # of a file in the archive: its time, which a tar archive itself rounds
LEVEL = 1  # of compression: it takes less time than the import


class Archive:
    """An archive that is written to a descriptor, of files below one folder. A context manager."""

    def __init__(self, descriptor: int, folder: str) -> None:
        self._folder = folder
        self._file = os.fdopen(descriptor, "wb")
        self._archive = tarfile.open(fileobj=self._file, mode="w:gz", compresslevel=LEVEL)  # noqa: SIM115  __exit__

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._archive.close()
        self._file.close()

    def add(self, folder: str, but: Sequence[str] = (), most: int = MOST_BYTES) -> None:
        """Add the regular files below a folder as they are now, without these paths and what lies below them, and
        without Python's bytecode, which would go before the source that people read. Raises OSError if the archive has
        more than `most` bytes."""
        for at, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if os.path.join(at, name) not in but]
            for path in sorted(os.path.join(at, name) for name in names if not name.endswith(".pyc")):
                found = os.lstat(path)
                if path in but or not stat.S_ISREG(found.st_mode):
                    continue
                with open(path, "rb") as content:
                    info = self._archive.gettarinfo(arcname=os.path.relpath(path, self._folder), fileobj=content)
                    info.pax_headers = {NS: str(found.st_mtime_ns)}
                    self._archive.addfile(info, content)
                if self._file.tell() > most:
                    raise OSError(f"with {folder} the archive has more than {most} bytes")


def unpack(descriptor: int, folder: str) -> None:
    """Extract an archive, as far as it can be read. File times stay to the ns: build tools go by them.

    It is as hostile as the submission, which can write all that this process can: no name in it is checked.
    """
    unreadable = contextlib.suppress(OSError, ValueError, tarfile.TarError, EOFError)
    with unreadable, os.fdopen(os.dup(descriptor), "rb") as file, tarfile.open(fileobj=file, mode="r:gz") as archive:
        for info in archive:
            path = os.path.join(folder, info.name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # a loaded library must not change
            archive.extract(info, folder)
            ns = int(info.pax_headers.get(NS, 0))
            os.utime(path, ns=(ns, ns))
