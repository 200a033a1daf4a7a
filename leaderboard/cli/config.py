"""The site and its token: from PHOTOFINISH_URL and PHOTOFINISH_TOKEN if set, else from a file of mode 600 by `login`.

The options in main.py read the environment; this module owns the file. A token is never printed. It is never sent over
plain http to another machine without an explicit flag.
"""

import json
import os
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import urlsplit

import typer

DEFAULT_URL: Final = "http://127.0.0.1:8000"
MAX_FILE_BYTES: Final = 64_000


class CliError(Exception):
    """A failure of the command: a single sentence for a person, and an exit code."""

    exit_code: ClassVar[int]


class Misuse(CliError):
    """Wrong flag, file or setting, found before sending."""

    exit_code = 2


class Refused(CliError):
    """The site refuses: permission, input, quota or rate."""

    exit_code = 2

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class SiteProblem(CliError):
    """No answer, or an answer without meaning."""

    exit_code = 3


@dataclass(frozen=True, repr=False)
class Account:
    """A site and an optional token for it. It has no repr, so that no message can contain the token."""

    url: str = DEFAULT_URL
    token: str = ""
    insecure: bool = False


def config_path() -> Path:
    """Return the path in the user's configuration folder (XDG_CONFIG_HOME if set)."""
    return Path(typer.get_app_dir("photofinish")) / "config.json"


def resolve(url: str, token: str, insecure: bool) -> Account:
    """Combine flags or environment with the file; the file's token is only for the file's site."""
    kept = load()
    site = site_url(url) if url else kept.url
    known = kept.token if site == kept.url else ""
    return check_private(Account(site, check_token(token) if token else known, insecure or kept.insecure))


def load() -> Account:
    path = config_path()
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES)
        data = json.loads(text)
        return Account(site_url(str(data["url"])), check_token(str(data["token"])), data.get("insecure") is True)
    except FileNotFoundError:
        return Account()
    except OSError as error:
        raise Misuse(f"{path}: cannot be read ({error.strerror}); mend its rights, or set PHOTOFINISH_TOKEN") from None
    except (ValueError, KeyError, TypeError):
        raise Misuse(f"{path}: is damaged; run `photofinish login` to write it anew") from None


def save(account: Account) -> Path:
    """Write the file for its owner alone, atomically."""
    path = config_path()
    scrap = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scrap.unlink(missing_ok=True)
        descriptor = os.open(scrap, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(account), file, indent=2)
        scrap.replace(path)
    except OSError as error:
        raise Misuse(f"{path}: cannot be written ({error.strerror}); set PHOTOFINISH_TOKEN instead") from None
    return path


def forget() -> bool:
    """Remove the file; False: there was no file."""
    path = config_path()
    known = path.exists()
    path.unlink(missing_ok=True)
    return known


def site_url(value: str) -> str:
    try:
        parts = urlsplit(value.strip())
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits or parts.username or parts.password or parts.query or parts.fragment:
        raise Misuse(f"url: {value!r} is not an address such as https://photofinish.example; see --url")
    return value.strip().rstrip("/")


def check_token(value: str) -> str:
    """Return a token in the form of a header value. The error message does not repeat it."""
    token = value.strip()
    if not token or len(token) > 512 or not token.isascii() or not token.isprintable() or " " in token:
        raise Misuse("token: this is not a token; copy it whole from the site's token page (it begins with pf_)")
    return token


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_private(account: Account) -> Account:
    """Refuse to send a token unencrypted."""
    if account.token and not account.insecure and not account.url.startswith("https:") and not is_loopback(account.url):
        raise Misuse(
            f"url: {account.url} is not https, and a token sent there can be read on the way; "
            "use https, or --insecure where you trust the network"
        )
    return account
