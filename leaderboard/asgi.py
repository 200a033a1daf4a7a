"""The site as an ASGI application: `uvicorn leaderboard.asgi:application`."""

from __future__ import annotations

from django.core.asgi import get_asgi_application

from leaderboard import env

env.choose_settings("leaderboard.settings")
application = get_asgi_application()
