from __future__ import annotations

from django.apps import AppConfig


class AdmissionsConfig(AppConfig):
    name = "leaderboard.admissions"
