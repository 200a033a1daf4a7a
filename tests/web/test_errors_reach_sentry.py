"""With SENTRY_DSN an error of a page is sent there, without the caller's token, cookie, form or source."""

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from queue import Queue

import httpx
import pytest

from tests.web.live_site import live_site

HEADERS = {"Authorization": "Bearer pf_a-token-of-ada", "X-Popcorn-Cli-Id": "pf_a-cli-id-of-ada"}
UNPACK = {None: bytes, "gzip": gzip.decompress, "br": lambda body: import_module("brotli").decompress(body)}
FORM = {"password": "password-of-ada", "source": "unpublished source"}


@pytest.fixture
def sentry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue[str]]:
    """Take the envelopes that an SDK sends."""
    envelopes: Queue[str] = Queue()

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            envelopes.put(UNPACK[self.headers.get("Content-Encoding")](body).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("SENTRY_DSN", f"http://key@127.0.0.1:{server.server_port}/1")
    yield envelopes
    server.shutdown()
    server.server_close()


@pytest.mark.django_db(transaction=True)
def test_an_error_is_sent_without_secrets(sentry: Queue[str]) -> None:
    with live_site("tests.web.failing_site:application") as site, httpx.Client(trust_env=False) as client:
        client.cookies.set("sessionid", "session-of-ada")
        assert client.post(f"{site.address}/fails", headers=HEADERS, data=FORM).status_code == 500
        envelope = sentry.get(timeout=20)
    assert "ValueError" in envelope
    assert "a bug beside" in envelope
    for secret in ("a-token-of-ada", "a-cli-id-of-ada", "session-of-ada", "password-of-ada", "unpublished"):
        assert secret not in envelope
