"""/api/v1 of the site (docs/http.md): one method per call. Answers are checked for shape only; their text is untrusted.

Reads are tried a few times, and so are submissions: the Idempotency-Key keeps a submission from being judged twice.
Every other act is sent once.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import httpx
from httpx_sse import EventSource, SSEError

from .config import Account, CliError, Misuse, Refused, SiteProblem, is_loopback

JSON = dict[str, Any]

TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)  # seconds
STREAM_TIMEOUT: Final = httpx.Timeout(10.0, read=40.0)  # the site sends a message every 15 s
MAX_ANSWER_BYTES: Final = 8_000_000
ENTRIES_AT_ONCE: Final = 1_000  # maximum of the site
TRIES: Final = 4
BACKOFF_CAP_S: Final = 5.0
_OUR_PATHS: Final = re.compile(r"(?<!\S)/(?:tokens|submissions|competitions|boards|review|sign-in|sign-up|api)\b")


@dataclass(frozen=True)
class ServerEvent:
    """An event of a submission's stream."""

    id: str
    kind: str  # "state", "progress", "done"
    data: JSON


class Api:
    """A connection to a site as a user."""

    def __init__(self, account: Account) -> None:
        headers = {"User-Agent": "photofinish-cli", "Accept": "application/json"}
        if account.token:
            headers["Authorization"] = f"Bearer {account.token}"
        self.url = account.url
        self._has_token = bool(account.token)
        self._http = httpx.Client(
            base_url=f"{account.url}/api/v1",
            headers=headers,
            timeout=TIMEOUT,
            follow_redirects=False,
            trust_env=not is_loopback(account.url),  # a proxy cannot reach this machine's loopback
        )

    def close(self) -> None:
        self._http.close()

    def address(self, path: object) -> str:
        """Return the full address of a path from the site, for example /submissions/26; "" for an empty path."""
        text = str(path or "")
        return f"{self.url}{text}" if text.startswith("/") and not text.startswith("//") else text

    def me(self) -> JSON:
        self.need_token()
        return _mapping(self._get("/me"))

    def competitions(self) -> list[JSON]:
        return _mappings(self._get("/competitions"))

    def competition(self, slug: str) -> JSON:
        return _mapping(self._get(f"/competitions/{_segment(slug)}"))

    def enter(
        self, slug: str, *, code: str = "", rules_digest: str = "", division: str = "", model_name: str = ""
    ) -> JSON:
        self.need_token()
        body = {"code": code, "rules_digest": rules_digest}
        body |= {name: value for name, value in (("division", division), ("model_name", model_name)) if value}
        return _mapping(self._once("POST", f"/competitions/{_segment(slug)}/enter", json=body))

    def boards(self) -> list[JSON]:
        return _mappings(self._get("/boards"))

    def board(self, slug: str) -> JSON:
        return _mapping(self._get(f"/boards/{_segment(slug)}"))

    def entries(self, slug: str, hardware: str, most: int) -> list[JSON]:
        """Return the first lines of the ranking, fetched page by page."""
        path, found = f"/boards/{_segment(slug)}/{_segment(hardware)}/entries", list[JSON]()
        while len(found) < most:
            wanted = min(ENTRIES_AT_ONCE, most - len(found))
            page = _mappings(self._get(path, {"limit": str(wanted), "offset": str(len(found))}))
            found += page[:wanted]
            if len(page) < wanted:
                break
        return found

    def quota(self, board: str = "") -> list[JSON]:
        """Return the caller's remaining quota: for a board, or for all boards with spent quota."""
        self.need_token()
        return _mappings(self._get("/quota", {"board": board} if board else None))

    def quota_hint(self, board: str = "") -> list[JSON]:
        """Return the quota as an addition to another answer: [] if the request fails."""
        if not self._has_token:
            return []
        try:
            return _mappings(self._once("GET", "/quota", params={"board": board} if board else None))
        except CliError:
            return []

    def submissions(self, board: str | None, limit: int) -> list[JSON]:
        self.need_token()
        return _mappings(self._get("/submissions", {"limit": str(limit), **({"board": board} if board else {})}))

    def submission(self, submission_id: str) -> JSON:
        self.need_token()
        return _mapping(self._get(f"/submissions/{_segment(submission_id)}"))

    def submit(self, *, board: str, hardware: str, mode: str, filename: str, code: str, licence: str = "") -> JSON:
        self.need_token()
        body = {"board": board, "hardware": hardware, "mode": mode, "filename": filename, "code": code}
        if licence:
            body["licence"] = licence
        # With a key, a retry is safe: a submission that the site took before its answer was lost counts once.
        answer = _mapping(self._retried("POST", "/submissions", json=body, headers={"Idempotency-Key": str(uuid4())}))
        if not isinstance(answer.get("id"), str | int):
            raise SiteProblem(f"{self.url}: took the submission but gave it no id; see it on the site")
        return answer

    def cancel(self, submission_id: str) -> JSON:
        self.need_token()
        return _mapping(self._once("POST", f"/submissions/{_segment(submission_id)}/cancel", json={}))

    def events(self, submission_id: str, after: str) -> Iterator[ServerEvent]:
        """Yield the stream after that event id, until the site closes it. Raises SiteProblem if the stream breaks."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if after:
            headers["Last-Event-ID"] = after
        path = f"/submissions/{_segment(submission_id)}/events"
        try:
            with self._http.stream("GET", path, headers=headers, timeout=STREAM_TIMEOUT) as response:
                if response.status_code != 200:
                    self._raise_for(response, self._read_capped(response))
                for event in EventSource(response).iter_sse():
                    yield ServerEvent(event.id, event.event, _mapping(_decode(event.data.encode(), self.url)))
        except (httpx.HTTPError, SSEError) as error:
            raise SiteProblem(f"{self.url}: the stream of events broke ({type(error).__name__})") from None

    def need_token(self) -> None:
        if not self._has_token:
            raise Misuse(f"token: none is known for {self.url}; run `photofinish login`, or set PHOTOFINISH_TOKEN")

    def _get(self, path: str, params: dict[str, str] | None = None) -> object:
        return self._retried("GET", path, params=params)

    def _retried(self, method: str, path: str, **arguments: Any) -> object:
        for attempt in range(TRIES - 1):
            try:
                return self._once(method, path, **arguments)
            except SiteProblem:
                time.sleep(backoff_s(attempt))
        return self._once(method, path, **arguments)

    def _once(self, method: str, path: str, **arguments: Any) -> object:
        try:
            with self._http.stream(method, path, **arguments) as response:
                content = self._read_capped(response)
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise SiteProblem(f"{self.url}: no answer ({kind}); is the address right and the site up?") from None
        self._raise_for(response, content)
        return _decode(content, self.url)

    def _read_capped(self, response: httpx.Response) -> bytes:
        parts, total = [], 0
        for part in response.iter_bytes():
            total += len(part)
            if total > MAX_ANSWER_BYTES:
                raise SiteProblem(f"{self.url}: the answer has more than {MAX_ANSWER_BYTES} bytes")
            parts.append(part)
        return b"".join(parts)

    def _raise_for(self, response: httpx.Response, content: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        detail = _OUR_PATHS.sub(lambda path: self.address(path.group()), _detail(content))
        if 300 <= status < 400:
            target = response.headers.get("Location", "another address")[:200]
            raise SiteProblem(f"{self.url}: sends us to {target}; if that is the site, use it as --url")
        if status >= 500:
            raise SiteProblem(f"{self.url}: the site failed ({status}); try again later")
        if status == 401:
            raise Refused(f"token: {detail or 'the site does not accept it'}; run `photofinish login`", status)
        if status == 429:
            wait = response.headers.get("Retry-After", "")
            after = f"; try again in {wait} s" if wait.isdecimal() else "; try again later"
            raise Refused(detail if "again in" in detail else f"{detail or 'too many requests'}{after}", status)
        raise Refused(detail or f"{self.url}: refused ({status})", status)


def backoff_s(attempt: int) -> float:
    """Return the pause in seconds after failure number `attempt` (0, 1, …): jitter below a doubling, capped limit."""
    return random.uniform(0.1, 1.0) * min(BACKOFF_CAP_S, 0.5 * 2.0**attempt)  # noqa: S311


def connected(account: Account) -> AbstractContextManager[Api]:
    return closing(Api(account))


def _segment(value: str) -> str:
    """Return any name as a single, quoted path segment."""
    if value in ("", ".", ".."):
        raise Misuse(f"name: {value!r} is none; see `photofinish boards`")
    return quote(value, safe="")


def _decode(content: bytes, url: str) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise SiteProblem(f"{url}: the answer is not JSON; is this the address of the site?") from None


def _detail(content: bytes) -> str:
    """Return the site's error text with the fields that it names; no final full stop, for advice to follow."""
    try:
        answer = json.loads(content)
        detail = str(answer.get("detail") or "")
        named = [str(item.get("message") or "") for item in answer.get("errors") or []]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ""
    extra = [message for message in named if message and message not in detail]
    return " ".join([detail, *extra])[:2_000].strip().rstrip(".")


def _mapping(answer: object) -> JSON:
    return _mappings([answer])[0]


def _mappings(answer: object) -> list[JSON]:
    if not isinstance(answer, list) or not all(isinstance(item, dict) for item in answer):
        raise SiteProblem("the site's answer has another shape than this version expects; update one of them")
    return answer
