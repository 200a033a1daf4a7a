from __future__ import annotations

from django.apps import AppConfig


class ConfirmationsConfig(AppConfig):
    name = "leaderboard.confirmations"
