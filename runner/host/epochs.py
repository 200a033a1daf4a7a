"""Storage per timing epoch below the runner's state folder: the ceilings that `runner bench` measured.

Owns RUNNER_STATE/ceilings/*.json, a file per epoch, whole or absent.
"""

import json
import logging
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from runner.config import JudgeSettings
from runner.daemon.spool import write_durably
from runner.errors import ConfigError
from runner.evidence.ceilings import Ceilings, unmeasured
from runner.host.accelerators import make_of

log = logging.getLogger("runner.host.epochs")

FOLDER: Final = "ceilings"
_EPOCH: Final = re.compile(r"[A-Za-z0-9:_-]{1,80}")


def make_room(settings: JudgeSettings) -> None:
    """Create the folder for ceilings. Raises ConfigError before any measurement if it cannot be written."""
    folder = settings.runner_state / FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unkept(folder, error) from None


def keep_ceilings(settings: JudgeSettings, ceilings: Ceilings) -> Path:
    """Store the epoch's ceilings in place of the former file and return its path. Raises ConfigError if it cannot be
    written."""
    path = _path(settings, ceilings.epoch)
    try:
        write_durably(path, json.dumps(ceilings.to_json(), indent=1, allow_nan=False).encode())
        if settings.runner_judge_user:  # it reads them (runner/host/helper.py)
            path.chmod(0o644)
            path.parent.chmod(0o711)
    except OSError as error:
        raise _unkept(path, error) from None
    return path


def _unkept(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"RUNNER_STATE: cannot write {path}: {error.strerror}; give the runner a folder")


def stored_ceilings(settings: JudgeSettings, epoch: str) -> Ceilings | None:
    """Return the ceilings measured in this epoch; None if there are none, or the file cannot be read (the log gives the
    reason)."""
    path = _path(settings, epoch)
    try:
        return Ceilings.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:  # ProblemError and JSON errors are ValueErrors
        log.warning("%s cannot be read (%s): run `runner bench` again", path, error)
        return None


def ceilings_for(
    settings: JudgeSettings, hardware: str, epoch: str, fingerprint: Mapping[str, str | int]
) -> Ceilings | None:
    """Return the bounds of a job here: measured in this epoch, else from the data sheet of its GPU, else None."""
    name, max_mhz = device_name(hardware, fingerprint), int(fingerprint.get("max_sm_mhz") or 0)
    return stored_ceilings(settings, epoch) or unmeasured(hardware, name, epoch=epoch, max_mhz=max_mhz)


def device_name(hardware: str, fingerprint: Mapping[str, str | int]) -> str:
    return str(fingerprint.get("cpu" if make_of(hardware).on_host else "gpu", ""))


def _path(settings: JudgeSettings, epoch: str) -> Path:
    if not _EPOCH.fullmatch(epoch):
        raise ConfigError(f"epoch {epoch!r} is no name of an epoch: letters, digits, : _ and - (at most 80)")
    return settings.runner_state / FOLDER / f"{epoch.replace(':', '-')}.json"
