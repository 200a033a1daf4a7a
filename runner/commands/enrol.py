"""Enrolment of this host by a one-time code: the doctor's checks, a new token in a file of mode 600, the site's word.

The token is made here and never leaves the host; the site gets its digest. The file is on disk before the code is
spent, so that a lost answer loses nothing: the same command with the same file repeats the request.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from runner.config import SiteSettings
from runner.daemon.client import client_of, persist
from runner.errors import ConfigError, SiteRefused, SiteUnreachable, Unauthorised
from runner.host.doctor import Check
from runner.wire import MOST_CHECKS, RUNNER_KIND, SHOWN_CHARS, DoctorLine, Enrolment

TOKEN_FILE: Final = Path("/etc/photofinish/enrolled.env")
PATIENCE_S: Final = 60.0  # for a site that does not answer
FOUND_CHARS: Final = 500
_NAME: Final = "RUNNER_TOKEN"


def enrol(settings: SiteSettings, code: str, file: Path, checks: Sequence[Check], wait: Callable[[float], bool]) -> str:
    """Become the runner of this code and return its name; the file then holds the runner's token.

    Raises ConfigError for an unusable file, SiteError if the site refuses or does not answer. `wait` sleeps between
    two tries and returns True to stop.
    """
    token, is_new = _token(settings, file)
    asked = Enrolment(
        code=code,
        hardware=settings.runner_hardware,
        token_prefix=token[: len(RUNNER_KIND) + SHOWN_CHARS],
        token_digest=hashlib.sha256(token.encode()).hexdigest(),
        checks=tuple(DoctorLine(one.name[:64], one.result, one.found[:FOUND_CHARS]) for one in checks[:MOST_CHECKS]),
    )
    with closing(client_of(settings)) as site:
        try:
            return persist(lambda: site.enrol(asked), wait, PATIENCE_S)
        except (SiteRefused, Unauthorised):
            if is_new:
                with suppress(OSError):
                    file.unlink()
            raise
        except SiteUnreachable as error:
            raise SiteUnreachable(f"{error}; repeat the command: {file} keeps the token of this request") from None


def _token(settings: SiteSettings, file: Path) -> tuple[str, bool]:
    """Return a new token after writing the file, or the token that an earlier request left there; and which it is."""
    token = RUNNER_KIND + secrets.token_urlsafe(32)
    site = {"PHOTOFINISH_URL": settings.photofinish_url, "RUNNER_HARDWARE": settings.runner_hardware}
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"--file: cannot write {file}: {error.strerror}; run this as root, or name a file") from None
    else:
        with open(fd, "w", encoding="utf-8") as out:
            out.write("".join(f"{name}={value}\n" for name, value in {**site, _NAME: token}.items()))
            out.flush()
            os.fsync(fd)
        return token, True
    try:
        known = dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--file: {file} cannot be read: {error}") from None
    token = known.pop(_NAME, "")
    if known != site or not token.startswith(RUNNER_KIND):
        raise ConfigError(f"--file: {file} exists and is not of this enrolment; remove it, or name another file")
    return token, False
