"""A real HTTP server that speaks the chat protocol of OpenAI, with answers that a test scripts."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# From the prompt and the number of the request, from 1: the text of the answer, or a status with headers and body.
Script = Callable[[str, int], str | tuple[int, dict[str, str], Any]]


class ChatServer:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.lock = threading.Lock()
        server = self

        class Handler(_Handler):
            chat = server

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket.settimeout(1.0)  # a client may be gone before it is accepted
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def prompts(self) -> list[str]:
        return [str(one["messages"][-1]["content"]) for one in self.requests]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def chat_server(script: Script) -> Iterator[ChatServer]:
    server = ChatServer(script)
    try:
        yield server
    finally:
        server.close()


def completion(text: str, **changes: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "cost": 0.001}
    return {"object": "chat.completion", "model": "scripted-1", "choices": [choice], "usage": usage} | changes


class _Handler(BaseHTTPRequestHandler):
    chat: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.chat.lock:
            self.chat.requests.append(body)
            self.chat.keys.append(self.headers.get("Authorization", ""))
            number = len(self.chat.requests)
        known = self.path == "/v1/chat/completions"
        told = self.chat.script(body["messages"][-1]["content"], number) if known else (404, {}, {})
        status, headers, answer = (200, {}, completion(told)) if isinstance(told, str) else told
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a client that has stopped waiting

    def log_message(self, format: str, *args: object) -> None:
        pass
