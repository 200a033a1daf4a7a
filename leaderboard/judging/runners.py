"""Runners: make one with its token, recognise it, greet it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import structlog
from django.db import IntegrityError, transaction

from leaderboard.accounts.secret import MAX_SECRET_CHARS, digest_of, make_secret
from leaderboard.errors import UserError
from leaderboard.judging.epochs import check_epoch, open_epoch
from leaderboard.judging.models import Runner
from leaderboard.judging.storable import check_storable

KIND: Final = "pfr_"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HARDWARE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

log = structlog.get_logger(__name__)


def create_runner(*, name: str, hardware: str, now: datetime) -> tuple[Runner, str]:
    """A new runner and its token's text, which nothing can show again."""
    if not _NAME.fullmatch(name):
        raise UserError("name", name, "use letters, digits, _ and - (at most 64)")
    if not _HARDWARE.fullmatch(hardware):
        raise UserError("hardware", hardware, "use letters, digits, _ . and - (at most 64)")
    secret = make_secret(KIND)
    try:
        with transaction.atomic():
            runner = Runner.objects.create(
                name=name, hardware=hardware, token_prefix=secret.prefix, token_digest=secret.digest, created_at=now
            )
    except IntegrityError:
        raise UserError("name", name, "there is a runner of this name", status=409) from None
    return runner, secret.text


def find_runner(text: str) -> Runner | None:
    if not text.startswith(KIND) or len(text) > MAX_SECRET_CHARS:
        return None
    return Runner.objects.filter(token_digest=digest_of(text)).first()


@transaction.atomic
def greet(*, runner: Runner, fingerprint: dict[str, Any], epoch: str, now: datetime) -> None:
    """The runner is there, says what it is, and by that that its device is fit: it may claim again if it might not."""
    check_storable(fingerprint, "fingerprint")
    check_epoch(epoch, "epoch")
    told = {"last_seen_at": now, "greeted_at": now, "fingerprint": fingerprint, "epoch": epoch}
    Runner.objects.filter(pk=runner.pk).update(**told, set_aside_at=None, set_aside_reason="")
    open_epoch(hardware=runner.hardware, name=epoch, now=now)
    log.info("runner_hello", runner=runner.name, hardware=runner.hardware, epoch=epoch, back=runner.is_set_aside)


def check_hardware(runner: Runner, hardware: str) -> None:
    if hardware != runner.hardware:
        raise UserError(
            "hardware", hardware, f"this token is for hardware {runner.hardware}; use another token", status=403
        )


def runner_named(name: str) -> Runner:
    runner = Runner.objects.filter(name=name).first()
    if runner is None:
        names = ", ".join(Runner.objects.values_list("name", flat=True)[:20]) or "none"
        raise UserError("name", name, f"no such runner; there are {names}", status=404)
    return runner
