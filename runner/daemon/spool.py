"""Reports on disk: written before they are sent, removed once the site has them, sent again after a restart.

Owns RUNNER_STATE: `id` (names this runner's containers), `spool/*.json` (waiting), `aside/*` (damaged or refused, for
an operator to look at). A file appears under its final name only when it is whole on disk. No other process writes
here, and the folder is readable by its owner alone, since reports hold competitors' logs.
"""

import json
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from runner.errors import ConfigError
from runner.wire import MAX_REPORT_BYTES, Report, WireError, dump

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

ASIDE_FILES: Final = 50  # newest kept; the folder is for looking into a fault, not an archive
_SAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class Spooled:
    """Report on disk; without a path in memory alone, because the disk takes none."""

    path: Path | None
    report: Report


class Spool:
    """Folder of waiting reports. One runner process owns it."""

    def __init__(self, state: Path, limit_bytes: int) -> None:
        self._waiting = state / "spool"
        self._aside = state / "aside"
        self._limit_bytes = limit_bytes
        try:
            for folder in (state, self._waiting, self._aside):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = state / "id"  # of this runner's containers: made once, kept for ever
            known = name.read_text(encoding="ascii", errors="replace").strip() if name.exists() else ""
            self.runner_id = known if re.fullmatch(r"[a-z0-9]{1,32}", known) else secrets.token_hex(8)
            if self.runner_id != known:
                write_durably(name, self.runner_id.encode())
            for scrap in self._waiting.glob("*.tmp"):  # half-written when a runner died: not promised yet
                scrap.unlink()
        except OSError as error:
            why = f"{state} is not usable: {error.strerror}"
            raise ConfigError(f"RUNNER_STATE: {why}; give the runner a folder") from None

    def put(self, report: Report) -> Spooled:
        """Write a report, which survives a crash after this call.

        Over the limit the oldest reports are dropped: an attempt without a report is judged again after its lease. A
        full disk costs only the survival: the report can still be sent.
        """
        path = self._waiting / f"{_SAFE.sub('_', report.attempt_id)}.{report.token}.json"
        try:
            write_durably(path, dump(report).encode())
        except OSError as error:
            log.error("report_not_on_disk", attempt=report.attempt_id, error=str(error))
            return Spooled(None, report)
        files = _by_age(self._waiting.glob("*.json"))
        total = sum(file.stat().st_size for file in files)
        for file in files:
            if total > self._limit_bytes and file != path:
                total -= file.stat().st_size
                file.unlink()
        return Spooled(path, report)

    def waiting(self) -> list[Spooled]:
        """Return the reports of a former run, oldest first. Unreadable files are set aside, not deleted."""
        found = []
        for path in _by_age(self._waiting.glob("*.json")):
            try:
                if path.stat().st_size > MAX_REPORT_BYTES:
                    raise WireError("report", f"more than {MAX_REPORT_BYTES} bytes")
                found.append(Spooled(path, Report.from_json(json.loads(path.read_text(encoding="utf-8")))))
            except (OSError, ValueError):  # WireError and JSON errors are ValueErrors
                self._set_aside(path)
        return found

    def sent(self, item: Spooled) -> None:
        """Remove a report that the site has, or will never accept."""
        if item.path is not None:
            item.path.unlink(missing_ok=True)

    def refused(self, item: Spooled) -> None:
        """Set aside a report that the site refused: kept for an operator, never sent again."""
        if item.path is not None:
            self._set_aside(item.path)

    def _set_aside(self, path: Path) -> None:
        if path.exists():
            path.replace(self._aside / path.name)
        for old in _by_age(self._aside.iterdir())[:-ASIDE_FILES]:
            old.unlink()


def _by_age(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.stat().st_mtime_ns)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, also after power loss: write beside, fsync, rename, fsync the folder."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    scrap = path.with_name(path.name + ".tmp")
    descriptor = os.open(scrap, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scrap.replace(path)
    except OSError:  # a full disk: the half of a file would keep it full
        scrap.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
