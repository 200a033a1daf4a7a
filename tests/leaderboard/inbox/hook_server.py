"""A webhook's server: a single request over TLS, with a certificate of its own for localhost."""

from __future__ import annotations

import socket
import ssl
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class HookServer:
    def __init__(self) -> None:
        self.answer, self.path, self.head, self.body = ANSWER, "", "", b""
        self.drips: threading.Event | None = None  # sends a byte of a header now and then until it is set
        self._folder = tempfile.TemporaryDirectory()
        self.certificate = str(Path(self._folder.name) / "certificate.pem")
        key = str(Path(self._folder.name) / "key.pem")
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate]
        subprocess.run(command, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._context = context
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> HookServer:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._socket.close()
        self._thread.join(5)
        self._folder.cleanup()

    def _serve(self) -> None:
        try:
            plain, _ = self._socket.accept()
            with self._context.wrap_socket(plain, server_side=True) as connection:
                self._read(connection)
                if self.drips is None:
                    connection.sendall(self.answer)
                    return
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not self.drips.wait(0.02):
                    connection.sendall(b"x")
        except OSError:
            return  # the client went away, or the test is over

    def _read(self, connection: ssl.SSLSocket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(4096)
        head, _, self.body = received.partition(b"\r\n\r\n")
        self.head = head.decode()
        lines = self.head.split("\r\n")
        self.path = lines[0].split(" ")[1]
        length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length"))
        while len(self.body) < length:
            self.body += connection.recv(4096)
