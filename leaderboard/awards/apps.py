from __future__ import annotations

from django.apps import AppConfig


class AwardsConfig(AppConfig):
    name = "leaderboard.awards"
