"""A git server over TLS on localhost, by git's http-backend; some addresses redirect, want a password or hang."""

from __future__ import annotations

import os
import ssl
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAMED = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@x"}
CLEAN = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", **NAMED}


def run(folder: Path, *arguments: str, sent: str = "") -> str:
    told: dict[str, Any] = {"input": sent, "env": CLEAN, "capture_output": True, "text": True}
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, **told)
    return done.stdout.strip()


class GitServer:
    """`folder` holds the repositories; `requests` the paths that were asked for."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.requests: list[str] = []
        self.ended = threading.Event()
        self.certificate, key = str(self.folder / "certificate.pem"), str(self.folder / "key.pem")
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate]
        subprocess.run(command, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)

        class Handler(_Handler):
            server_of = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.host = f"localhost:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> GitServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    def address(self, path: str = "sets") -> str:
        return f"https://{self.host}/{path}"

    def commit(self, files: dict[str, str | bytes | None], name: str = "sets") -> str:
        """Write files, commit them, and return the commit; None: a symbolic link."""
        work = self.folder / name
        if not work.exists():
            work.mkdir()
            run(work, "init", "--quiet", "--initial-branch=main")
        for path, data in files.items():
            target = work / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if data is None:
                target.symlink_to("/etc/passwd")
            else:
                target.write_bytes(data.encode() if isinstance(data, str) else data)
        run(work, "add", "--all")
        run(work, "commit", "--quiet", "--message=x")
        return run(work, "rev-parse", "HEAD")


class _Handler(BaseHTTPRequestHandler):
    server_of: GitServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.server_of.requests.append(path)
        if path.startswith("/moved/"):
            self._answer(302, {"Location": self.path.replace("/moved/", "/sets/", 1)})
            return
        if path.startswith("/private/"):
            self._answer(401, {"WWW-Authenticate": 'Basic realm="git"'})
            return
        if path.startswith("/slow/"):
            self.server_of.ended.wait(20)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {
            "GIT_PROJECT_ROOT": str(self.server_of.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=CLEAN | told, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self._answer(int(fields.pop("Status", "200").split()[0]), fields, content)

    do_POST = do_GET

    def _answer(self, status: int, fields: dict[str, str], content: bytes = b"") -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return
