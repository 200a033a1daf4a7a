"""Client of /api/runner/v1 (docs/http.md), with a method for each call and typed errors.

Every call is a single try with a time-out and a size limit; `persist` repeats a call with jitter under a cap. The token
goes into one header and appears in no log and no exception. A client may be used by several threads.
"""

from __future__ import annotations

import json
import math
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from secrets import SystemRandom
from typing import Final, TypeVar
from urllib.parse import quote

import httpx

from runner.config import DaemonSettings, SiteSettings
from runner.errors import ConfigError, SiteRefused, SiteUnreachable, StaleLease, Unauthorised
from runner.wire import (
    ANSWER_S,
    BELL_S,
    JSON,
    MAX_REPORT_BYTES,
    WIRE_VERSION,
    Enrolment,
    Event,
    Health,
    Job,
    Place,
    Report,
    Software,
    WireError,
    dump,
)

TIMEOUT = httpx.Timeout(ANSWER_S, connect=5.0)
BELL_TIMEOUT = httpx.Timeout(BELL_S + ANSWER_S, connect=5.0)
MAX_ANSWER_BYTES: Final = 8_000_000  # a Job: a source of 1 MB, a problem of 1 MB, both escaped
STANDING: Final = "Photofinish-Runner"  # header of an answer without a job: draining, suspended, set aside
BACKOFF_BASE_S: Final = 0.25
BACKOFF_CAP_S: Final = 10.0

_jitter = SystemRandom()
T = TypeVar("T")


@dataclass(frozen=True)
class Welcome:
    """The site's answer to hello."""

    runner: str
    lease_s: float
    renew_s: float
    epoch_state: str  # proposed, current, retired or dismissed; "": the site does not report it


@dataclass(frozen=True)
class Draining:
    """The site's view of this runner."""

    runner: str
    holds: str  # the attempt that it judges; "": none


def client_of(settings: SiteSettings) -> SiteClient:
    """Return the client of this runner's site. It has no token before the enrolment. Raises ConfigError if
    RUNNER_CA_FILE cannot be used."""
    trusted = None
    if settings.runner_ca_file is not None:
        try:
            trusted = ssl.create_default_context(cafile=settings.runner_ca_file)
        except OSError as error:  # no such file, or no certificate in it (SSLError)
            raise ConfigError(
                f"RUNNER_CA_FILE: {str(settings.runner_ca_file)!r} is no file of certificates in PEM form "
                f"({error.strerror or error}); name the file of your certificate authority, or leave it empty"
            ) from None
    proxy = settings.runner_proxy.get_secret_value() or None
    token = settings.runner_token.get_secret_value() if isinstance(settings, DaemonSettings) else ""
    return SiteClient(settings.photofinish_url, token, trusted=trusted, proxy=proxy)


def backoff_s(failures: int, asked_s: float | None = None) -> float:
    """Return the wait after this many failures in a row, in s: full jitter under a doubling, capped ceiling."""
    ceiling = min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2.0 ** min(failures, 16))
    return max(_jitter.uniform(ceiling / 10, ceiling), min(asked_s or 0.0, 60.0))


def persist(call: Callable[[], T], wait: Callable[[float], bool], patience_s: float = math.inf) -> T:
    """Repeat a call until the site answers. Raises SiteUnreachable once patience is over, or `wait` returns True
    (stop)."""
    give_up_at = time.monotonic() + patience_s
    failures = 0
    while True:
        try:
            return call()
        except SiteUnreachable as error:
            pause_s = backoff_s(failures, error.retry_after_s)
            failures += 1
            if time.monotonic() + pause_s > give_up_at or wait(pause_s):
                raise


class SiteClient:
    """Connection of a runner to its site."""

    def __init__(
        self, url: str, token: str, *, trusted: ssl.SSLContext | None = None, proxy: str | None = None
    ) -> None:
        """Connect. `trusted` replaces the usual certificates. The client ignores the environment: a token must not take
        a route that the operator did not choose for it."""
        self.standing = ""  # why the site gave no work at the last claim; "": no work, or a job
        self._http = httpx.Client(
            verify=True if trusted is None else trusted,
            proxy=proxy,
            base_url=f"{url}/api/runner/v1",
            headers={"User-Agent": f"photofinish-runner/wire-{WIRE_VERSION}"}
            | ({"Authorization": f"Bearer {token}"} if token else {}),
            timeout=TIMEOUT,
            follow_redirects=False,
            trust_env=False,
        )

    def close(self) -> None:
        self._http.close()

    def enrol(self, asked: Enrolment) -> str:
        """Become a runner by a one-time code; return its name. Safe to repeat with the same token."""
        return str(_field(self._post("/enrol", asked.to_json()), "runner"))

    def health(self, health: Health) -> None:
        self._post("/health", health.to_json())

    def hello(self, hardware: str, fingerprint: JSON, epoch: str, software: Software, place: Place) -> Welcome:
        """Introduce this runner. The call also reports a fit device: a site that had set it aside hands out work
        again."""
        host = {"hardware": hardware, "fingerprint": fingerprint, "epoch": epoch, "place": place.to_json()}
        answer = self._post("/hello", host | software.to_json())
        return Welcome(
            runner=str(_field(answer, "runner")),
            lease_s=_seconds(answer, "lease_s"),
            renew_s=_seconds(answer, "renew_s"),
            epoch_state=str((answer or {}).get("epoch_state", "")),
        )

    def claim(self, hardware: str, software: Software, building: Sequence[str] = ()) -> Job | None:
        """Return the next job, or None; `standing` gives the reason. Safe to repeat: a job whose answer was lost comes
        again. `building`: the submissions that are being built ahead; others of their accounts come before them."""
        # An older site wants one id under "building", and knows no other key.
        beside = {"hardware": hardware} | ({"being_built": ",".join(building)} if building else {})
        headers, answer = self._exchange("/claim", beside | software.to_json())
        self.standing = headers.get(STANDING, "")[:64]
        try:
            return None if answer is None else Job.from_json(answer)
        except WireError as error:
            raise SiteRefused(f"the site sent a job that does not fit the contract: {error}", status=200) from None

    def upcoming(self, hardware: str) -> list[Job]:
        """Return jobs that this runner may claim next and that need a compiler. They are not this runner's yet."""
        found = (self._post("/upcoming", {"hardware": hardware}) or {}).get("jobs", [])
        try:
            return [Job.from_json(job) for job in found]
        except (WireError, TypeError) as error:
            raise SiteRefused(f"the site named a job that does not fit the contract: {error}", status=200) from None

    def await_bell(self, hardware: str) -> bool:
        """Wait at most BELL_S for work. Returns True if there may be some."""
        _, answer = self._exchange("/bell", {"hardware": hardware}, BELL_TIMEOUT)
        return bool(_field(answer, "rung"))

    def renew(self, job: Job) -> bool:
        """Renew the lease. Returns True if the site cancelled the attempt."""
        return bool(_field(self._of(job, "renew"), "cancel"))

    def release(self, job: Job) -> None:
        """Hand the job back unjudged. Raises StaleLease if it is not ours, as after a replay."""
        self._of(job, "release")

    def drain(self, on: bool) -> Draining:
        """Ask the site to give this runner no more work, or to give it work again. Safe to repeat."""
        answer = self._post("/drain", {"draining": on})
        return Draining(str(_field(answer, "runner")), str(_field(answer, "holds")))

    def send_events(self, job: Job, events: list[Event]) -> None:
        self._of(job, "events", events=[event.to_json() for event in events])

    def report(self, report: Report) -> bool:
        """Hand in a report; False if the site had it already. Safe to repeat."""
        text = dump(report).encode()
        if len(text) > MAX_REPORT_BYTES:
            raise SiteRefused(f"the report has {len(text)} bytes, at most {MAX_REPORT_BYTES}", status=413)
        answer = self._post(f"/attempts/{quote(report.attempt_id, safe='')}/report", text)
        return bool(_field(answer, "recorded"))

    def _of(self, job: Job, act: str, **fields: object) -> JSON | None:
        return self._post(f"/attempts/{quote(job.attempt_id, safe='')}/{act}", {"token": job.token, **fields})

    def _post(self, path: str, body: JSON | bytes) -> JSON | None:
        return self._exchange(path, body)[1]

    def _exchange(
        self, path: str, body: JSON | bytes, timeout: httpx.Timeout = TIMEOUT
    ) -> tuple[httpx.Headers, JSON | None]:
        content = body if isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
        try:
            headers = {"Content-Type": "application/json"}
            with self._http.stream("POST", path, content=content, headers=headers, timeout=timeout) as response:
                text = b""
                for part in response.iter_bytes():
                    text += part
                    if len(text) > MAX_ANSWER_BYTES:
                        raise SiteRefused(f"the answer has more than {MAX_ANSWER_BYTES} bytes", response.status_code)
        except httpx.HTTPError as error:
            raise SiteUnreachable(f"POST {path}: {type(error).__name__}: {error}") from None
        status = response.status_code
        if status == 204:
            return response.headers, None
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if 200 <= status < 300:
            if not isinstance(answer, dict):
                raise SiteUnreachable(f"POST {path}: the answer is not a JSON object; is PHOTOFINISH_URL the site?")
            return response.headers, answer
        answer = answer if isinstance(answer, dict) else {}
        message = f"POST {path}: {status} {str(answer.get('detail', ''))[:500]}".rstrip()
        if status == 409 and answer.get("code") == "stale":
            raise StaleLease(message)
        if status in (401, 403):
            raise Unauthorised(message)
        if status == 429 or status >= 500:
            retry_after = response.headers.get("Retry-After", "")
            raise SiteUnreachable(message, float(retry_after) if retry_after.isdecimal() else None)
        raise SiteRefused(message, status)


def _field(answer: JSON | None, name: str) -> object:
    if answer is None or name not in answer:
        raise SiteRefused(f"the site's answer lacks {name!r}; are runner and site of the same version?", status=200)
    return answer[name]


def _seconds(answer: JSON | None, name: str) -> float:
    value = _field(answer, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86_400:
        raise SiteRefused(f"the site's answer has {name!r} = {value!r}; expected seconds", status=200)
    return float(value)
