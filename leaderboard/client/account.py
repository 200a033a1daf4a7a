"""A site with an optional token for it, and the errors of the client. Each error is a single sentence for a person.

A token never goes over plain http to another machine without a flag.

ClientError
├── Misuse       wrong input, found before a request was sent
├── Refused      the site refuses: permission, input, quota or rate; `code` and `status` name the cause for programs
└── SiteProblem  no answer, or an answer without meaning
"""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

DEFAULT_URL: Final = "http://127.0.0.1:8000"


class ClientError(Exception):
    """Root of the client's errors."""


class Misuse(ClientError):
    """Wrong flag, file or setting, found before sending."""


class Refused(ClientError):
    """The site refuses. docs/http.md lists the codes; `errors` names each wrong field."""

    def __init__(
        self,
        message: str,
        status: int,
        code: str = "",
        errors: list[dict[str, Any]] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.errors = errors or []
        self.retry_after_s = retry_after_s


class SiteProblem(ClientError):
    """No answer, or an answer without meaning."""


@dataclass(frozen=True, repr=False)
class Account:
    """A site and an optional token for it. It has no repr, so that no message can contain the token."""

    url: str = DEFAULT_URL
    token: str = ""
    insecure: bool = False


def site_url(value: str) -> str:
    try:
        parts = urlsplit(value.strip())
        httpx.URL(value.strip())  # refuses more, such as control characters
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except (ValueError, httpx.InvalidURL):
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
