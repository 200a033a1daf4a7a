"""Folders: the checkout, the state folder, the virtual environment. Standard library only.

`PHOTOFINISH_STATE` chooses the state folder; otherwise it is `state/` in the checkout. When root starts us from a
checkout that further users cannot enter, the servers' own users cannot either. Then state, environment and a copy of
the code go to `/var/lib/photofinish-<digest of the checkout's path>`, and the checkout stays as private as it was.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from deploy.parties import is_root, others_may_enter

CHECKOUT: Final = Path(__file__).resolve().parent.parent


def is_private() -> bool:
    """Return whether this checkout is closed to our parties, each of which has a uid of its own."""
    return is_root() and not others_may_enter(CHECKOUT)


def state_folder() -> Path:
    if chosen := os.environ.get("PHOTOFINISH_STATE"):
        return Path(chosen).expanduser().absolute()
    if is_private():
        return Path("/var/lib") / f"photofinish-{hashlib.sha256(os.fsencode(CHECKOUT)).hexdigest()[:12]}"
    return CHECKOUT / "state"


def environment_folder() -> Path:
    """Return the virtual environment."""
    return state_folder() / "venv" if is_private() else CHECKOUT / ".venv"


def code_folder() -> Path:
    """Return the folder from which the servers import: the checkout, or the copy that every user may read."""
    return state_folder() / "code" if is_private() else CHECKOUT
