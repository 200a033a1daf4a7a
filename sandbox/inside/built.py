"""Archive of the files that an import left, from the container that builds ahead to the submission's own tenant."""

import contextlib
import os
import stat
import tarfile

MOST_BYTES = 64 << 20  # of an archive
NS = "photofinish.ns"  # of a file in the archive: its time, which a tar archive itself rounds
LEVEL = 1  # of compression: it takes less time than the import


def pack(descriptor: int, folder: str, but: set[str]) -> None:
    """Write the regular files below a folder into an archive, without these paths and without Python's bytecode, which
    would go before the source that people read."""
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=LEVEL) as archive:
        for at, _, names in os.walk(folder):
            for path in sorted(os.path.join(at, name) for name in names if not name.endswith(".pyc")):
                found = os.lstat(path)
                if path in but or not stat.S_ISREG(found.st_mode):
                    continue
                with open(path, "rb") as content:
                    info = archive.gettarinfo(arcname=os.path.relpath(path, folder), fileobj=content)
                    info.pax_headers = {NS: str(found.st_mtime_ns)}
                    archive.addfile(info, content)
                if file.tell() > MOST_BYTES:
                    raise OSError(f"{folder} has more than {MOST_BYTES} compressed bytes")


def unpack(descriptor: int, folder: str) -> None:
    """Extract an archive of `pack`, as far as it can be read. File times stay to the ns: build tools go by them.

    It is as hostile as the submission, which can write all that this process can: no name in it is checked.
    """
    unreadable = contextlib.suppress(OSError, ValueError, tarfile.TarError, EOFError)
    with unreadable, os.fdopen(os.dup(descriptor), "rb") as file, tarfile.open(fileobj=file, mode="r:gz") as archive:
        for info in archive:
            archive.extract(info, folder)
            ns = int(info.pax_headers.get(NS, 0))
            os.utime(os.path.join(folder, info.name), ns=(ns, ns))
