"""The site's worker: `dramatiq leaderboard.actors --queues site`. Its actors wrap acts that may run twice."""

import sys
from typing import Any

import django
import dramatiq

from leaderboard import env, safety

env.choose_settings("leaderboard.settings")
try:
    django.setup()
    safety.refuse_unsafe_settings()
except env.ConfigError as error:
    sys.exit(f"{error}")

from django.conf import settings  # noqa: E402  (Django must be set up first)
from django.db import connections  # noqa: E402
from django.utils import timezone  # noqa: E402

from leaderboard import broker, pipeline  # noqa: E402
from leaderboard.review.rules import static_check  # noqa: E402


class GiveBackConnections(dramatiq.Middleware):
    """As Django does after a request: a thread keeps no connection between messages, above all no dead connection."""

    def after_process_message(self, *args: Any, **kwargs: Any) -> None:
        connections.close_all()


broker.get_broker().add_middleware(GiveBackConnections())
dramatiq.set_broker(broker.get_broker())


@dramatiq.actor(actor_name=pipeline.ASK_HINT, queue_name=broker.SITE_QUEUE, max_retries=1)
def ask_hint(submission_id: str) -> None:
    static_check.ask_hint(submission_id=int(submission_id), command=settings.HINT_COMMAND, now=timezone.now())
