"""`sweep [--forever]`: expire leases and ring for queued work, once or every SWEEP_EVERY_S; chores each hour."""

import signal
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import close_old_connections, connections
from django.utils import timezone
from django.utils.module_loading import import_string

from leaderboard.judging import archive, batches, sweep
from leaderboard.judging.lease import clock
from leaderboard.judging.models import Watch
from leaderboard.operations.chores import delete_old, forget_sessions, make_event_months, purge
from leaderboard.operations.notices import send_notices
from leaderboard.operations.outbox import SEND_EVERY_S, send_mails

CHORES_EVERY_S: Final = 3600.0

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = "Expire leases and ring for queued work."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--forever", action="store_true", help="go on until SIGTERM or SIGINT")

    def handle(self, *args: Any, forever: bool, **options: Any) -> None:
        if not forever:
            self.stdout.write("{} lost, {} rung".format(*sweep_once()))
            do_chores(now=timezone.now())
            return
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        besides: tuple[tuple[Callable[..., object], float], ...] = (
            (send_notices, settings.SWEEP_EVERY_S),
            (send_mails, SEND_EVERY_S),
            (do_chores, CHORES_EVERY_S),
            *((import_string(act), every_s) for act, every_s in settings.SWEEPER_ACTS),
        )
        for act, every_s in besides:
            args = (stopped, act, every_s)
            threading.Thread(target=_repeat, args=args, name=act.__name__, daemon=True).start()
        while not stopped.is_set():
            try:
                sweep_once()
            except Exception:  # the top of the loop: the database may be away for a moment
                log.exception("sweep_failed")
                close_old_connections()
            stopped.wait(settings.SWEEP_EVERY_S)


def sweep_once() -> tuple[int, int]:
    """Sweep once and return the counts of expired leases and rings.

    While the site is away it does nothing: no runner could renew a lease, hear a ring or take work.
    """
    if not sweep.may_expire(now=clock()):
        return 0, 0
    began_at = clock()
    lost = sweep.expire_leases(now=began_at)
    unsettled = batches.settle_unsettled(now=clock())
    rung = sweep.ring_idle()
    ended_at = clock()
    whole = {} if unsettled or sweep.has_expired(now=began_at) else {"whole_sweep_at": ended_at}
    Watch.objects.filter(pk=1).update(swept_at=ended_at, **whole)  # a long sweep is not a pause
    if lost or rung:
        log.info("swept", lost=lost, rung=rung)
    return lost, rung


def _repeat(stopped: threading.Event, act: Callable[..., object], every_s: float) -> None:
    """Repeat an act beside the sweeps: a slow mail server or store of reports must not delay them."""
    while not stopped.is_set():
        try:
            act(now=timezone.now())
        except Exception:  # the top of the loop
            log.exception(f"{act.__name__}_failed")
        finally:
            connections.close_all()
        stopped.wait(every_s)


def do_chores(*, now: datetime) -> None:
    """Make months of events, and delete what nobody needs any more.

    Any number of sweepers may do it; one chore that fails stops no other.
    """
    for chore in (make_event_months, delete_old, forget_sessions, purge, archive.expire, archive.sweep_contents):
        try:
            done = chore(now=now)
        except Exception:  # the top of the chore
            log.exception("chore_failed", chore=chore.__name__)
            close_old_connections()
        else:
            log.info("chore_done", chore=chore.__name__, count=done)
