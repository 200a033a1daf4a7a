from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "leaderboard.web"

    def ready(self) -> None:
        from leaderboard import safety  # noqa: F401  (registers its checks)
