"""The runners' API for admission tests and confirmations.

The calls are those of an attempt, for `admission-<id>` and `confirmation-<id>`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.admissions.models import AdmissionTest
from leaderboard.admissions.report import record_test
from leaderboard.confirmations.models import Confirmation
from leaderboard.errors import UserError
from leaderboard.judging import leased
from leaderboard.web.runners.views import RunnerView, report_of, token_of
from runner.wire import MAX_EVENTS_PER_CALL, MAX_REPORT_BYTES


@dataclass(frozen=True)
class Work:
    name: str  # prefix of its attempt_id
    kind: type[leased.Leased]
    record: Callable[..., bool]  # (pk, runner, report, now): False if it is kept already


ADMISSION: Final = Work("admission", AdmissionTest, record_test)
CONFIRMATION: Final = Work("confirmation", Confirmation, pipeline.take_confirmation)


class WorkView(RunnerView):
    work = ADMISSION


class Renew(WorkView):
    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        renewal = leased.renew(self.work.kind, pk=pk, runner=runner, token=token_of(sent), now=timezone.now())
        return Response({"expires_in_s": renewal.expires_in_s, "cancel": renewal.cancel})


class Release(WorkView):
    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        leased.release(self.work.kind, pk=pk, runner=runner, token=token_of(sent), now=timezone.now())
        return Response({"released": True})


class Events(WorkView):
    """Events are accepted and dropped, because this work has no live page.

    The answer shows whether the runner still holds the lease.
    """

    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        items = sent.get("events")
        if not isinstance(items, list) or len(items) > MAX_EVENTS_PER_CALL:
            raise UserError("events", None, f"expected a list of at most {MAX_EVENTS_PER_CALL}")
        leased.check_held(self.work.kind, pk=pk, runner=runner, token=token_of(sent), now=timezone.now())
        return Response({"accepted": 0})


class TakeReport(WorkView):
    limit_bytes = MAX_REPORT_BYTES

    def post(self, request: Request, pk: int) -> Response:
        runner, sent = self.runner_of(request), self.read(request)
        report = report_of(sent, f"{self.work.name}-{pk}")
        return Response({"recorded": self.work.record(pk=pk, runner=runner, report=report, now=timezone.now())})
