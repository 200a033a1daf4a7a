"""Enrolment of a host by a one-time code: make a code, withdraw it, and make the runner of the host that sends it.

A code is for one runner of a name and a hardware, is stored as a digest, and expires. The host makes its token and
sends the token's digest, so no page and no answer ever carries the token.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_staff
from leaderboard.accounts.tokens import digest_of, make_secret
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging.models import Enrolment, Runner
from leaderboard.judging.runners import add_runner, check_new
from runner import wire

KIND: Final = "pfe_"
LASTS: Final = timedelta(hours=1)
MOST_LASTS: Final = timedelta(days=7)
MOST_OPEN: Final = 100  # codes at a time
REMEDY: Final = "ask an administrator for another code"

log = structlog.get_logger(__name__)


def open_codes(now: datetime) -> list[Enrolment]:
    return list(Enrolment.objects.filter(used_at=None, expires_at__gt=now).select_related("created_by"))


@transaction.atomic
def make_code(
    *, name: str, hardware: str, actor: User | None, now: datetime, lasts: timedelta = LASTS
) -> tuple[Enrolment, str]:
    """Make a code; return it and its text, which cannot be shown again. `actor` None is the operator's command."""
    if actor is not None:
        check_staff(actor, "enrol hosts")
    check_new(name, hardware)
    if not timedelta(minutes=1) <= lasts <= MOST_LASTS:
        raise UserError("minutes", lasts.total_seconds() / 60, f"expected 1 to {MOST_LASTS // timedelta(minutes=1):,}")
    unused = open_codes(now)
    if any(code.name == name for code in unused):
        raise UserError("name", name, "there is an open code for this name; use it, or withdraw it", status=409)
    if len(unused) >= MOST_OPEN:
        raise UserError("name", name, f"{MOST_OPEN} codes are open; withdraw some", status=409)
    secret = make_secret(KIND)
    code = Enrolment.objects.create(
        name=name,
        hardware=hardware,
        code_prefix=secret.prefix,
        code_digest=secret.digest,
        created_by=actor,
        created_at=now,
        expires_at=now + lasts,
    )
    after = {"name": name, "hardware": hardware, "expires_at": code.expires_at}
    record(act="make_enrolment_code", target=code, actor=actor, now=now, after=after)
    return code, secret.text


@transaction.atomic
def withdraw_code(*, code: Enrolment, actor: User, now: datetime) -> None:
    check_staff(actor, "withdraw an enrolment code")
    if not Enrolment.objects.filter(pk=code.pk, used_at=None, expires_at__gt=now).update(expires_at=now):
        raise UserError("code", code.code_prefix, "was used or has expired already", status=409)
    record(act="withdraw_enrolment_code", target=code, actor=actor, now=now)


@transaction.atomic
def redeem(*, asked: wire.Enrolment, now: datetime) -> Runner:
    """Make the runner of a code and use the code up. A repeated request for the same token returns the same runner."""
    code = Enrolment.objects.select_for_update().filter(code_digest=digest_of(asked.code)).first()
    if code is None:
        raise UserError("code", None, f"the site knows no such code; {REMEDY}", status=403)
    if code.runner is not None:
        if code.runner.token_digest == asked.token_digest:
            return code.runner
        raise UserError("code", None, f"it was used for runner {code.name} already; {REMEDY}", status=403)
    if code.expires_at <= now:
        raise UserError("code", None, f"it expired at {code.expires_at:%Y-%m-%d %H:%M} UTC; {REMEDY}", status=403)
    if asked.hardware != code.hardware:
        remedy = f"this code is for hardware {code.hardware}; set RUNNER_HARDWARE to it, or {REMEDY}"
        raise UserError("hardware", asked.hardware, remedy, status=403)
    unfit = [line.name for line in asked.checks if not line.is_fit]
    if unfit or not asked.checks:
        named = f"the doctor found this host unfit: {', '.join(unfit)}" if unfit else "the doctor's lines are missing"
        raise UserError("checks", None, f"{named}; run `runner doctor` there and follow its remedies")
    runner = add_runner(code.name, code.hardware, asked.token_prefix, asked.token_digest, now)
    code.used_at, code.runner = now, runner
    code.checks = [{"name": line.name, "result": line.result, "found": line.found} for line in asked.checks]
    code.save(update_fields=["used_at", "runner", "checks"])
    after = {"name": runner.name, "token": asked.token_prefix, "code": code.code_prefix}
    record(
        act="enrol_runner", target=runner, actor=code.created_by, now=now, reason="with a one-time code", after=after
    )
    log.info("runner_enrolled", runner=runner.name, hardware=runner.hardware)
    return runner
