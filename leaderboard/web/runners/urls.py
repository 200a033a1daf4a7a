"""Addresses of the runners' API, below /api/runner/v1/."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from leaderboard.judging.lease import kinds
from leaderboard.web.runners import views


class AttemptId(StringConverter):
    """Name of leased work on the wire: `12`, `admission-3`, `confirmation-4`."""

    regex = f"(?:{'|'.join(kind.WIRE_PREFIX for kind in kinds())})[0-9]{{1,19}}"


register_converter(AttemptId, "attempt")

urlpatterns = [
    path("hello", views.Hello.as_view()),
    path("claim", views.Claim.as_view()),
    path("drain", views.Drain.as_view()),
    path("attempts/<attempt:attempt_id>/renew", views.Renew.as_view()),
    path("attempts/<attempt:attempt_id>/release", views.Release.as_view()),
    path("attempts/<attempt:attempt_id>/events", views.Events.as_view()),
    path("attempts/<attempt:attempt_id>/report", views.TakeReport.as_view()),
]
