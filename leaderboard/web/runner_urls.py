"""Addresses of the door for runners, below /api/runner/v1/."""

from __future__ import annotations

from django.urls import path

from leaderboard.web import admission_door, runner_api

urlpatterns = [
    path("hello", runner_api.Hello.as_view()),
    path("claim", runner_api.Claim.as_view()),
    path("attempts/<int:attempt_id>/renew", runner_api.Renew.as_view()),
    path("attempts/<int:attempt_id>/events", runner_api.Events.as_view()),
    path("attempts/<int:attempt_id>/report", runner_api.TakeReport.as_view()),
    path("attempts/admission-<int:pk>/renew", admission_door.Renew.as_view()),
    path("attempts/admission-<int:pk>/events", admission_door.Events.as_view()),
    path("attempts/admission-<int:pk>/report", admission_door.TakeReport.as_view()),
]
