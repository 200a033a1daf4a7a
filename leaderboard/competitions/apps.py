from __future__ import annotations

from django.apps import AppConfig


class CompetitionsConfig(AppConfig):
    name = "leaderboard.competitions"
