"""The size of a request body is known or counted before Django stores it."""

import asyncio
import io
import json
from typing import Any

import pytest

LIMIT = 1000


def sent_to(
    body: bytes, *, chunk: int = 100, declared: bytes | None = None, accept: bytes = b"*/*"
) -> tuple[int, bytes, int]:
    """Return status, answer and the number of bytes of `body` that the application behind the limit has read."""
    from leaderboard.asgi import LimitBody

    parts = [body[start : start + chunk] for start in range(0, len(body), chunk)] or [b""]
    queue: list[Any] = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)} for number, part in enumerate(parts, 1)
    ]
    answers: list[Any] = []
    read = 0

    async def receive() -> Any:
        return queue.pop(0)

    async def send(event: Any) -> None:
        answers.append(event)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        nonlocal read
        more = True
        while more:
            event = await receive()
            if event["type"] == "http.disconnect":
                return
            read += len(event["body"])
            more = event["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    headers = [(b"accept", accept), *([] if declared is None else [(b"content-length", declared)])]
    asyncio.run(LimitBody(application, LIMIT)({"type": "http", "headers": headers}, receive, send))
    assert len(queue) == max(0, len(parts) - 11 * LIMIT // chunk), "a sender is heard out, within reason"
    (start, end) = answers
    return start["status"], end["body"], read


def test_what_fits_passes() -> None:
    assert sent_to(b"x" * LIMIT, declared=b"1000") == (200, b"ok", LIMIT)
    assert sent_to(b"x" * LIMIT) == (200, b"ok", LIMIT)


@pytest.mark.parametrize("declared", [b"1001", b"99999999999999", b"-1", b"many"])
def test_a_declared_length_over_it_never_reaches_the_application(declared: bytes) -> None:
    status, body, read = sent_to(b"x" * 1001, declared=declared)
    assert (status, read) == (413, 0)
    assert json.loads(body)["errors"][0]["field"] == "body"


def test_a_body_without_a_length_is_counted() -> None:
    status, _, read = sent_to(b"x" * 5_000)
    assert status == 413
    assert read <= LIMIT


def test_a_browser_gets_a_page() -> None:
    status, body, _ = sent_to(b"x" * 1001, declared=b"1001", accept=b"text/html,application/xhtml+xml,*/*;q=0.8")
    assert status == 413
    assert b"<!doctype html>" in body
    assert b"at most 1,000 bytes" in body


def test_an_endless_body_is_not_read_to_its_end() -> None:
    status, _, read = sent_to(b"x" * 100 * LIMIT, chunk=LIMIT)
    assert status == 413
    assert read <= LIMIT


@pytest.mark.parametrize("more", ["charset=unicode_escape", "charset=hex", "c*=none'x'%41", "charset=utf-8"])
def test_a_request_is_utf_8_whatever_its_head_claims(more: str) -> None:
    """Some of Python's codecs fail, and some make texts that the database refuses."""
    from leaderboard.asgi import BoundedHandler

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/search",
        "query_string": b"",
        "headers": [(b"content-type", f"multipart/form-data; boundary=b; {more}".encode()), (b"content-length", b"99")],
    }
    body = b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n\\ud800\r\n--b--\r\n'
    request, refusal = BoundedHandler().create_request(scope, io.BytesIO(body))
    assert refusal is None
    if more.startswith("charset"):  # else the parser of bodies refuses the head
        assert request.POST["q"] == "\\ud800"
