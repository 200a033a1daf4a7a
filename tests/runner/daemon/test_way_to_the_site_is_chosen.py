"""Connection to the site: a private authority's certificate and a proxy count only where settings name them."""

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runner.config import DaemonSettings, load
from runner.daemon.client import SiteClient, client_of
from runner.errors import ConfigError, SiteUnreachable
from runner.wire import Software
from tests.runner.fake_site import TOKEN, FakeSite


class _Empty(BaseHTTPRequestHandler):
    """HTTP server that is a site without work, and a proxy that answers for any site."""

    def do_POST(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Empty)
    server.asked = []  # type: ignore[attr-defined]
    yield server
    server.shutdown()
    server.server_close()


def serve(server: ThreadingHTTPServer) -> int:
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server.server_address[1]


def client(url: str, **changes: object) -> SiteClient:
    return client_of(DaemonSettings(photofinish_url=url, runner_token=TOKEN, broker_url="unix:///x", **changes))


def test_ca_file_lets_a_private_authority_in_and_nothing_else_does(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{serve(server)}"
    assert client(url, runner_ca_file=certificate).claim("cpu", Software()) is None
    with pytest.raises(SiteUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        client(url).claim("cpu", Software())
    with pytest.raises(ConfigError, match=r"RUNNER_CA_FILE: .*key\.pem"):
        client(url, runner_ca_file=key)


def test_proxy_is_used_where_it_is_named_and_not_because_the_environment_has_one(
    server: ThreadingHTTPServer, site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = f"http://127.0.0.1:{serve(server)}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    assert client(site.url).claim("cpu", Software()) is None
    assert (site.claims, server.asked) == (1, [])  # type: ignore[attr-defined]
    assert client("http://site.invalid", runner_proxy=proxy).claim("cpu", Software()) is None
    assert server.asked == ["http://site.invalid/api/runner/v1/claim"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("broker", "insecure", "good"),
    [
        ("redis://runner:hush@broker.example:6379/0", "0", False),
        ("redis://runner:hush@broker.example:6379/0", "1", True),
        ("redis://10.0.0.7", "0", False),
        ("rediss://runner:hush@broker.example", "0", True),
        ("redis://runner:hush@127.0.0.1:6380", "0", True),
        ("redis://[::1]:6380", "0", True),
        ("unix://runner:hush@/run/valkey.sock", "0", True),
        ("amqp://runner:hush@broker.example", "0", False),
        ("amqp://runner:hush@broker.example", "1", True),
        ("amqp://runner:hush@localhost/photofinish", "0", True),
        ("amqps://runner:hush@broker.example", "0", True),
        ("", "0", True),
    ],
)
def test_broker_url_in_the_clear_is_for_this_machine_only(
    monkeypatch: pytest.MonkeyPatch, state: Path, broker: str, insecure: str, good: bool
) -> None:
    monkeypatch.setenv("PHOTOFINISH_URL", "https://site.example")
    monkeypatch.setenv("BROKER_URL", broker)
    monkeypatch.setenv("RUNNER_INSECURE", insecure)
    if good:
        assert load().broker_url.get_secret_value() == broker
        return
    with pytest.raises(ConfigError, match=r"BROKER_URL: .*rediss:// or amqps://, a tunnel") as caught:
        load()
    assert "hush" not in str(caught.value)
