"""Published data sets: an export a day in DATASET_FOLDER, of which everybody downloads the newest.

The sweeper makes it once a day. A release is a folder that is complete before it gets its name. A lock on the folder
keeps several sweepers apart, and ends with the process that holds it.
"""

import fcntl
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings

from leaderboard.dataset import folder as data_set
from leaderboard.dataset import parquet
from leaderboard.dataset.folder import CARD, About
from leaderboard.dataset.likeness import SPLITS
from leaderboard.operations.notices import tell_operators
from leaderboard.web.dataset import rows

MANIFEST: Final = "manifest.json"
PART: Final = ".part"
LOCK: Final = ".lock"
NAMES: Final = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
MOST_MANIFEST_BYTES: Final = 1_000_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class File:
    """A file of a release. `path`: below its folder."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Release:
    name: str
    made_at: str  # ISO 8601
    rows: dict[str, dict[str, int]]  # by table and split
    left_out: dict[str, dict[str, int]]  # by table and reason
    files: tuple[File, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def card(self) -> str:
        """Return the data card: YAML for the hub, then Markdown."""
        return (_top() / self.name / CARD).read_text(encoding="utf-8")

    def place_of(self, path: str) -> tuple[Path, File] | None:
        """Return where the file of this path lies; None: the release has no such file."""
        file = next((one for one in self.files if one.path == path), None)
        return (_top() / self.name / file.path, file) if file else None


def publish_due(*, now: datetime) -> str:
    """Make the release of the day unless it is there. Return its name; "": there was nothing to do."""
    top, name = _top(), f"{now:%Y-%m-%d}"
    if not settings.DATASET_FOLDER or (top / name).exists():
        return ""
    if not parquet.IS_INSTALLED:
        tell_operators("data_set_not_made", f"No data set was made: {parquet.MISSING}.", subject=name, now=now)
        return ""
    try:
        top.mkdir(parents=True, exist_ok=True)
        with _locked(top) as is_ours:
            if not is_ours or (top / name).exists():
                return ""
            _publish(top, name, now)
    except OSError as error:
        text = f"No data set was made: DATASET_FOLDER={top} cannot be written ({error.strerror})."
        tell_operators("data_set_not_made", text, subject=name, now=now)
        return ""
    return name


def newest() -> Release | None:
    """Return the newest complete release; None: this site publishes none."""
    if not settings.DATASET_FOLDER:
        return None
    for folder in sorted(_top().glob(NAMES), reverse=True):
        with suppress(OSError, ValueError, KeyError, TypeError):  # being removed
            return _read(folder)
    return None


def write(folder: Path, *, now: datetime) -> dict[str, Counter[str]]:
    """Write an export of this site into an empty folder. Return the number of rows by table, by split and left out."""
    text = (
        f"Kernels from {settings.SITE_URL}, exported on {now:%Y-%m-%d %H:%M} UTC. A judge outside the sandbox checked\n"
        "each on secret inputs and timed it beside a baseline. People can leave data sets at any time, so use the\n"
        "newest export.\n"
    )
    tables = {"kernels": rows.kernels(now), "rejected": rows.rejected(now)}
    return data_set.write(folder, tables, rows.split_keys(), About("Verified kernels", text, now))


def _publish(top: Path, name: str, now: datetime) -> None:
    part = top / PART
    if part.exists():  # of a process that was ended
        shutil.rmtree(part)
    part.mkdir()
    counts = write(part, now=now)
    files = []
    for path in sorted(path for path in part.rglob("*") if path.is_file()):
        with path.open("rb") as content:
            digest = file_digest(content, "sha256").hexdigest()
        files.append(File(path.relative_to(part).as_posix(), path.stat().st_size, digest))
    manifest = {
        "made_at": now.isoformat(),
        "rows": {table: {split: count[split] for split in SPLITS} for table, count in counts.items()},
        "left_out": {
            table: {kind: count[kind] for kind in count if kind not in SPLITS} for table, count in counts.items()
        },
        "files": [vars(file) for file in files],
    }
    (part / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    part.rename(top / name)
    for old in sorted(top.glob(NAMES))[: -settings.DATASETS_KEPT]:
        shutil.rmtree(old)
    log.info("data_set_made", name=name, rows=manifest["rows"])


def _read(folder: Path) -> Release:
    with (folder / MANIFEST).open("rb") as file:
        found: Mapping[str, Any] = json.loads(file.read(MOST_MANIFEST_BYTES))
    files = tuple(File(**one) for one in found["files"])
    return Release(folder.name, found["made_at"], found["rows"], found["left_out"], files)


@contextmanager
def _locked(top: Path) -> Iterator[bool]:
    """Hold the folder's lock. Yield whether this process has it."""
    with (top / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _top() -> Path:
    return Path(settings.DATASET_FOLDER)
