"""Runners: create, recognise and greet them, change their tokens, take them out of service, put them back, retire them.

A runner out of service claims nothing but may finish its work.

- Suspended: by an organiser or after losses, until a person resumes the runner.
- Set aside: its own judge found the device unfit, until its canary passes, which `hello` reports.
- Draining: the runner finishes its work and stays idle, for an update, until its operator or an organiser lets it claim
  again. Both may ask for it.
- Refused: the site cannot judge with its software (fleet.py).
- Revoked: its tokens are dead. Retired: its host has left the fleet, too; only its history is shown.
"""

import math
import re
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.accounts.tokens import MAX_SECRET_CHARS, digest_of, make_secret
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging.epochs import check_epoch, check_readable, propose_epoch
from leaderboard.judging.lease import hand_back, kinds, lock_held
from leaderboard.judging.models import DONE, LOST, Attempt, Runner, Watch
from leaderboard.operations.notices import tell_operators
from runner.wire import RUNNER_KIND, Place

KIND: Final = RUNNER_KIND
GRACE: Final = timedelta(minutes=15)  # for an operator to install the new token on the host and restart the runner
MOST_GRACE: Final = timedelta(days=7)
SEEN_EVERY: Final = timedelta(seconds=10)
REVOKED: Final = "The machine that judged this was taken out of service; it is queued again, in its old place"
MAX_DEPTH: Final = 32  # of JSON from a runner
MAX_WHOLE: Final = 2**63
LOSSES: Final = 2  # different submissions, with none finished in between
WINDOW: Final = timedelta(hours=1)  # in which losses count
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HARDWARE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

log = structlog.get_logger(__name__)


def create_runner(*, name: str, hardware: str, now: datetime) -> tuple[Runner, str]:
    """Create a runner; return it and the text of its token, which cannot be shown again."""
    check_new(name, hardware)
    secret = make_secret(KIND)
    return add_runner(name, hardware, secret.prefix, secret.digest, now), secret.text


def check_new(name: str, hardware: str) -> None:
    """Refuse a name that no new runner may have."""
    if not _NAME.fullmatch(name):
        raise UserError("name", name, "use letters, digits, _ and - (at most 64)")
    if not _HARDWARE.fullmatch(hardware):
        raise UserError("hardware", hardware, "use letters, digits, _ . and - (at most 64)")
    if Runner.objects.filter(name=name).exists():
        raise UserError("name", name, "there is a runner of this name; retired runners keep theirs", status=409)


def add_runner(name: str, hardware: str, token_prefix: str, token_digest: str, now: datetime) -> Runner:
    """Store a runner with checked names."""
    try:
        with transaction.atomic():
            return Runner.objects.create(
                name=name, hardware=hardware, token_prefix=token_prefix, token_digest=token_digest, created_at=now
            )
    except IntegrityError:
        raise UserError("name", name, "there is a runner of this name or with this token", status=409) from None


def find_runner(text: str, *, now: datetime) -> Runner | None:
    """Return the runner of this token, even if revoked: the caller refuses a revoked runner by name."""
    if not text.startswith(KIND) or len(text) > MAX_SECRET_CHARS:
        return None
    digest = digest_of(text)
    return Runner.objects.filter(Q(token_digest=digest) | Q(old_token_digest=digest, old_token_until__gt=now)).first()


def note_seen(runner: Runner, *, address: str, now: datetime) -> None:
    """Record time and address of the token's last use, at most once every SEEN_EVERY from the same address."""
    try:
        seen_from = str(ip_address(address))
    except ValueError:  # a unix socket
        seen_from = None
    last = runner.last_seen_at
    if last is None or runner.seen_from != seen_from or now - last > SEEN_EVERY:
        Runner.objects.filter(pk=runner.pk).update(last_seen_at=now, seen_from=seen_from)


@transaction.atomic
def rotate(*, runner: Runner, actor: User | None, reason: str, now: datetime, grace: timedelta = GRACE) -> str:
    """Replace the runner's token; return the new text, which cannot be shown again.

    The old token stays valid for `grace`.
    """
    check_reason(reason)
    if not timedelta(0) <= grace <= MOST_GRACE:
        most = int(MOST_GRACE.total_seconds())
        raise UserError("grace", grace.total_seconds(), f"expected 0 to {most:,} seconds; 0 ends the old token at once")
    runner = Runner.objects.select_for_update().get(pk=runner.pk)
    if runner.revoked_at:
        raise UserError("runner", runner.name, "was revoked; make another runner with create_runner", status=409)
    secret = make_secret(KIND)
    runner.old_token_digest, runner.old_token_until = runner.token_digest, now + grace
    runner.token_prefix, runner.token_digest = secret.prefix, secret.digest
    runner.save(update_fields=["old_token_digest", "old_token_until", "token_prefix", "token_digest"])
    after = {"token": secret.prefix, "old_token_until": runner.old_token_until.isoformat()}
    record(act="rotate_runner", target=runner, actor=actor, reason=reason, now=now, after=after)
    return secret.text


@transaction.atomic
def revoke(*, runner: Runner, actor: User | None, reason: str, now: datetime) -> None:
    """Revoke all tokens of the runner for good. Its work is queued again, and no loss is counted."""
    check_reason(reason)
    held = lock_held(runner)
    if not Runner.objects.filter(pk=runner.pk, revoked_at=None).update(revoked_at=now, revoked_reason=reason):
        raise UserError("runner", runner.name, "is revoked already", status=409)
    for work in held:
        hand_back(work, now=now, message=REVOKED)
    record(act="revoke_runner", target=runner, actor=actor, reason=reason, now=now)
    log.warning("runner_revoked", runner=runner.name, reason=reason)


@transaction.atomic
def retire(*, runner: Runner, actor: User | None, reason: str, now: datetime) -> None:
    """Let a runner leave the fleet: its tokens die and its history stays. It must have finished its work."""
    check_reason(reason)
    runner = Runner.objects.select_for_update().get(pk=runner.pk)  # no claim passes this row
    if runner.retired_at:
        raise UserError("runner", runner.name, "is retired already", status=409)
    if held := held_by(runner):
        text = f"still judges {held}; drain it and wait, or revoke it, which queues its work again"
        raise UserError("runner", runner.name, text, status=409)
    runner.retired_at = now
    if not runner.revoked_at:
        runner.revoked_at, runner.revoked_reason = now, reason
    runner.save(update_fields=["retired_at", "revoked_at", "revoked_reason"])
    record(act="retire_runner", target=runner, actor=actor, reason=reason, now=now)


def lock_able(runner: Runner, *, now: datetime) -> bool:
    """Lock the row of a runner that may claim work and record its visit. Return False if it may not work now."""
    return bool(Runner.objects.able().filter(pk=runner.pk).update(last_seen_at=now))


def held_by(runner: Runner) -> str:
    """Return the wire's `attempt_id` of the work that this runner holds; "" if it holds none."""
    for kind in kinds():
        if work := kind.running().filter(runner=runner).first():
            return work.attempt_id
    return ""


@transaction.atomic
def greet(*, runner: Runner, fingerprint: dict[str, Any], epoch: str, now: datetime, place: Place | None = None) -> str:
    """Record a runner's hello and its fit device, so that it may claim again. Return the state of its timing epoch."""
    check_storable(fingerprint, "fingerprint")
    check_epoch(epoch, "epoch")
    check_readable(fingerprint)
    told: dict[str, Any] = {"last_seen_at": now, "greeted_at": now, "fingerprint": fingerprint, "epoch": epoch}
    told["place"] = (place or Place()).to_json()
    Runner.objects.filter(pk=runner.pk).update(**told, set_aside_at=None, set_aside_reason="")
    state = ""
    if not runner.suspended_at:
        state = propose_epoch(hardware=runner.hardware, name=epoch, fingerprint=fingerprint, now=now)
    log.info("runner_hello", runner=runner.name, hardware=runner.hardware, epoch=epoch, back=bool(runner.set_aside_at))
    return state


def check_hardware(runner: Runner, hardware: str) -> None:
    if hardware != runner.hardware:
        text = f"this token is for hardware {runner.hardware}; use another token"
        raise UserError("hardware", hardware, text, status=403)


def check_storable(value: Any, field: str, depth: int = 0) -> None:
    """Refuse JSON that PostgreSQL cannot store, although Python can read it.

    Raise UserError with the place of the value, for example `report.cases[2].message`.
    """
    if depth > MAX_DEPTH:
        raise UserError(field, None, f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise UserError(field, None, "has a NUL character or half of a surrogate pair")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(field, None, "not a finite number")
    if isinstance(value, int) and abs(value) >= MAX_WHOLE:
        raise UserError(field, None, "a whole number beyond 64 bits")
    if isinstance(value, dict):
        for key, item in value.items():
            check_storable(key, f"{field}: a key", depth)
            check_storable(item, f"{field}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_storable(item, f"{field}[{index}]", depth + 1)


def runner_named(name: str) -> Runner:
    runner = Runner.objects.filter(name=name).first()
    if runner is None:
        names = ", ".join(Runner.objects.values_list("name", flat=True)[:20]) or "none"
        raise UserError("name", name, f"no such runner; there are {names}", status=404)
    return runner


@transaction.atomic
def suspend(*, runner: Runner, actor: User | None, reason: str, now: datetime) -> None:
    """Suspend the runner. `actor` None means that the site acts automatically."""
    check_reason(reason)
    if not Runner.objects.filter(pk=runner.pk, suspended_at=None).update(suspended_at=now, suspended_reason=reason):
        raise UserError("runner", runner.name, "is suspended already", status=409)
    record(act="suspend_runner", target=runner, actor=actor, reason=reason, now=now)
    tell_operators(
        "runner_suspended",
        f"{reason}\nWhen the host is sound: resume_runner {runner.name}",
        subject=runner.name,
        now=now,
    )


@transaction.atomic
def resume(*, runner: Runner, actor: User | None, reason: str, now: datetime) -> None:
    """Resume the runner and forgive its losses until now."""
    check_reason(reason)
    there = Runner.objects.filter(pk=runner.pk, suspended_at__isnull=False)
    if not there.update(suspended_at=None, suspended_reason="", resumed_at=now):
        raise UserError("runner", runner.name, "is not suspended", status=409)
    record(act="resume_runner", target=runner, actor=actor, reason=reason, now=now)


def set_aside(*, runner: Runner, reason: str, now: datetime) -> None:
    Runner.objects.filter(pk=runner.pk).update(set_aside_at=now, set_aside_reason=reason)
    record(act="set_aside_runner", target=runner, actor=None, reason=reason, now=now)
    tell_operators("runner_set_aside", f"{reason}\nIt returns once its canary passes.", subject=runner.name, now=now)


@transaction.atomic
def set_draining(*, runner: Runner, on: bool, actor: User | None, now: datetime, reason: str = "") -> None:
    """Start or end draining. A request for the present state changes nothing.

    `actor` None means that the runner's own host or the operator's command asks.
    """
    there = Runner.objects.filter(pk=runner.pk, draining_at__isnull=on)
    if not there.update(draining_at=now if on else None):
        return
    record(act="drain_runner" if on else "undrain_runner", target=runner, actor=actor, reason=reason, now=now)
    if not on:
        transaction.on_commit(lambda: broker.ring(hardware=runner.hardware, hint="resumed"))


def suspend_if_losing(*, runner: Runner, now: datetime) -> bool:
    """Suspend a runner that lost LOSSES different submissions since it last finished a submission.

    Losses during an outage of the site do not count, and neither do losses within two leases after it.
    """
    runner = Runner.objects.select_for_update().get(pk=runner.pk)
    mine = Attempt.objects.filter(runner=runner)  # one after the other, in the order of their tokens
    finished = mine.filter(result__isnull=False).order_by("-token").values_list("token", "finished_at").first()
    last_token, last_finished = finished or (0, None)
    back_at = Watch.objects.filter(pk=1).values_list("back_at", flat=True).first()
    forgiven_until = back_at and back_at + timedelta(seconds=2 * settings.LEASE_S)
    known = (now - WINDOW, runner.resumed_at, last_finished, forgiven_until)
    since = max(moment for moment in known if moment is not None)
    lost = mine.filter(token__gt=last_token, finished_at__gt=since, state__in=(LOST, DONE), result__isnull=True)
    submissions = lost.order_by().values("submission").distinct().count()
    if runner.suspended_at or submissions < LOSSES:
        return False
    reason = f"lost {submissions} different submissions and finished none in between"
    suspend(runner=runner, actor=None, reason=reason, now=now)
    return True
