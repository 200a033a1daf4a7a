"""`sweep [--forever]`: expire leases and ring for queued work of all kinds, once or every SWEEP_EVERY_S."""

import signal
import threading
import time
from importlib import import_module
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import close_old_connections, connections
from django.utils import timezone

from leaderboard.judging import sweep
from leaderboard.judging.lease import clock
from leaderboard.judging.models import Watch
from leaderboard.operations.notices import send_notices

CLEAR_EVERY_S: Final = 3600.0  # deletes expired sessions; not urgent

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = "Expire leases and ring for queued work."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--forever", action="store_true", help="go on until SIGTERM or SIGINT")

    def handle(self, *args: Any, forever: bool, **options: Any) -> None:
        if not forever:
            self.stdout.write("{} lost, {} rung".format(*_sweep()))
            clear_sessions()
            return
        clear_at = time.monotonic()
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        threading.Thread(target=_send_notices_until, args=(stopped,), name="notices", daemon=True).start()
        while not stopped.is_set():
            try:
                _sweep()
                if time.monotonic() >= clear_at:
                    clear_at = time.monotonic() + CLEAR_EVERY_S
                    clear_sessions()
            except Exception:  # the top of the loop: the database may be away for a moment
                log.exception("sweep_failed")
                close_old_connections()
            stopped.wait(settings.SWEEP_EVERY_S)


def _sweep() -> tuple[int, int]:
    """Sweep once and return the counts of expired leases and rings.

    While the site is away it does nothing: no runner could renew a lease, hear a ring or take work.
    """
    if not sweep.may_expire(now=clock()):
        return 0, 0
    lost, rung = sweep.expire_leases(now=clock()), sweep.ring_idle()
    Watch.objects.filter(pk=1).update(swept_at=clock())  # a long sweep is not a pause
    if lost or rung:
        log.info("swept", lost=lost, rung=rung)
    return lost, rung


def _send_notices_until(stopped: threading.Event) -> None:
    """Send notices beside the sweeps: a slow mail server must not delay them."""
    while not stopped.wait(settings.SWEEP_EVERY_S):
        try:
            send_notices(now=timezone.now())
        except Exception:  # the top of the loop
            log.exception("notices_failed")
        finally:
            connections.close_all()


def clear_sessions() -> None:
    """Delete expired sessions. Any number of sweepers may do it."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
