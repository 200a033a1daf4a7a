"""The client's addresses, without a slash at the end: it follows no redirect of a POST. The broadest come last."""

from typing import Final

from django.conf import settings
from django.urls import URLPattern, path, re_path

from leaderboard.web.popcorn import admin, views
from leaderboard.web.popcorn.stream import send_and_follow

BY_HAND: Final = f"provider: `popcorn register` signs in at another site. {views.WAY_IN}"
NO_REPOSITORY: Final = (
    f"this call takes no folder and no repository; import the set from a zip file or git at {settings.SITE_URL}/sets, "
    "or with `photofinish admin import`"
)
NO_SLASH: Final = "POPCORN_API_URL: ends in a slash. Write the address without that slash."
ABSENT: Final = {
    "auth/init": BY_HAND,
    "auth/cli/<str:provider>": BY_HAND,
    "profile": f"mode: {views.NO_PROFILES}",
    "jobs/<str:job>": f"job: {views.NO_PROFILES}",
    "admin/leaderboards": f"directory: {NO_REPOSITORY}",
    "admin/update-problems": f"repository: {NO_REPOSITORY}",
}

urlpatterns: list[URLPattern] = [
    path("health", views.Health.as_view()),
    path("leaderboards", views.Leaderboards.as_view()),
    path("gpus/<str:leaderboard>", views.Gpus.as_view()),
    path("runner_queue/<str:gpu>", views.RunnerQueue.as_view()),
    path("submissions/<str:leaderboard>/<str:gpu>", views.Ranking.as_view()),
    path("submission_count/<str:leaderboard>/<str:gpu>", views.Count.as_view()),
    path("submission/<str:leaderboard>/<str:gpu>/<str:mode>", views.Submit.as_view()),
    path("user/submissions", views.Submissions.as_view()),
    path("user/submissions/<int:pk>", views.OneSubmission.as_view()),
    path("user/join", views.Join.as_view()),
    *(path(route, views.NotHere.as_view(problem=problem)) for route, problem in ABSENT.items()),
    path("admin/start", admin.Start.as_view()),
    path("admin/stop", admin.Stop.as_view()),
    path("admin/stats", admin.Stats.as_view()),
    path("admin/submissions/<int:pk>", admin.AnySubmission.as_view()),
    path("admin/leaderboards/<str:leaderboard>", admin.OneLeaderboard.as_view()),
    path("admin/leaderboards/<str:leaderboard>/invites", admin.InvitesOf.as_view()),
    path("admin/invites", admin.Invites.as_view()),
    path("admin/invites/<str:code>", admin.OneInvite.as_view()),
    re_path("^/", views.NotHere.as_view(problem=NO_SLASH)),
    path("profile/<str:leaderboard>/<str:gpu>", send_and_follow, {"mode": "profile"}),
    path("<str:leaderboard>/<str:gpu>/<str:mode>", send_and_follow),
    re_path("", views.NotHere.as_view()),
]
