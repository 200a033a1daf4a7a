"""The runners' door for admission tests: the calls of an attempt, for `admission-<id>`."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.admissions import lease
from leaderboard.admissions.report import record_test
from leaderboard.errors import UserError
from leaderboard.web.runner_api import RunnerView, report_of, token_of
from runner.wire import MAX_EVENTS_PER_CALL, MAX_REPORT_BYTES


class Renew(RunnerView):
    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        renewal = lease.renew(pk=pk, runner=runner, token=token_of(sent), now=timezone.now())
        return Response({"expires_in_s": renewal.expires_in_s, "cancel": renewal.cancel})


class Events(RunnerView):
    """Heard and not kept: nobody watches a test live. The answer tells a runner whether it still has the lease."""

    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        items = sent.get("events")
        if not isinstance(items, list) or len(items) > MAX_EVENTS_PER_CALL:
            raise UserError("events", None, f"expected a list of at most {MAX_EVENTS_PER_CALL}")
        lease.check_held(pk=pk, runner=runner, token=token_of(sent), now=timezone.now())
        return Response({"accepted": 0})


class TakeReport(RunnerView):
    limit_bytes = MAX_REPORT_BYTES

    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        report = report_of(sent, f"admission-{pk}")
        return Response({"recorded": record_test(pk=pk, runner=runner, report=report, now=timezone.now())})
