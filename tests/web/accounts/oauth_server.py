"""A small OAuth 2 provider on loopback that answers as GitHub, Discord and Google do."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt

CLIENT, SECRET = "photofinish-client", "a-client-secret-of-the-provider"


class Provider:
    """The person who is signed in at the provider is `person`; `denies`: they refuse the site."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {"id": 7, "name": "octo", "email": "octo@example.org", "verified": True}
        self.denies = False
        self.codes: dict[str, str] = {}  # → challenge
        self.tokens: set[str] = set()
        self.address = ""

    def authorize(self, query: dict[str, str]) -> str:
        assert query["client_id"] == CLIENT
        answer = {"state": query["state"]}
        if self.denies:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe()
            self.codes[answer["code"]] = query["code_challenge"]
        return f"{query['redirect_uri']}?{urlencode(answer)}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        challenge = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proved = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if challenge != proved or (form["client_id"], form["client_secret"]) != (CLIENT, SECRET):
            return None
        token = secrets.token_urlsafe()
        self.tokens.add(token)
        told = {"sub": str(self.person["id"]), "email": self.person["email"], "name": self.person["name"]}
        claims = {"iss": self.address, "aud": CLIENT, "exp": int(time.time()) + 60, "iat": int(time.time())}
        claims |= {"email_verified": self.person["verified"], **told}
        return {"access_token": token, "token_type": "bearer", "id_token": jwt.encode(claims, "x" * 32)}

    def profile(self, path: str) -> Any:
        person = self.person
        if path == "/user/emails":
            return [{"email": person["email"], "verified": person["verified"], "primary": True}]
        return {"id": person["id"], "login": person["name"], "username": person["name"]} | (
            {"email": person["email"], "verified": person["verified"]} if path == "/discord" else {}
        )


@contextmanager
def running() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self._send(
                    302, b"", provider.authorize({name: value for name, (value,) in parse_qs(parts.query).items()})
                )
            elif self.headers.get("Authorization", "").partition(" ")[2] in provider.tokens:
                self._send(200, json.dumps(provider.profile(parts.path)).encode())
            else:
                self._send(401, b"{}")

        def do_POST(self) -> None:
            sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            answer = provider.token({name: value for name, (value,) in sent.items()})
            self._send(200 if answer else 400, json.dumps(answer or {"error": "invalid_grant"}).encode())

        def _send(self, status: int, body: bytes, location: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
