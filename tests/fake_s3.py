"""A bucket over HTTP with what the store of reports needs of S3. Credentials are not checked."""

import threading
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

LISTED = "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>{}</ListBucketResult>"
ITEM = "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>x</ETag><Size>{}</Size></Contents>"


class FakeS3:
    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, datetime]] = {}  # "bucket/key" → content, time of writing
        self.fails = 0  # answers that are a 503, from now on
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None: ...

            def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = urlsplit(self.path)
                name = unquote(parts.path).strip("/")
                if fake.fails:
                    fake.fails -= 1
                    return self.answer(503)
                if self.command == "PUT":
                    if self.headers.get("Content-Encoding") == "aws-chunked":
                        sent = unchunked(sent)
                    fake.objects[name] = (sent, datetime.now(UTC))
                    return self.answer(200, ETag=f'"{md5(sent).hexdigest()}"')
                if self.command == "DELETE":
                    fake.objects.pop(name, None)
                    return self.answer(204)
                if "/" not in name:
                    return self.answer(200, fake.listed(name, parse_qs(parts.query).get("prefix", [""])[0]))
                if name not in fake.objects:
                    return self.answer(404)
                content, at = fake.objects[name]
                self.answer(200, content, ETag='"x"', Last_Modified=format_datetime(at, usegmt=True))

            do_GET = do_HEAD = do_PUT = do_DELETE = do

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def listed(self, bucket: str, prefix: str) -> bytes:
        keys = {name.removeprefix(f"{bucket}/"): value for name, value in self.objects.items()}
        items = [
            ITEM.format(quote(key), at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), len(content))
            for key, (content, at) in sorted(keys.items())
            if key.startswith(prefix)
        ]
        return LISTED.format("".join(items)).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def unchunked(sent: bytes) -> bytes:
    """Decode a body in signed chunks: length in hexadecimal digits, signature, content."""
    content = b""
    while True:
        line, _, sent = sent.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if not size:
            return content
        content, sent = content + sent[:size], sent[size + 2 :]
