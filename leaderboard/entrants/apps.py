from __future__ import annotations

from django.apps import AppConfig


class EntrantsConfig(AppConfig):
    name = "leaderboard.entrants"
