"""Addresses of the door for runners, below /api/runner/v1/."""

from __future__ import annotations

from django.urls import path

from leaderboard.web import runner_api, work_door

urlpatterns = [
    path("hello", runner_api.Hello.as_view()),
    path("claim", runner_api.Claim.as_view()),
    path("drain", runner_api.Drain.as_view()),
    path("attempts/<int:attempt_id>/renew", runner_api.Renew.as_view()),
    path("attempts/<int:attempt_id>/release", runner_api.Release.as_view()),
    path("attempts/<int:attempt_id>/events", runner_api.Events.as_view()),
    path("attempts/<int:attempt_id>/report", runner_api.TakeReport.as_view()),
]
for work in (work_door.ADMISSION, work_door.CONFIRMATION):
    urlpatterns += [
        path(f"attempts/{work.name}-<int:pk>/renew", work_door.Renew.as_view(work=work)),
        path(f"attempts/{work.name}-<int:pk>/release", work_door.Release.as_view(work=work)),
        path(f"attempts/{work.name}-<int:pk>/events", work_door.Events.as_view(work=work)),
        path(f"attempts/{work.name}-<int:pk>/report", work_door.TakeReport.as_view(work=work)),
    ]
