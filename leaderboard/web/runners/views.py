"""The runners' API, `/api/runner/v1` of docs/http.md: recognise the runner, parse once, one act, answer.

Each call reads the clock here, the database's; the acts below take time as an argument.
"""

import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from leaderboard import pipeline
from leaderboard.errors import StaleLease, StoreAway, UserError
from leaderboard.judging.claim import upcoming
from leaderboard.judging.enrolment import redeem
from leaderboard.judging.fleet import keep_health, state_software
from leaderboard.judging.lease import clock, kinds, release
from leaderboard.judging.models import Runner
from leaderboard.judging.report import announce, note_refused
from leaderboard.judging.runners import (
    check_hardware,
    check_storable,
    find_runner,
    greet,
    held_by,
    note_seen,
    set_draining,
)
from leaderboard.web import limits, metrics, traffic
from leaderboard.web.runners.bells import bells
from leaderboard.web.stream import hub
from runner.wire import (
    BELL_S,
    MAX_EVENTS_PER_CALL,
    MAX_REPORT_BYTES,
    Enrolment,
    Event,
    Health,
    Place,
    Report,
    Software,
    WireError,
)

SMALL_BODY_BYTES: Final = 1_000_000  # of any call but a report
STANDING: Final = "Photofinish-Runner"  # header of a 204 to a runner that gets no work: Runner.standing
UNKNOWN: Final = "This is no runner's token; `create_runner` makes one"
REVOKED: Final = (
    "The token of runner {runner} was revoked; `create_runner` makes another runner with a token of its own"
)


class RunnerToken(BaseAuthentication):
    """`Authorization: Bearer pfr_…`; the runner becomes `request.auth`."""

    def authenticate(self, request: Request) -> tuple[None, Runner]:
        kind, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        now = timezone.now()
        runner = find_runner(text.strip(), now=now) if kind.lower() == "bearer" else None
        if runner is None or runner.revoked_at:
            guess = bool(text.strip())  # a call without a token is no guess and is not counted
            if guess and (wait_s := limits.take(limits.RUNNER_GUESS_IP, limits.address(request))):
                raise Throttled(wait_s)
            raise AuthenticationFailed(UNKNOWN if runner is None else REVOKED.format(runner=runner.name))
        request._request.META[traffic.CALLER] = runner.name
        note_seen(runner, address=str(request.META.get("REMOTE_ADDR") or ""), now=now)
        return None, runner

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class RunnerThrottle(limits.ApiThrottle):
    """Limit for a runaway runner.

    It is far above normal use: a renewal every 15 s, events up to four times a second.
    """

    def allow_request(self, request: Request, view: object) -> bool:
        self._wait_s = limits.take(limits.RUNNER, str(request.auth.pk))
        return self._wait_s is None


class IsRunner(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, Runner)


class RunnerView(APIView):
    authentication_classes = [RunnerToken]
    permission_classes = [IsRunner]
    throttle_classes = [RunnerThrottle]
    schema = None  # no part of the public API's description
    limit_bytes = SMALL_BODY_BYTES

    @staticmethod
    def runner_of(request: Request) -> Runner:
        assert isinstance(request.auth, Runner)
        return request.auth

    def read(self, request: Request) -> dict[str, Any]:
        """Return the body as a JSON object, within the limit of this call. DRF's and Django's readers have others."""
        body = request._request.read(self.limit_bytes + 1)
        if len(body) > self.limit_bytes:
            raise UserError("body", None, f"more than {self.limit_bytes:,} bytes; send less", status=413)
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, a huge number, a thousand brackets
            raise UserError("body", None, f"not JSON: {str(error)[:200]}") from None
        if not isinstance(sent, dict):
            raise UserError("body", None, f"expected an object, got {type(sent).__name__}")
        return sent


class Hello(RunnerView):
    def post(self, request: Request) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        with _wire_errors_named():
            software, place = Software.from_json(sent), Place.from_json(sent.get("place", {}))
        state_software(runner=runner, software=software, now=clock())
        fingerprint = sent.get("fingerprint", {})
        if not isinstance(fingerprint, dict):
            raise UserError("fingerprint", None, "expected an object")
        hardware = _text(sent, "hardware")
        check_hardware(runner, hardware)
        epoch = _text(sent, "epoch") if "epoch" in sent else ""
        state = greet(runner=runner, fingerprint=fingerprint, epoch=epoch, place=place, now=clock())
        lease = {"lease_s": settings.LEASE_S, "renew_s": settings.RENEW_S}
        return Response({"runner": runner.name, "hardware": hardware, **lease, "epoch_state": state})


class Claim(RunnerView):
    """Claim of an attempt. It commits before the runner stops waiting for the answer, or not at all.

    Otherwise an attempt could be taken without a runner that knows it.
    """

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self._give_up_at = time.monotonic() + settings.CLAIM_TIMEOUT_S  # waiting for a connection counts, too
        super().setup(request, *args, **kwargs)

    def post(self, request: Request) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        check_hardware(runner, _text(sent, "hardware"))
        with _wire_errors_named():
            software = Software.from_json({"wire": 1} | sent)  # runners of the first wire stated no version here
        being_built = _text(sent, "being_built") if "being_built" in sent else ""
        if being_built and not re.fullmatch(r"[\w-]{1,64}(,[\w-]{1,64}){,63}", being_built, re.ASCII):
            raise UserError("being_built", being_built[:80], "no ids of at most 64 submissions, with commas between")
        state_software(runner=runner, software=software, now=clock())
        with _rolled_back_at(self._give_up_at):
            job = pipeline.claim_work(runner=runner, now=clock(), building=being_built.split(","))
        metrics.CLAIMS.labels(runner.hardware, "nothing" if job is None else "work").inc()
        if job is not None:
            return Response(job.to_json())
        standing = Runner.objects.get(pk=runner.pk).standing
        return Response(status=204, headers={STANDING: standing} if standing else None)


class Upcoming(RunnerView):
    """Jobs to build ahead. Naming them is no claim: another runner may get them."""

    def post(self, request: Request) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        check_hardware(runner, _text(sent, "hardware"))
        jobs = upcoming(runner=runner, now=clock()) if Runner.objects.able().filter(pk=runner.pk).exists() else []
        return Response({"jobs": [job.to_json() for job in jobs]})


class Bell(RunnerView):
    """Wait for work: the doorbell of a runner without a broker."""

    def post(self, request: Request) -> StreamingHttpResponse:
        runner, sent = self.runner_of(request), self.read(request)
        check_hardware(runner, _text(sent, "hardware"))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        # A stream, because a request holds its place only until the body of the answer begins (web/places.py).
        return StreamingHttpResponse(_wait_for(runner), content_type="application/json", headers=headers)


async def _wait_for(runner: Runner) -> AsyncIterator[str]:
    hub.listen()
    within_s = 0 if hub.has_ended else BELL_S  # a process that ends would cut the wait off
    yield json.dumps({"rung": await bells.wait(runner.hardware, runner.pk, within_s)})


class ReportHealth(RunnerView):
    def post(self, request: Request) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        with _wire_errors_named():
            health = Health.from_json(sent)
        keep_health(runner=runner, health=health, now=clock())
        return Response({"runner": runner.name})


class Enrol(RunnerView):
    """The only call without a token: a one-time code makes the caller a runner."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
    limit_bytes = 64_000

    def post(self, request: Request) -> Response:
        if wait_s := limits.take_each(*limits.by_address(limits.ENROL_IP, request)):
            raise Throttled(wait_s)
        with _wire_errors_named():
            asked = Enrolment.from_json(self.read(request))
        runner = redeem(asked=asked, now=clock())
        return Response({"runner": runner.name, "hardware": runner.hardware})


class Drain(RunnerView):
    def post(self, request: Request) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        if not isinstance(sent.get("draining"), bool):
            raise UserError("draining", sent.get("draining"), "expected true or false")
        why = "the runner's host asked"
        set_draining(runner=runner, on=sent["draining"], actor=None, reason=why, now=clock())
        return Response({"runner": runner.name, "draining": sent["draining"], "holds": held_by(runner)})


class WorkView(RunnerView):
    """A call about an attempt, admission test or confirmation that the runner holds."""

    def post(self, request: Request, attempt_id: str) -> Response:
        sent, runner = self.read(request), self.runner_of(request)
        with structlog.contextvars.bound_contextvars(attempt=attempt_id):
            return Response(self.act(sent, attempt_id=attempt_id, runner=runner, now=clock()))

    def act(self, sent: dict[str, Any], **known: Any) -> dict[str, Any]:
        """Act on the body and return the answer. `known`: attempt_id, runner and now."""
        raise NotImplementedError


class Renew(WorkView):
    def act(self, sent: dict[str, Any], **known: Any) -> dict[str, Any]:
        renewal = pipeline.renew_work(token=token_of(sent), **known)
        return {"expires_in_s": renewal.expires_in_s, "cancel": renewal.cancel}


class Release(WorkView):
    def act(self, sent: dict[str, Any], **known: Any) -> dict[str, Any]:
        release(token=token_of(sent), **known)
        return {"released": True}


class Events(WorkView):
    def act(self, sent: dict[str, Any], **known: Any) -> dict[str, Any]:
        items = sent.get("events")
        if not isinstance(items, list) or len(items) > MAX_EVENTS_PER_CALL:
            raise UserError("events", None, f"expected a list of at most {MAX_EVENTS_PER_CALL}")
        check_storable(items, "events")
        with _wire_errors_named():
            announced = [Event.from_json(item) for item in items]
        return {"accepted": announce(token=token_of(sent), announced=announced, **known)}


class TakeReport(WorkView):
    limit_bytes = MAX_REPORT_BYTES

    def act(self, sent: dict[str, Any], **known: Any) -> dict[str, Any]:
        try:
            with _wire_errors_named():
                report = Report.from_json(sent)
            if report.attempt_id != known["attempt_id"]:
                said = f"the address says attempt {known['attempt_id']}"
                raise UserError("report.attempt_id", report.attempt_id, said)
            recorded = pipeline.take_report(runner=known["runner"], report=report, now=known["now"])
            if recorded:
                metrics.count_report(report, known["runner"].hardware)
            return {"recorded": recorded}
        except StoreAway:
            raise  # the runner keeps its report and sends it again
        except UserError as error:
            # A refused report must not vanish. The work goes on and ends with a better report or with its lease.
            with suppress(StaleLease, UserError):  # not this runner's work, or no token: the answer explains it
                note_refused(token=token_of(sent), problem=str(error), **known)
            raise


@contextmanager
def _rolled_back_at(moment: float) -> Iterator[None]:
    """Run a transaction that commits before this reading of the monotonic clock, or raises OperationalError."""
    with transaction.atomic():
        left_ms = max(1, round(1000 * (moment - time.monotonic())))  # 0 would be no limit
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(left_ms)])
        yield
        if time.monotonic() > moment:  # each statement was quick enough, but not their sum
            raise OperationalError("the claim took longer than CLAIM_TIMEOUT_S")


def _text(sent: dict[str, Any], field: str) -> str:
    value = sent.get(field)
    if not isinstance(value, str):
        raise UserError(field, None, "missing; expected text")
    return value


def token_of(sent: dict[str, Any]) -> int:
    value = sent.get("token")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise UserError("token", None, "missing; expected the fencing token of the job")
    return value


@contextmanager
def _wire_errors_named() -> Iterator[None]:
    """Turn a WireError into the UserError for its field."""
    try:
        yield
    except WireError as error:
        raise UserError(error.field, None, str(error).removeprefix(f"{error.field}: ")) from None


class AttemptId(StringConverter):
    """Name of leased work on the wire: `12`, `admission-3`, `confirmation-4`."""

    regex = f"(?:{'|'.join(kind.WIRE_PREFIX for kind in kinds())})[0-9]{{1,19}}"


register_converter(AttemptId, "attempt")

urlpatterns = [
    path("hello", Hello.as_view()),
    path("claim", Claim.as_view()),
    path("upcoming", Upcoming.as_view()),
    path("bell", Bell.as_view()),
    path("health", ReportHealth.as_view()),
    path("enrol", Enrol.as_view()),
    path("drain", Drain.as_view()),
    path("attempts/<attempt:attempt_id>/renew", Renew.as_view()),
    path("attempts/<attempt:attempt_id>/release", Release.as_view()),
    path("attempts/<attempt:attempt_id>/events", Events.as_view()),
    path("attempts/<attempt:attempt_id>/report", TakeReport.as_view()),
]
