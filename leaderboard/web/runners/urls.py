"""Addresses of the runners' API, below /api/runner/v1/."""

from __future__ import annotations

from django.urls import path

from leaderboard.web.runners import views, work_door

urlpatterns = [
    path("hello", views.Hello.as_view()),
    path("claim", views.Claim.as_view()),
    path("drain", views.Drain.as_view()),
    path("attempts/<int:attempt_id>/renew", views.Renew.as_view()),
    path("attempts/<int:attempt_id>/release", views.Release.as_view()),
    path("attempts/<int:attempt_id>/events", views.Events.as_view()),
    path("attempts/<int:attempt_id>/report", views.TakeReport.as_view()),
]
for work in (work_door.ADMISSION, work_door.CONFIRMATION):
    urlpatterns += [
        path(f"attempts/{work.name}-<int:pk>/renew", work_door.Renew.as_view(work=work)),
        path(f"attempts/{work.name}-<int:pk>/release", work_door.Release.as_view(work=work)),
        path(f"attempts/{work.name}-<int:pk>/events", work_door.Events.as_view(work=work)),
        path(f"attempts/{work.name}-<int:pk>/report", work_door.TakeReport.as_view(work=work)),
    ]
