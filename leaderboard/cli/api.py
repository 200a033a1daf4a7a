"""/api/v1 of the site (docs/http.md): one method per call. Answers are checked for shape only; their text is untrusted.

Reads are tried a few times, and so are submissions: the Idempotency-Key keeps a submission from being judged twice.
Every other act is sent once. An answer of 404 about a submission, a board or its hardware becomes a sentence that
repeats the name and lists the existing names.

`follow` watches a submission by the stream of events, or by polling if no stream gets through. A broken stream resumes
after the last event seen: no event is shown twice or missed.
"""

import json
import math
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
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
NOT_FOUND: Final = 404
MAX_ID_DIGITS: Final = 18  # limit of the site's keys
FINAL: Final = ("done", "cancelled")  # states of a submission
STREAM_FAILURES: Final = 3  # in a row and without news, before polling
POLL_S: Final = 2.0
PATIENCE_S: Final = 180.0  # maximum time without the site before watching ends
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
        """Return the first lines of a board's ranking, fetched page by page. `hardware` "": the board has only one."""
        if not hardware:
            with self._explained(slug):
                known = _hardware(self.board(slug))
            if len(known) != 1:
                raise Misuse(f"hardware: {slug} has {', '.join(known) or 'none'}; say which with --hardware")
            hardware = known[0]
        path, found = f"/boards/{_segment(slug)}/{_segment(hardware)}/entries", list[JSON]()
        with self._explained(slug, hardware):
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
        with self._explained(board):
            return _mappings(self._get("/quota", {"board": board} if board else None))

    def quota_hint(self, board: str = "") -> list[JSON]:
        """Return the quota as an addition to another answer: [] if the request fails."""
        if not self._has_token:
            return []
        try:
            return _mappings(self._once("GET", "/quota", params={"board": board} if board else None))
        except CliError:
            return []

    def submissions(self, board: str, limit: int) -> list[JSON]:
        """Return the caller's submissions, newest first. `board` "": to every board."""
        self.need_token()
        found = _mappings(self._get("/submissions", {"limit": str(limit), **({"board": board} if board else {})}))
        if board and not found:
            with self._explained(board):
                self.board(board)
        return found

    def submission(self, submission_id: str) -> JSON:
        with _known(submission_id):
            self.need_token()
            return _mapping(self._get(f"/submissions/{submission_id}"))

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
        with _known(submission_id):
            self.need_token()
            return _mapping(self._once("POST", f"/submissions/{submission_id}/cancel", json={}))

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
                    if event.data:  # not a time to reconnect
                        yield ServerEvent(event.id, event.event, _mapping(_decode(event.data.encode(), self.url)))
        except (httpx.HTTPError, SSEError) as error:
            raise SiteProblem(f"{self.url}: the stream of events broke ({type(error).__name__})") from None

    def need_token(self) -> None:
        if not self._has_token:
            raise Misuse(f"token: none is known for {self.url}; run `photofinish login`, or set PHOTOFINISH_TOKEN")

    @contextmanager
    def _explained(self, slug: str, hardware: str = "") -> Iterator[None]:
        """Explain errors about the name of a board or its hardware. Raises Refused."""
        try:
            yield
        except Refused as error:
            if error.status != NOT_FOUND:
                raise
            boards = {str(board.get("slug", "")): _hardware(board) for board in self.boards()}
            if slug not in boards:
                listed = ", ".join(boards) or "none yet"
                raise Refused(f"board: {slug!r} is not known; there is {listed}", NOT_FOUND) from None
            if hardware and hardware not in boards[slug]:
                listed = ", ".join(boards[slug]) or "none yet"
                raise Refused(f"hardware: {slug} is not judged on {hardware!r}; there is {listed}", NOT_FOUND) from None
            raise

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
        if status == 503 and detail:  # busy, or maintenance with its end
            raise SiteProblem(f"{self.url}: {detail}")
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


def follow(api: Api, submission_id: str, on_event: Callable[[ServerEvent], None]) -> JSON:
    """Return the finished submission.

    Raises SiteProblem if the site stays away, Refused without permission to watch.
    """
    last_seen, failures = "", 0
    while failures < STREAM_FAILURES:
        news = False
        try:
            for event in api.events(submission_id, last_seen):
                last_seen, news = event.id or last_seen, True
                if event.kind == "done":
                    return event.data
                on_event(event)
        except SiteProblem:
            pass
        failures = 0 if news else failures + 1  # a stream that merely ended is resumed as well
        time.sleep(backoff_s(failures))
    return _poll(api, submission_id, on_event)


def _poll(api: Api, submission_id: str, on_event: Callable[[ServerEvent], None]) -> JSON:
    give_up_at = time.monotonic() + PATIENCE_S
    shown = ""
    while True:
        try:
            submission = api.submission(submission_id)
            give_up_at = time.monotonic() + PATIENCE_S
        except SiteProblem:
            if time.monotonic() > give_up_at:
                raise
        else:
            status = str(submission.get("status", ""))
            if status in FINAL:
                return submission
            if status != shown:
                on_event(ServerEvent("", "state", {"state": status}))
                shown = status
        time.sleep(POLL_S)


@contextmanager
def _known(number: str) -> Iterator[None]:
    """Explain errors about the number of a submission. Raises Misuse, Refused."""
    if not (number.isascii() and number.isdecimal() and len(number) <= MAX_ID_DIGITS):
        raise Misuse(f"ID: {number!r} is not the number of a submission, such as 26; see `photofinish list`")
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        raise Refused(f"ID: there is no submission {number}, or it is not yours; see `photofinish list`", 404) from None


def _hardware(board: JSON) -> list[str]:
    return list(map(str, sequence(board.get("hardware"))))


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


def sequence(value: object) -> list[Any]:
    """Return a list of the site's answer; any other value is an empty list."""
    return value if isinstance(value, list) else []


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in sequence(value) if isinstance(item, dict)]


def number(value: object) -> float | None:
    """Return a finite number of the site's answer; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
