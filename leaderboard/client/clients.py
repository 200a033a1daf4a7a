"""Client and AsyncClient: connections to a site as a user. Both have the same methods, from calls.py.

Safe calls are tried a few times, and so are submissions: the Idempotency-Key keeps a submission from being judged
twice. Every other act is sent once. `follow` watches a submission by the stream of events, or by polling if no stream
gets through. A broken stream resumes after the last event seen: no event is shown twice or missed.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar, cast, overload

import httpx
from httpx_sse import EventSource, ServerSentEvent, SSEError

from . import calls, shapes
from .account import (
    DEFAULT_URL,
    Account,
    Misuse,
    Refused,
    SiteProblem,
    check_private,
    check_token,
    is_loopback,
    site_url,
)
from .calls import PAGE, Call
from .values import JSON, mapping

P = ParamSpec("P")
T = TypeVar("T")
H = TypeVar("H", httpx.Client, httpx.AsyncClient)

TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)  # seconds
STREAM_TIMEOUT: Final = httpx.Timeout(10.0, read=40.0)  # the site sends a message every 15 s
MAX_ANSWER_BYTES: Final = 8_000_000
LINES_AT_ONCE: Final = 1_000  # maximum of a page of a ranking, and of boards
TRIES: Final = 4
BACKOFF_CAP_S: Final = 5.0
FINAL: Final = ("done", "cancelled")  # states of a submission
WAITING: Final = "waiting"  # status of a reward
SENT: Final = {"hardware": "", "mode": "benchmark", "filename": "kernel.py"}  # of a kernel that is sent for its reward
STREAM_FAILURES: Final = 3  # in a row and without news, before polling
POLL_S: Final = 2.0
WAIT_S: Final = 20  # of a call that waits for feedback; below the time limit of an answer
PATIENCE_S: Final = 180.0  # maximum time without the site before watching ends
_OUR_PATHS: Final = re.compile(
    r"(?<!\S)/(?:tokens|device|submissions|competitions|boards|review|sign-in|sign-up|account|api)\b"
)
_NEXT: Final = re.compile(r'<[^<>]*[?&]cursor=([^<>&]+)[^<>]*>; rel="next"')


@dataclass(frozen=True)
class ServerEvent:
    """An event of a submission's stream."""

    id: str
    kind: str  # "state", "progress", "queue", "done"
    data: JSON


OnEvent = Callable[[ServerEvent], None]
OnFeedback = Callable[[shapes.Feedback], None]


def connection(kind: type[H], **settings: Any) -> H:
    """Return a connection of httpx. Raises Misuse for a proxy or certificates of the environment that do not fit."""
    try:
        return kind(**settings)
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        raise Misuse(
            f"environment: its proxy or certificates cannot be used: {str(error).rstrip('.')}; "
            "correct or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSLKEYLOGFILE"
        ) from None


def request_of(http: httpx.Client | httpx.AsyncClient, method: str, path: str, **content: Any) -> httpx.Request:
    """Return a request. Raises Misuse for content that a request cannot hold."""
    try:
        return http.build_request(method, path, **content)
    except UnicodeEncodeError as error:
        part = error.object[max(0, error.start - 20) : error.end + 20]
        raise Misuse(f"request: {part!r} cannot be sent ({error.reason}); write it in UTF-8") from None
    except (ValueError, RecursionError, httpx.InvalidURL) as error:
        raise Misuse(f"request: {error}; give finite numbers, shorter text and JSON of fewer levels") from None


class _Method(Generic[P, T]):
    """A call as a method: of Client it returns the answer, of AsyncClient an awaitable of it."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[P, Call[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._make

        def send(*arguments: P.args, **options: P.kwargs) -> Any:
            return client.do(self._make(*arguments, **options))

        send.__doc__ = self._make.__doc__
        return send


class _Calls:
    """The methods of both clients, and what they share."""

    me = _Method(calls.me)
    start_login = _Method(calls.start_login)
    poll_login = _Method(calls.poll_login)
    status = _Method(calls.status)
    competitions = _Method(calls.competitions)
    competition = _Method(calls.competition)
    enter = _Method(calls.enter)
    standings = _Method(calls.standings)
    models = _Method(calls.models)
    sampling = _Method(calls.sampling)
    board_sampling = _Method(calls.board_sampling)
    awards = _Method(calls.awards)
    announcements = _Method(calls.announcements)
    team = _Method(calls.team)
    team_act = _Method(calls.team_act)
    invites = _Method(calls.invites)
    accept_invite = _Method(calls.accept_invite)
    boards = _Method(calls.boards)
    board = _Method(calls.board)
    problem = _Method(calls.problem)
    entries = _Method(calls.entries)
    history = _Method(calls.history)
    entry = _Method(calls.entry)
    signed_entry = _Method(calls.signed_entry)
    quota = _Method(calls.quota)
    submissions = _Method(calls.submissions)
    submission = _Method(calls.submission)
    seeds = _Method(calls.seeds)
    profile_file = _Method(calls.profile_file)
    data_set = _Method(calls.data_set)
    data_set_file = _Method(calls.data_set_file)
    submit = _Method(calls.submit)
    cancel = _Method(calls.cancel)
    rewards = _Method(calls.rewards)
    feedback = _Method(calls.feedback)
    lineage = _Method(calls.lineage)
    runs = _Method(calls.runs)
    feedback_text = _Method(calls.feedback_text)
    parents = _Method(calls.parents)
    submit_batch = _Method(calls.submit_batch)
    batches = _Method(calls.batches)
    batch = _Method(calls.batch)
    batch_feedback = _Method(calls.batch_feedback)
    batch_report = _Method(calls.batch_report)
    cancel_batch = _Method(calls.cancel_batch)
    matches = _Method(calls.matches)
    match = _Method(calls.match)
    open_match = _Method(calls.open_match)
    predict = _Method(calls.predict)
    send_version = _Method(calls.send_version)
    send_answer = _Method(calls.send_answer)
    attach = _Method(calls.attach)
    act_on_match = _Method(calls.act_on_match)
    worklog = _Method(calls.worklog)
    worklog_text = _Method(calls.worklog_text)
    worklog_section = _Method(calls.worklog_section)
    save_section = _Method(calls.save_section)
    hand_ins = _Method(calls.hand_ins)
    hand_in = _Method(calls.hand_in)
    public_texts = _Method(calls.public_texts)
    classes = _Method(calls.classes)
    class_detail = _Method(calls.class_detail)
    make_class = _Method(calls.make_class)
    edit_class = _Method(calls.edit_class)
    join_class = _Method(calls.join_class)
    join_class_by_roster = _Method(calls.join_class_by_roster)
    own_work = _Method(calls.own_work)
    class_roster = _Method(calls.class_roster)
    import_roster = _Method(calls.import_roster)
    remove_roster_line = _Method(calls.remove_roster_line)
    change_seat = _Method(calls.change_seat)
    end_seat = _Method(calls.end_seat)
    class_sections = _Method(calls.class_sections)
    remove_section = _Method(calls.remove_section)
    assignments = _Method(calls.assignments)
    add_assignment = _Method(calls.add_assignment)
    edit_assignment = _Method(calls.edit_assignment)
    extensions = _Method(calls.extensions)
    extend = _Method(calls.extend)
    withdraw_extension = _Method(calls.withdraw_extension)
    start_work = _Method(calls.start_work)
    class_grid = _Method(calls.class_grid)
    class_check = _Method(calls.class_check)
    plant = _Method(calls.plant)
    unplant = _Method(calls.unplant)
    class_grades = _Method(calls.class_grades)
    begin_grading = _Method(calls.begin_grading)
    release_grades = _Method(calls.release_grades)
    class_work = _Method(calls.class_work)
    grade_work = _Method(calls.grade_work)
    moderate_work = _Method(calls.moderate_work)
    remark_work = _Method(calls.remark_work)
    remove_remark = _Method(calls.remove_remark)
    rubrics = _Method(calls.rubrics)
    save_rubric = _Method(calls.save_rubric)
    own_grade = _Method(calls.own_grade)
    appeal_grade = _Method(calls.appeal_grade)
    answer_grade_appeal = _Method(calls.answer_grade_appeal)
    retract = _Method(calls.retract)
    person = _Method(calls.person)
    person_entries = _Method(calls.person_entries)
    entrant = _Method(calls.entrant)
    compare = _Method(calls.compare)
    search = _Method(calls.search)
    problems = _Method(calls.problems)
    notifications = _Method(calls.notifications)
    read_notifications = _Method(calls.read_notifications)
    notification_settings = _Method(calls.notification_settings)
    choose_notifications = _Method(calls.choose_notifications)
    set_webhook = _Method(calls.set_webhook)
    rotate_webhook = _Method(calls.rotate_webhook)
    test_webhook = _Method(calls.test_webhook)
    remove_webhook = _Method(calls.remove_webhook)
    agents = _Method(calls.agents)
    create_agent = _Method(calls.create_agent)
    create_agent_token = _Method(calls.create_agent_token)
    revoke_agent_token = _Method(calls.revoke_agent_token)
    posts = _Method(calls.posts)
    write_post = _Method(calls.write_post)
    remove_post = _Method(calls.remove_post)
    report_post = _Method(calls.report_post)
    stop_intake = _Method(calls.stop_intake)
    start_intake = _Method(calls.start_intake)
    admission_tests = _Method(calls.admission_tests)
    compiled_timings = _Method(calls.compiled_timings)
    stats = _Method(calls.stats)
    call = _Method(calls.call)
    organised = _Method(calls.organised)
    competition_settings = _Method(calls.competition_settings)
    competition_state = _Method(calls.competition_state)
    create_competition = _Method(calls.create_competition)
    edit_competition = _Method(calls.edit_competition)
    clone_competition = _Method(calls.clone_competition)
    delete_competition = _Method(calls.delete_competition)
    announce = _Method(calls.announce)
    standing_act = _Method(calls.standing_act)
    organised_boards = _Method(calls.organised_boards)
    add_board = _Method(calls.add_board)
    edit_board = _Method(calls.edit_board)
    close_board = _Method(calls.close_board)
    upload_set = _Method(calls.upload_set)
    fetch_set = _Method(calls.fetch_set)
    set_uploads = _Method(calls.set_uploads)
    set_upload = _Method(calls.set_upload)
    apply_set = _Method(calls.apply_set)
    discard_set = _Method(calls.discard_set)
    invite_codes = _Method(calls.invite_codes)
    make_invite_codes = _Method(calls.make_invite_codes)
    revoke_invite_code = _Method(calls.revoke_invite_code)
    remove_board = _Method(calls.remove_board)

    def __init__(self, url: str = DEFAULT_URL, token: str = "", *, insecure: bool = False) -> None:
        account = Account(site_url(url), check_token(token) if token else "", insecure)
        self.account = check_private(account)
        self.url = account.url

    def address(self, path: object) -> str:
        """Return the full address of a path from the site, for example /submissions/26; "" for an empty path."""
        text = str(path or "")
        return f"{self.url}{text}" if text.startswith("/") and not text.startswith("//") else text

    def need_token(self) -> None:
        if not self.account.token:
            raise Misuse(f"token: none is known for {self.url}; run `photofinish login`, or set PHOTOFINISH_TOKEN")

    def _settings(self) -> dict[str, Any]:
        headers = {"User-Agent": "photofinish-cli", "Accept": "application/json"}
        if self.account.token:
            headers["Authorization"] = f"Bearer {self.account.token}"
        return {
            "base_url": f"{self.url}/api/v1",
            "headers": headers,
            "timeout": TIMEOUT,
            "follow_redirects": False,
            "trust_env": not is_loopback(self.url),  # a proxy cannot reach this machine's loopback
        }

    def _no_answer(self, error: Exception) -> SiteProblem:
        kind = type(error).__name__
        return SiteProblem(f"{self.url}: no answer ({kind}); is the address right and the site up?")

    def _read(self, call: Call[T], response: httpx.Response, content: bytes) -> T:
        """Return a checked answer. Raises Refused, SiteProblem."""
        self._raise_for(response, content)
        if call.is_file:
            return cast(T, content)
        answer = _decode(content, self.url) if response.status_code != 204 else {}
        is_list = isinstance(answer, list)
        items = answer if isinstance(answer, list) else [answer]
        if call.many not in (None, is_list) or not all(isinstance(item, dict) for item in items):
            raise SiteProblem("the site's answer has another shape than this version expects; update one of them")
        return cast(T, answer)

    def _raise_for(self, response: httpx.Response, content: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        answer = _error(content)
        detail = _OUR_PATHS.sub(lambda path: self.address(path.group()), _detail(answer))
        if 300 <= status < 400:
            target = response.headers.get("Location", "another address")[:200]
            raise SiteProblem(f"{self.url}: sends us to {target}; if that is the site, use it as --url")
        if status == 503 and detail:  # busy, or maintenance with its end
            raise SiteProblem(f"{self.url}: {detail}")
        if status >= 500:
            raise SiteProblem(f"{self.url}: the site failed ({status}); try again later")
        wait = response.headers.get("Retry-After", "")
        seconds = int(wait) if wait.isascii() and wait.isdecimal() and len(wait) < 10 else None
        if status == 401:
            detail = f"token: {detail or 'the site does not accept it'}; run `photofinish login`"
        elif status == 429 and "again in" not in detail:
            after = f"; try again in {wait} s" if seconds is not None else "; try again later"
            detail = f"{detail or 'too many requests'}{after}"
        errors = [item for item in answer.get("errors") or [] if isinstance(item, dict)]
        code = str(answer.get("code") or "")
        raise Refused(detail or f"{self.url}: refused ({status})", status, code, errors, seconds)

    def _events_request(self, submission: object, after: str) -> tuple[str, dict[str, str]]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        return f"/submissions/{calls.submission_id(submission)}/events", headers | (
            {"Last-Event-ID": after} if after else {}
        )

    def _event(self, event: ServerSentEvent) -> ServerEvent:
        data = _decode(event.data.encode(), self.url)
        if not isinstance(data, dict):
            raise SiteProblem("the site's event has another shape than this version expects; update one of them")
        return ServerEvent(event.id, event.event, data)

    def _broken(self, error: Exception) -> SiteProblem:
        return SiteProblem(f"{self.url}: the stream of events broke ({type(error).__name__})")


class Client(_Calls):
    """A connection to a site: `with Client(url, token) as site: site.boards()`."""

    def __init__(self, url: str = DEFAULT_URL, token: str = "", *, insecure: bool = False) -> None:
        super().__init__(url, token, insecure=insecure)
        self._http = connection(httpx.Client, **self._settings())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def do(self, call: Call[T]) -> T:
        """Send a call, a list page by page, and return its answer."""
        if call.needs_token:
            self.need_token()
        if not call.most:
            return self._tried(call)[0]
        pages = _Pages(call)
        while (page := pages.next_call()) is not None:
            pages.take(*self._tried(page))
        return cast(T, pages.found)

    def once(self, call: Call[T]) -> T:
        """Send a call without another try: for an answer that can be done without."""
        return self._sent(call)[0]

    def events(self, submission: object, after: str = "") -> Iterator[ServerEvent]:
        """Yield the stream after that event id, until the site closes it. Raises SiteProblem if the stream breaks."""
        path, headers = self._events_request(submission, after)
        try:
            with self._http.stream("GET", path, headers=headers, timeout=STREAM_TIMEOUT) as response:
                if response.status_code != 200:
                    self._raise_for(response, self._content(response))
                for event in EventSource(response).iter_sse():
                    if event.data:  # not a time to reconnect
                        yield self._event(event)
        except (httpx.HTTPError, SSEError, UnicodeError) as error:
            raise self._broken(error) from None

    def follow(self, submission: object, on_event: OnEvent = lambda event: None) -> shapes.Submission:
        """Return the finished submission. Raises SiteProblem if the site stays away, Refused without permission."""
        watch = _Watch()
        while watch.streams:
            watch.news = False
            try:
                for event in self.events(submission, watch.last_seen):
                    if watch.saw(event):
                        return cast(shapes.Submission, event.data)
                    on_event(event)
            except SiteProblem:
                pass
            except Refused as refused:
                time.sleep(watch.limited_s(refused))
            time.sleep(watch.pause_s())
        while True:
            try:
                if watch.polled(found := self.submission(str(submission)), on_event):
                    return found
            except SiteProblem:
                watch.check_patience()
            except Refused as refused:
                time.sleep(watch.limited_s(refused))
            time.sleep(POLL_S)

    def reward(
        self, submission: int | str = "", *, parameters: Mapping[str, Any] | None = None, **sent: Any
    ) -> shapes.RewardLine:
        """Return the reward of a submission once it is judged; without its number, `sent` is submitted first.

        `sent`: as for `submit`, with the defaults of SENT. `parameters`: as for `rewards`. A verdict that the machine
        spoiled is waited for again.
        """
        number = submission or self.submit(**_sent_with_defaults(sent))["id"]
        while True:
            self.follow(number)
            [line] = self.rewards([number], **(parameters or {}))["rewards"]
            if line["status"] != WAITING:
                return line
            time.sleep(POLL_S)

    def follow_batch(self, batch: int | str, on_feedback: OnFeedback = lambda feedback: None) -> shapes.Batch:
        """Return the finished batch, after the feedback on each candidate as it came. Raises SiteProblem, Refused."""
        after = 0
        while True:
            for found in (fresh := self.batch_feedback(batch, after, WAIT_S)):
                after = _arrival(found)
                on_feedback(found)
            if not fresh and (seen := self.batch(batch))["settled_at"] and after >= seen["arrived"]:
                return seen
            if not fresh:
                time.sleep(POLL_S)  # a busy site answers at once

    def _tried(self, call: Call[T]) -> tuple[T, str]:
        for attempt in range(TRIES - 1 if call.is_safe else 0):
            try:
                return self._sent(call)
            except SiteProblem:
                time.sleep(backoff_s(attempt))
        return self._sent(call)

    def _sent(self, call: Call[T]) -> tuple[T, str]:
        request = request_of(self._http, **_content_of(call))
        try:
            with closing(self._http.send(request, stream=True)) as response:
                content = self._content(response, call.most_bytes or MAX_ANSWER_BYTES)
        except (httpx.HTTPError, UnicodeError) as error:
            raise self._no_answer(error) from None
        return self._read(call, response, content), next_cursor(response)

    def _content(self, response: httpx.Response, most_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        content = _Content(self.url, most_bytes)
        for part in response.iter_bytes():
            content.add(part)
        return content.joined()


class AsyncClient(_Calls):
    """The same connection for asyncio: `async with AsyncClient(url, token) as site: await site.boards()`."""

    def __init__(self, url: str = DEFAULT_URL, token: str = "", *, insecure: bool = False) -> None:
        super().__init__(url, token, insecure=insecure)
        self._http = connection(httpx.AsyncClient, **self._settings())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def do(self, call: Call[T]) -> T:
        """Send a call, a list page by page, and return its answer."""
        if call.needs_token:
            self.need_token()
        if not call.most:
            return (await self._tried(call))[0]
        pages = _Pages(call)
        while (page := pages.next_call()) is not None:
            pages.take(*await self._tried(page))
        return cast(T, pages.found)

    async def events(self, submission: object, after: str = "") -> AsyncIterator[ServerEvent]:
        """Yield the stream after that event id, until the site closes it. Raises SiteProblem if the stream breaks."""
        path, headers = self._events_request(submission, after)
        try:
            async with self._http.stream("GET", path, headers=headers, timeout=STREAM_TIMEOUT) as response:
                if response.status_code != 200:
                    self._raise_for(response, await self._content(response))
                async for event in EventSource(response).aiter_sse():
                    if event.data:
                        yield self._event(event)
        except (httpx.HTTPError, SSEError, UnicodeError) as error:
            raise self._broken(error) from None

    async def follow(self, submission: object, on_event: OnEvent = lambda event: None) -> shapes.Submission:
        """Return the finished submission. Raises SiteProblem if the site stays away, Refused without permission."""
        watch = _Watch()
        while watch.streams:
            watch.news = False
            try:
                async for event in self.events(submission, watch.last_seen):
                    if watch.saw(event):
                        return cast(shapes.Submission, event.data)
                    on_event(event)
            except SiteProblem:
                pass
            except Refused as refused:
                await asyncio.sleep(watch.limited_s(refused))
            await asyncio.sleep(watch.pause_s())
        while True:
            try:
                if watch.polled(found := await self.submission(str(submission)), on_event):
                    return found
            except SiteProblem:
                watch.check_patience()
            except Refused as refused:
                await asyncio.sleep(watch.limited_s(refused))
            await asyncio.sleep(POLL_S)

    async def reward(
        self, submission: int | str = "", *, parameters: Mapping[str, Any] | None = None, **sent: Any
    ) -> shapes.RewardLine:
        """Return the reward of a submission once it is judged; without its number, `sent` is submitted first."""
        number = submission or (await self.submit(**_sent_with_defaults(sent)))["id"]
        while True:
            await self.follow(number)
            [line] = (await self.rewards([number], **(parameters or {})))["rewards"]
            if line["status"] != WAITING:
                return line
            await asyncio.sleep(POLL_S)

    async def follow_batch(self, batch: int | str, on_feedback: OnFeedback = lambda feedback: None) -> shapes.Batch:
        """Return the finished batch, after the feedback on each candidate as it came. Raises SiteProblem, Refused."""
        after = 0
        while True:
            for found in (fresh := await self.batch_feedback(batch, after, WAIT_S)):
                after = _arrival(found)
                on_feedback(found)
            if not fresh and (seen := await self.batch(batch))["settled_at"] and after >= seen["arrived"]:
                return seen
            if not fresh:
                await asyncio.sleep(POLL_S)

    async def _tried(self, call: Call[T]) -> tuple[T, str]:
        for attempt in range(TRIES - 1 if call.is_safe else 0):
            try:
                return await self._sent(call)
            except SiteProblem:
                await asyncio.sleep(backoff_s(attempt))
        return await self._sent(call)

    async def _sent(self, call: Call[T]) -> tuple[T, str]:
        request = request_of(self._http, **_content_of(call))
        try:
            async with aclosing(await self._http.send(request, stream=True)) as response:
                content = await self._content(response, call.most_bytes or MAX_ANSWER_BYTES)
        except (httpx.HTTPError, UnicodeError) as error:
            raise self._no_answer(error) from None
        return self._read(call, response, content), next_cursor(response)

    async def _content(self, response: httpx.Response, most_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        content = _Content(self.url, most_bytes)
        async for part in response.aiter_bytes():
            content.add(part)
        return content.joined()


class _Content:
    """The body of an answer, within its limit."""

    def __init__(self, url: str, most_bytes: int) -> None:
        self._url, self._most_bytes, self._parts, self._total = url, most_bytes, list[bytes](), 0

    def add(self, part: bytes) -> None:
        self._total += len(part)
        if self._total > self._most_bytes:
            raise SiteProblem(f"{self._url}: the answer has more than {self._most_bytes} bytes")
        self._parts.append(part)

    def joined(self) -> bytes:
        return b"".join(self._parts)


class _Pages:
    """The pages of a list, followed by cursor until enough items are there."""

    def __init__(self, call: Call[Any]) -> None:
        self.found: list[Any] = []
        self._call, self._cursor, self._is_over = call, "", False
        is_long = call.path == "/boards" or call.path.endswith(("/entries", "/standings"))
        self._size = LINES_AT_ONCE if is_long else PAGE

    def next_call(self) -> Call[Any] | None:
        left = self._call.most - len(self.found)
        if self._is_over or left <= 0:
            return None
        self._asked = min(left, self._size)
        place = {"cursor": self._cursor} if self._cursor else {}
        return replace(self._call, most=0, params={**self._call.params, "limit": str(self._asked), **place})

    def take(self, items: list[Any], cursor: str) -> None:
        self.found += items[: self._call.most - len(self.found)]
        self._cursor = cursor
        self._is_over = not cursor


class _Watch:
    """How far a submission is watched: by streams at first, then by polls."""

    def __init__(self) -> None:
        self.last_seen, self.news = "", False
        self._failures, self._shown, self._give_up_at = 0, "", 0.0

    @property
    def streams(self) -> bool:
        return self._failures < STREAM_FAILURES

    def saw(self, event: ServerEvent) -> bool:
        """Note an event; return whether it is the last."""
        self.last_seen, self.news = event.id or self.last_seen, True
        return event.kind == "done"

    def pause_s(self) -> float:
        self._failures = 0 if self.news else self._failures + 1  # a stream that merely ended is resumed as well
        self._give_up_at = time.monotonic() + PATIENCE_S
        return backoff_s(self._failures)

    def limited_s(self, refused: Refused) -> float:
        """Return the seconds to wait after a rate limit, which ends the streams. Raises every other refusal."""
        if refused.status != 429:
            raise refused
        streaming, self._failures = self.streams, STREAM_FAILURES
        return 0.0 if streaming else min(float(refused.retry_after_s or POLL_S), PATIENCE_S)

    def polled(self, submission: Mapping[str, Any], on_event: OnEvent) -> bool:
        """Note a poll; return whether the submission is finished."""
        self._give_up_at = time.monotonic() + PATIENCE_S
        status = str(submission.get("status", ""))
        if status in FINAL:
            return True
        if status != self._shown:
            on_event(ServerEvent("", "state", {"state": status}))
            self._shown = status
        if place := mapping(submission.get("queue")):
            on_event(ServerEvent("", "queue", place))
        return False

    def check_patience(self) -> None:
        """Raise the SiteProblem at hand if the site stays away for too long."""
        if time.monotonic() > self._give_up_at:
            raise


def _arrival(found: shapes.Feedback) -> int:
    """Return the place of a candidate's end in its batch. Raises SiteProblem."""
    about = found.get("about")
    if about is None or not isinstance(about.get("arrival"), int):
        raise SiteProblem("the site's feedback has another shape than this version expects; update one of them")
    return about["arrival"] or 0


def backoff_s(attempt: int) -> float:
    """Return the pause in seconds after failure number `attempt` (0, 1, …): jitter below a doubling, capped limit."""
    return random.uniform(0.1, 1.0) * min(BACKOFF_CAP_S, 0.5 * 2.0**attempt)  # noqa: S311


def next_cursor(response: httpx.Response) -> str:
    """Return the cursor of the next page in the header Link; "" on the last page."""
    found = _NEXT.search(response.headers.get("Link", "")[:4_000])
    return str(httpx.QueryParams(f"c={found.group(1)}")["c"]) if found else ""


def _sent_with_defaults(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `submit` for a kernel without a number. Raises Misuse."""
    if missing := {"board", "code"} - sent.keys():
        raise Misuse(f"{min(missing)}: missing; give the number of a submission, or a kernel with board and code")
    return {**SENT, **sent}


def _content_of(call: Call[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"method": call.method, "path": call.path, "params": dict(call.params) or None}
    if call.files:
        found |= {"files": dict(call.files), "data": call.body}
    elif call.body is not None:
        found["json"] = call.body
    return found | {"headers": dict(call.headers)}


def _decode(content: bytes, url: str) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise SiteProblem(f"{url}: the answer is not JSON; is this the address of the site?") from None


def _error(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(answer, dict) or not isinstance(answer.get("errors") or [], list):
        return {}
    return answer


def _detail(answer: Mapping[str, Any]) -> str:
    """Return the site's error text with the fields that it names; no final full stop, for advice to follow."""
    detail = str(answer.get("detail") or "")
    named = [str(item.get("message") or "") for item in answer.get("errors") or [] if isinstance(item, dict)]
    extra = [message for message in named if message and message not in detail]
    return " ".join([detail, *extra])[:2_000].strip().rstrip(".")
