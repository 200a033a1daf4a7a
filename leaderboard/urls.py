"""All addresses of the site live in `leaderboard.web`."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("", include("leaderboard.web.urls"))]
handler500 = "leaderboard.web.service.server_error"
