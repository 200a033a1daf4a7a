"""Post messages to a person's webhook: in the format of Discord or Slack, or as signed JSON.

The address is a stranger's, so a post must not become a way into the operator's network. It is https on port 443, its
host is resolved at the time of sending, every address of the host must be public, and the connection goes to the
address that was checked. There are no redirects and no proxies. The answer's body is not read. Resolving ends after
RESOLVE_S, and a watchdog ends the whole exchange after TOTAL_S, however slowly the server sends.
"""

import hmac
import http.client
import json
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from threading import Thread, Timer
from typing import Any, Final
from urllib.parse import urlsplit

from leaderboard.inbox.models import DISCORD

PORT: Final = 443
RESOLVE_S: Final = 5.0
STEP_S: Final = 5.0
TOTAL_S: Final = 10.0
MOST_CHARS: Final = {DISCORD: 1_900}  # Discord refuses more than 2,000
USUAL_CHARS: Final = 3_000
_DISCORD_MARKS: Final = re.compile(r"([\\*_~`|>\[\]()#@<:-])")


class HookError(Exception):
    """A post that failed. Its text is for the person, and reveals nothing about the network.

    `is_final`: another try is pointless.
    """

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


def payload(form: str, lines: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the body of a post with these lines, each with its address. Names in them are text and never markup."""
    if form == DISCORD:
        text = "\n".join(f"{plain_in_discord(words)} {url}" for words, url in lines)
        return {"content": cut(text, MOST_CHARS[DISCORD]), "allowed_mentions": {"parse": []}}
    text = "\n".join(f"{plain_in_slack(words)} {url}" for words, url in lines)
    return {"text": cut(text, USUAL_CHARS), "mrkdwn": False}


def plain_in_discord(text: str) -> str:
    return _DISCORD_MARKS.sub(r"\\\1", text)


def plain_in_slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def signature(body: bytes, secrets: Sequence[str], *, time_s: int) -> str:
    """Return the header that proves the sender of a body: a time, and an HMAC of time and body for each secret."""
    signed = f"{time_s}.".encode() + body
    return ",".join([f"t={time_s}", *(f"v1={hmac.digest(one.encode(), signed, 'sha256').hex()}" for one in secrets)])


def post(address: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
    """Send a body to an address. Raises HookError."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "https" or parts.port not in (None, PORT):
        raise HookError("the address is not https", is_final=True)
    peer = public_address(host)
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    try:
        status = exchange(host, peer, path, encode(body), headers or {})
    except ssl.SSLCertVerificationError:
        raise HookError("its certificate is not valid") from None
    except (OSError, http.client.HTTPException):
        raise HookError("it does not answer") from None
    if not 200 <= status < 300:
        raise HookError(f"it answered {status}", is_final=status in (401, 403, 404, 410))


def public_address(host: str) -> str:
    """Return an address of the host. Raises HookError unless all of its addresses are public."""
    try:
        peers = resolve(host)
    except TimeoutError:
        raise HookError("its host's name is resolved too slowly") from None
    except (OSError, UnicodeError):
        raise HookError("its host has no address") from None
    if not peers or not all(is_public(peer) for peer in peers):
        raise HookError("its host is not on the public internet", is_final=True)
    return peers[0]


def resolve(host: str) -> list[str]:
    """Return the addresses of the host. Raises TimeoutError after RESOLVE_S.

    The system's resolver takes no limit. Its thread may outlive the call until the resolver gives up by itself.
    """
    found: Future[list[str]] = Future()

    def ask() -> None:
        try:
            found.set_result([str(row[4][0]) for row in socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)])
        except Exception as error:  # any: it belongs to the caller
            found.set_exception(error)

    Thread(target=ask, name="resolve", daemon=True).start()
    return found.result(RESOLVE_S)


def is_public(peer: str) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:  # with a zone, so link-local
        return False
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    teredo = getattr(address, "teredo", None)
    if inner is not None and not is_public(str(inner)):
        return False
    if teredo is not None or (address.version == 6 and str(address).startswith("64:ff9b:")):
        return False  # an IPv4 address inside, perhaps a private one
    if getattr(address, "is_site_local", False):  # of IPv6, and global to Python
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


class _Pinned(http.client.HTTPSConnection):
    """A connection to the checked address, under the host's name."""

    peer = ""
    is_cut_off = False

    def connect(self) -> None:
        plain = socket.create_connection((self.peer, self.port), timeout=STEP_S)
        # The watchdog must hold the socket before the handshake, which the server can draw out.
        sock = context().wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
        self.sock = sock
        sock.do_handshake()

    def cut_off(self) -> None:
        self.is_cut_off = True
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it has just ended


def context() -> ssl.SSLContext:
    return ssl.create_default_context()


def exchange(host: str, peer: str, path: str, body: bytes, more: Mapping[str, str]) -> int:
    connection = _Pinned(host, PORT, timeout=STEP_S)
    connection.peer = peer
    watchdog = Timer(TOTAL_S, connection.cut_off)
    watchdog.daemon = True
    watchdog.start()
    try:
        headers = {"Content-Type": "application/json", "User-Agent": "Photofinish", "Connection": "close"}
        connection.request("POST", path, body, headers | dict(more))
        status = connection.getresponse().status
        if connection.is_cut_off:  # a head that was cut reads like a whole one
            raise TimeoutError
        return status
    finally:
        watchdog.cancel()
        connection.close()
