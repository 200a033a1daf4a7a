"""Fetch a folder of a git repository over https as a zip file, for the same reading as an uploaded archive.

git runs as a process with limits of time, memory and file size, and without the caller's environment and settings. It
speaks https alone and follows no redirect, so the connection stays with the host that the caller allows. It asks for no
password and runs no hook. There is no work tree: files come from the object store as they were committed, so no filter,
attribute or checkout touches them. A link, a submodule and a pointer of Git LFS refuse the folder.
"""

import io
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from problems.fields import ProblemError, shown
from problems.formats.files import MAX_ENTRIES, MAX_UNPACKED_BYTES, MAX_ZIP_BYTES

MAX_ADDRESS_CHARS: Final = 300
MAX_REF_CHARS: Final = 200
MAX_FOLDER_CHARS: Final = 300
MOST_PACK_BYTES: Final = 100_000_000  # of the repository's newest state
MOST_S: Final = 90.0  # for the transfer
MOST_READING_S: Final = 30.0
MOST_LISTED_BYTES: Final = 4_000_000  # of the folder's list of files
MOST_SAID_BYTES: Final = 64_000
TOO_MANY: Final = "it has too many files; name a folder inside"
_LIMITS: Final = (
    (resource.RLIMIT_AS, 2 << 30),
    (resource.RLIMIT_CPU, 60),
    (resource.RLIMIT_FSIZE, MOST_PACK_BYTES),
    (resource.RLIMIT_CORE, 0),
)
# Becomes git with its limits in force. A file beyond its limit ends the process, which Python would have ignored.
_LAUNCH: Final = f"""
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
for which, most in {_LIMITS!r}:
    resource.setrlimit(which, (most, most))
os.execv(sys.argv[1], sys.argv[1:])
"""
CONFIG: Final = (
    "protocol.allow=never",
    "protocol.https.allow=always",
    "http.followRedirects=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=20",
    "credential.helper=",
    "core.hooksPath=/dev/null",
    "core.bigFileThreshold=1m",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",  # one pack, whose size the limit bounds
    "transfer.fsckObjects=true",
)
_ENVIRONMENT: Final = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_NO_LAZY_FETCH": "1",
}
_PLACE: Final = r"[a-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~+-]+)*/?"
HOST: Final = re.compile(_PLACE)  # a host that an operator allows, perhaps with the beginning of a path
_ADDRESS: Final = re.compile(rf"https://({_PLACE})")
_REF: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
_FOLDER: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_. +-]*(?:/[A-Za-z0-9_.][A-Za-z0-9_. +-]*)*")
_LFS: Final = b"version https://git-lfs.github.com/"
_PLAIN_FILES: Final = (b"100644", b"100755")
_UNFIT: Final = {b"120000": "is a symbolic link; commit the file itself", b"160000": "is a submodule; leave it out"}
_FAULTS: Final = (  # in git's message → sentence
    ("invalid index-pack output", f"the repository has more than {MOST_PACK_BYTES:,} bytes, or it is damaged"),
    ("error: 30", "the address redirects; give the address that it leads to"),
    ("could not read Username", "there is no such repository, or it asks for a password; only public ones are read"),
    ("couldn't find remote ref", "there is no such branch, tag or commit"),
    ("not our ref", "there is no such commit, or no branch contains it"),
)


@dataclass(frozen=True)
class Source:
    address: str
    ref: str = ""  # branch, tag or commit; "": the default branch
    folder: str = ""  # "": the whole repository


@dataclass(frozen=True)
class Fetched:
    commit: str
    data: bytes  # of a zip file


def check_source(source: Source, allowed: Sequence[str]) -> None:
    """Check the form of a source, and its address against HOSTs. Raises ProblemError."""
    found = _ADDRESS.fullmatch(source.address) if len(source.address) <= MAX_ADDRESS_CHARS else None
    if found is None or _climbs(found[1]):
        text = f"{shown(source.address)} is no address such as https://github.com/team/problems"
        raise ProblemError("address", text)
    place = found[1]
    if not any(place == one or place.startswith(one.rstrip("/") + "/") for one in allowed):
        known = ", ".join(allowed) or "no host"
        raise ProblemError("address", f"the operator of this site allows {known}, not {shown(place)}")
    ref, folder = source.ref, source.folder
    if ref and not (len(ref) <= MAX_REF_CHARS and _REF.fullmatch(ref) and ".." not in ref):
        raise ProblemError("ref", f"{shown(ref)} is no name of a branch, a tag or a commit")
    if folder and not (len(folder) <= MAX_FOLDER_CHARS and _FOLDER.fullmatch(folder) and not _climbs(folder)):
        raise ProblemError("folder", f"{shown(folder)} is no path such as problems/spring")


def _climbs(path: str) -> bool:
    return any(part in (".", "..") for part in path.split("/"))


def fetch(source: Source) -> Fetched:
    """Fetch a source that check_source accepted. Raises ProblemError."""
    with tempfile.TemporaryDirectory(prefix="photofinish-git-") as place:
        _git(place, "init", "--quiet", "--bare")
        wanted = ["--", source.address, source.ref or "HEAD"]
        _git(place, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", *wanted, most_s=MOST_S)
        commit = _git(place, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").decode().strip()
        return Fetched(commit, _packed(_files(place, commit, source.folder)))


def _files(place: str, commit: str, folder: str) -> dict[str, bytes]:
    """Return the files of a folder by their path in it."""
    listed = _git(place, "ls-tree", "-r", "-l", "-z", "--full-tree", f"{commit}:{folder}", fault=_no_folder(folder))
    entries: dict[str, str] = {}
    left = MAX_UNPACKED_BYTES
    if len(listed) > MOST_LISTED_BYTES:
        raise ProblemError("folder", TOO_MANY)
    for line in listed.split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        mode, _, key, size = about.split()
        name = path.decode("utf-8", "replace")
        if mode not in _PLAIN_FILES:
            raise ProblemError(shown(name), _UNFIT.get(mode, "is no plain file"))
        entries[name] = key.decode()
        left -= int(size)
        if left < 0 or len(entries) > MAX_ENTRIES:
            most = f"{MAX_ENTRIES:,} files of {MAX_UNPACKED_BYTES:,} bytes together"
            raise ProblemError("folder", f"it has more than {most}; name a folder inside")
    if not entries:
        raise ProblemError("folder", "it is empty")
    asked = "".join(f"{key}\n" for key in entries.values()).encode()
    answer = io.BytesIO(_git(place, "cat-file", "--batch", sent=asked, most_s=MOST_READING_S))
    files = {}
    for name in entries:
        files[name] = answer.read(int(answer.readline().split()[2]))
        answer.read(1)  # the line's end after each
        if files[name].startswith(_LFS):
            raise ProblemError(shown(name), "is kept in Git LFS, which is not fetched; commit the file itself")
    return files


def _packed(files: dict[str, bytes]) -> bytes:
    """Return a zip file that is the same for the same files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    data = target.getvalue()
    if len(data) > MAX_ZIP_BYTES:
        raise ProblemError("folder", f"it packs to more than {MAX_ZIP_BYTES:,} bytes; name a folder inside")
    return data


def _no_folder(folder: str) -> str:
    return f"there is no folder {shown(folder)} at that commit" if folder else "it has no files"


def _git(place: str, *arguments: str, sent: bytes = b"", most_s: float = MOST_READING_S, fault: str = "") -> bytes:
    """Run git in a bare repository and return its output. Raises ProblemError; `fault`: the sentence for a failure."""
    program = shutil.which("git", path=os.defpath)
    if program is None:
        raise ProblemError("address", "git is not installed on this site's host; its operator can add it")
    settings = [part for one in CONFIG for part in ("-c", one)]
    # Output goes to files, which the limit bounds: a listing can be far longer than the repository.
    with tempfile.TemporaryFile(dir=place) as output, tempfile.TemporaryFile(dir=place) as said:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, program, *settings, "--git-dir", place, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=said,
            cwd=place,
            env={"PATH": os.defpath, "HOME": place, **_ENVIRONMENT},
            start_new_session=True,
        )
        try:
            process.communicate(sent, timeout=most_s)
        except subprocess.TimeoutExpired:
            text = f"it took longer than {most_s:.0f} s; try again, or use a smaller repository"
            raise ProblemError("address", text) from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)  # the whole session, with its children
                process.wait()
        output.seek(0)
        if process.returncode == 0:
            return output.read()
        if process.returncode == -signal.SIGXFSZ:
            raise ProblemError("folder", TOO_MANY)
        said.seek(0)
        text = said.read(MOST_SAID_BYTES).decode("utf-8", "replace")
    known = next((sentence for mark, sentence in _FAULTS if mark in text), fault)
    lines = [line.removeprefix("fatal: ") for line in text.splitlines() if line.startswith("fatal: ")]
    why = known or f"git could not read it ({shown(lines[-1]) if lines else 'it gave no reason'})"
    raise ProblemError("folder" if fault and known == fault else "address", why)
