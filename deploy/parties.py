"""Users and folders of the processes on this machine. Standard library only.

Where we are root, each party has a uid; otherwise everything runs as the caller. Owns: the system users `photofinish-…`
and the files that carry secrets. Always true: a secret lies in a file of mode 600 that belongs to the party that reads
it, and never on a command line. The runner has no user of its own here: it needs the Docker engine and the freezer
cgroup, which amount to root.

`PHOTOFINISH_STATE` chooses the state folder; otherwise it is `state/` in the checkout. When root starts us from a
checkout that further users cannot enter, the servers' own users cannot either. Then state, environment and a copy of
the code go to `/var/lib/photofinish-<digest of the checkout's path>`, and the checkout stays as private as it was.
"""

import hashlib
import os
import pwd
import secrets
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deploy.console import SetupError, captured

CHECKOUT: Final = Path(__file__).resolve().parent.parent
DATABASE: Final = "photofinish-db"
BROKER: Final = "photofinish-broker"
SITE: Final = "photofinish-site"

# The kernel takes 107 bytes for the path of a unix socket; this leaves room for the name of the socket in its folder.
MAX_SOCKET_PATH_BYTES: Final = 100


@dataclass(frozen=True)
class Party:
    """A name and the ids that its processes get; the caller's own ids where we are not root."""

    name: str
    uid: int
    gid: int

    def popen_ids(self) -> dict[str, Any]:
        """Return arguments of subprocess.Popen that make the child this party."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def is_root() -> bool:
    return os.geteuid() == 0


def myself() -> Party:
    return Party("myself", os.geteuid(), os.getegid())


def party(name: str) -> Party:
    """Return the party of that name; as root, create its system user if it is missing."""
    if not is_root():
        return myself()
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        done = captured(useradd_command(name))
        try:
            entry = pwd.getpwnam(name)  # a concurrent run may have created it at the same moment
        except KeyError:
            raise SetupError(f"could not create the system user {name}: {done.stderr.strip()}") from None
    return Party(name, entry.pw_uid, entry.pw_gid)


def useradd_command(name: str) -> list[str]:
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    return ["useradd", *options, "--shell", "/usr/sbin/nologin", name]


def others_may_read(path: Path) -> bool:
    """Return whether every user can reach and read `path`: x on each parent, r (and x on a folder) on itself."""
    path = path.resolve()
    own = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
    return path.stat().st_mode & own == own and others_may_enter(path.parent)


def others_may_enter(folder: Path) -> bool:
    """Return whether every user can traverse `folder` and all above it; the nearest existing folder counts."""
    folder = folder.resolve()
    while not folder.exists():
        folder = folder.parent
    return all(step.stat().st_mode & stat.S_IXOTH for step in (folder, *folder.parents))


def own_folder(path: Path, owner: Party, mode: int = 0o700) -> Path:
    """Make `path` a folder of that owner and mode, created with its parents where missing."""
    path.mkdir(parents=True, exist_ok=True)
    if is_root():
        os.chown(path, owner.uid, owner.gid)
    path.chmod(mode)
    return path


def write_private(path: Path, text: str, owner: Party) -> None:
    """Replace `path` in one step by `text`, mode 600: only its owner can read it, also in between."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        if is_root():
            os.fchown(file.fileno(), owner.uid, owner.gid)
    Path(temporary).replace(path)


def kept_secret(path: Path, owner: Party) -> str:
    """Return the secret in `path`, made on first use."""
    if path.exists():
        return path.read_text().strip()
    secret = secrets.token_urlsafe(48)  # Django asks for 50 characters, which this exceeds
    write_private(path, secret + "\n", owner)
    return secret


def socket_folder(wanted: Path, longest_name: str) -> Path:
    """Return `wanted` where a socket fits into it, else a short folder whose name is derived from it."""
    if len(os.fsencode(wanted / longest_name)) <= MAX_SOCKET_PATH_BYTES:
        return wanted
    digest = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]
    base = Path("/run") if is_root() else Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"photofinish-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    parties = [entry.pw_uid for entry in pwd.getpwall() if is_root() and entry.pw_name in (DATABASE, BROKER, SITE)]
    if folder.is_symlink() or folder.stat().st_uid not in (0, os.geteuid(), *parties):
        raise SetupError(f"{folder} belongs to someone else: remove it, or choose a shorter PHOTOFINISH_STATE")
    return folder


def is_private() -> bool:
    """Return whether this checkout is closed to our parties, each of which has a uid of its own."""
    return is_root() and not others_may_enter(CHECKOUT)


def state_folder() -> Path:
    if chosen := os.environ.get("PHOTOFINISH_STATE"):
        return Path(chosen).expanduser().absolute()
    if is_private():
        return Path("/var/lib") / f"photofinish-{hashlib.sha256(os.fsencode(CHECKOUT)).hexdigest()[:12]}"
    return CHECKOUT / "state"


def code_folder() -> Path:
    """Return the folder from which the servers import: the checkout, or the copy that every user may read."""
    return state_folder() / "code" if is_private() else CHECKOUT
