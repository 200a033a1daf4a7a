"""Acts of staff on accounts, tokens, names, code and quotas. Each act is one audit row.

Each act locks its object and refuses to repeat itself, so two people who press a button together do a single act.
`undoes` is the audit row that the act reverses (undo.py). `actor` None: an operator by command.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from django.db import IntegrityError, models, transaction
from django.db.models import Q

from leaderboard.accounts.logins import logins_of, sign_out_everywhere
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_over, check_reason, check_staff
from leaderboard.accounts.tokens import tokens_of
from leaderboard.audit.record import record
from leaderboard.awards.life import rename_winners
from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants import permissions
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.names import clean_name, look
from leaderboard.errors import UserError
from leaderboard.judging.attempts import call_off
from leaderboard.judging.models import QUEUED, REJUDGE, Attempt
from leaderboard.submissions.ledger import exceptions_of, give_back
from leaderboard.submissions.models import QuotaException, Submission, Takedown
from leaderboard.submissions.quota import MOST, USUAL

LOGIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", re.ASCII)  # as at the sign-up
MAX_EXCEPTIONS: Final = 20  # in force, of a person
MAX_DAYS: Final = 366
NAME: Final = "name"
PSEUDONYM: Final = "pseudonym"


def _write(act: str, target: models.Model, *, undoes: int | None, after: Mapping[str, Any], **told: Any) -> None:
    record(f"desk_{act}", target, after={**after, "undoes": undoes} if undoes else after, **told)


def _locked(person: User, actor: User | None, reason: str, act: str) -> User:
    """Return the person's account, locked, after the checks that all acts on people share."""
    check_reason(reason)
    account = User.objects.select_for_update(no_key=True).get(pk=person.account_id)
    check_over(actor, account, act)
    return account


@transaction.atomic
def set_active(
    *, person: User, on: bool, actor: User | None, reason: str, now: datetime, undoes: int | None = None
) -> None:
    """Deactivate an account, or reactivate it. A deactivated account can neither sign in nor use its tokens.

    Its waiting submissions are cancelled and cost no quota; those of a team and those being judged stay.
    """
    account = _locked(person, actor, reason, "reactivate an account" if on else "deactivate an account")
    if account.is_active == on:
        raise UserError("person", account.get_username(), f"is {'' if on else 'de'}activated already", status=409)
    account.is_active = on
    account.save(update_fields=["is_active"])
    after: dict[str, Any] = {"is_active": on}
    if not on:
        sign_out_everywhere(account)
        after["cancelled"] = _call_off_waiting(account, now)
    told: dict[str, Any] = {"actor": actor, "reason": reason, "now": now, "before": {"is_active": not on}}
    _write("reactivate" if on else "deactivate", account, undoes=undoes, after=after, **told)


def _call_off_waiting(account: User, now: datetime) -> list[int]:
    """Cancel the person's queued submissions. An attempt that a runner claims meanwhile is skipped, and is judged."""
    waiting = Attempt.objects.current().filter(owner__in=logins_of(account), state=QUEUED).exclude(cause=REJUDGE)
    waiting = waiting.filter(submission__entrant__is_team=False).select_related(
        "submission__owner", "submission__board__competition"
    )
    found = list(waiting.select_for_update(of=("self",), skip_locked=True))
    call_off(found, now=now, message="Cancelled: the account is deactivated")
    for attempt in found:
        give_back(submission=attempt.submission, now=now)
    return [attempt.submission_id for attempt in found]


@transaction.atomic
def sign_out(*, person: User, actor: User | None, reason: str, now: datetime) -> None:
    """End all sessions of an account."""
    account = _locked(person, actor, reason, "sign somebody out")
    sign_out_everywhere(account)
    _write("sign_out", account, undoes=None, after={}, actor=actor, reason=reason, now=now)


@transaction.atomic
def revoke_tokens(*, person: User, actor: User | None, reason: str, now: datetime, only: int | None = None) -> None:
    """Revoke all tokens of an account, or the token with the key `only`."""
    account = _locked(person, actor, reason, "revoke tokens")
    found = tokens_of(account, now).filter(Q() if only is None else Q(pk=only)).select_for_update()
    if not (tokens := list(found)):
        raise UserError("token", account.get_username(), "has no such token, or it is revoked already", status=409)
    tokens_of(account, now).filter(pk__in=[token.pk for token in tokens]).update(revoked_at=now)
    after = {"tokens": [token.prefix for token in tokens]}
    _write("revoke_tokens", account, undoes=None, after=after, actor=actor, reason=reason, now=now)


@transaction.atomic
def set_staff(
    *, person: User, on: bool, actor: User | None, reason: str, now: datetime, undoes: int | None = None
) -> None:
    """Make a person staff, or end that. For superusers, and for an operator by command."""
    if actor is not None and not actor.is_superuser:
        raise UserError("actor", actor.get_username(), "only a superuser may make or unmake staff", status=403)
    account = _locked(person, actor, reason, "make or unmake staff")
    name = account.get_username()
    if on and not account.is_active:
        raise UserError("person", name, "is deactivated; reactivate the account first", status=409)
    if on and logins_of(account).count() > 1:
        raise UserError("person", name, "has linked logins, whose passwords would open the desk, too", status=409)
    if not on and account.is_superuser:
        raise UserError("person", name, "is a superuser, and keeps every right", status=409)
    if account.is_staff == on:
        raise UserError("person", name, f"is {'' if on else 'not '}staff {'already' if on else ''}".strip(), status=409)
    account.is_staff = on
    account.save(update_fields=["is_staff"])
    told: dict[str, Any] = {"actor": actor, "reason": reason, "now": now, "before": {"is_staff": not on}}
    _write("make_staff" if on else "unmake_staff", account, undoes=undoes, after={"is_staff": on}, **told)


def neutral_name(kind: str, key: int) -> str:
    """Return a free name such as user-7, which hides an offensive name."""
    names = (f"{kind}-{key}" if number == 1 else f"{kind}-{key}-{number}" for number in count(1))
    return next(name for name in names if not permissions.is_taken(name))


@transaction.atomic
def rename_person(
    *,
    person: User,
    name: str,
    actor: User | None,
    reason: str,
    now: datetime,
    undoes: int | None = None,
    entrants: Mapping[str, str] | None = None,
) -> None:
    """Rename an account, and its own entrants that carry its name. The person signs in by the new name.

    `entrants`, for undoing: their names by key.
    """
    account = _locked(person, actor, reason, "rename somebody")
    old, name = account.get_username(), name.strip()
    if not LOGIN_NAME.fullmatch(name):
        text = "expected letters, digits and . _ -, starting with a letter or digit; at most 32 characters"
        raise UserError("name", name, text)
    if name == old:
        raise UserError("name", name, "is the name already", status=409)
    if look(name) != look(old) and permissions.is_taken(name):
        raise UserError("name", name, "is taken, or looks like a name that is; choose another", status=409)
    own = Entrant.objects.select_for_update(of=("self",)).filter(is_team=False, memberships__user=account)
    found = [one for one in own.order_by("pk") if re.fullmatch(rf"{re.escape(old)}( \(\d+\))?", one.name)]
    before = {str(one.pk): one.name for one in found}
    try:
        with transaction.atomic():
            account.username = name
            account.save(update_fields=["username"])
            for one in found:
                one.name = (entrants or {}).get(str(one.pk), name)
                one.save(update_fields=["name"])
    except IntegrityError:
        raise UserError("name", name, "is taken meanwhile; choose another", status=409) from None
    rename_winners([one.pk for one in found])
    told: dict[str, Any] = {"actor": actor, "reason": reason, "now": now}
    told |= {"before": {"name": old, "entrants": before}, "after": {"name": name, "entrants": sorted(before)}}
    _write("rename", account, undoes=undoes, **told)


@transaction.atomic
def rename_entrant(
    *,
    entrant: Entrant,
    field: str,
    name: str,
    actor: User | None,
    reason: str,
    now: datetime,
    undoes: int | None = None,
) -> None:
    """Change a team's name, or an entrant's pseudonym: `field` is NAME or PSEUDONYM."""
    check_reason(reason)
    permissions.lock_names(entrant.competition)
    found = permissions.lock_entrant(entrant)
    for member in permissions.members_of(found).select_related("user__linked_to"):
        check_over(actor, member.user.account, "rename their entrant")
    if actor is not None:
        check_staff(actor, "rename an entrant")
    old = getattr(found, field)
    if field == NAME and not found.is_team:
        raise UserError("name", name, "is the name of an account; rename the person", status=409)
    if not old:
        raise UserError("pseudonym", name, f"{found.name} has none", status=409)
    new = clean_name(field, name)
    if new == old:
        raise UserError("name", name, "is the name already", status=409)
    permissions.check_name_is_free(found.competition, field, new, without=found)
    setattr(found, field, new)
    found.save(update_fields=[field])
    rename_winners([found.pk])
    told: dict[str, Any] = {"actor": actor, "reason": reason, "now": now, "before": {"name": old}}
    act = "rename_entrant" if field == NAME else "rename_pseudonym"
    _write(act, found, undoes=undoes, after={"name": new}, **told)


@transaction.atomic
def set_taken_down(
    *, submission: Submission, on: bool, actor: User, reason: str, now: datetime, undoes: int | None = None
) -> None:
    """Hide code, logs and messages of a submission from everybody but reviewers; or show them again."""
    check_staff(actor, "take code down")
    check_over(actor, submission.owner.account, "take their code down or put it back")
    check_reason(reason)
    if on:
        values = {"reason": reason.strip(), "created_at": now}
        _, is_new = Takedown.objects.get_or_create(submission=submission, defaults=values)
    else:
        is_new = bool(Takedown.objects.filter(submission=submission).delete()[0])
    if not is_new:
        text = "the code is taken down already" if on else "the code is not taken down"
        raise UserError("submission", submission.pk, text, status=409)
    told: dict[str, Any] = {"actor": actor, "reason": reason, "now": now}
    _write("take_down" if on else "put_back", submission, undoes=undoes, after={"taken_down": on}, **told)


@transaction.atomic
def grant_quota(
    *,
    person: User,
    competition: Competition,
    board: Board | None,
    mode: str,
    capacity: int,
    per_day: int,
    days: int,
    actor: User | None,
    reason: str,
    now: datetime,
) -> QuotaException:
    """Give a person a quota of their own on a board, or on all boards of a competition, for some days."""
    account = _locked(person, actor, reason, "change their quota")
    if mode not in USUAL:
        raise UserError("mode", mode, f"no such mode; there are {', '.join(USUAL)}")
    for field, number, most in (("capacity", capacity, MOST), ("per_day", per_day, MOST), ("days", days, MAX_DAYS)):
        if not 1 <= number <= most:
            raise UserError(field, number, f"expected 1 to {most:,}")
    present = exceptions_of(account, now)
    if present.filter(competition=competition, board=board, mode=mode).exists():
        raise UserError("mode", mode, "the person has an exception for this; end it first", status=409)
    if present.count() >= MAX_EXCEPTIONS:
        raise UserError("person", account.get_username(), f"has {MAX_EXCEPTIONS} exceptions; end some", status=409)
    quota: dict[str, Any] = {"mode": mode, "capacity": capacity, "per_day": per_day}
    made = QuotaException.objects.create(
        user=account, competition=competition, board=board, created_at=now, ends_at=now + timedelta(days=days), **quota
    )
    after = quota | {"person": account.get_username(), "where": str(board or competition), "ends_at": made.ends_at}
    _write("grant_quota", made, undoes=None, after=after, actor=actor, reason=reason, now=now)
    return made


@transaction.atomic
def set_quota_ended(
    *, exception: QuotaException, on: bool, actor: User | None, reason: str, now: datetime, undoes: int | None = None
) -> None:
    """End an exception early, or put it in force again until its own end."""
    account = _locked(exception.user, actor, reason, "change their quota")  # the lock of all acts on their exceptions
    found = QuotaException.objects.get(pk=exception.pk)
    if found.ends_at <= now:
        raise UserError("exception", str(found), "is over; grant another", status=409)
    if (found.ended_at is not None) == on:
        raise UserError("exception", str(found), "has ended already" if on else "is in force already", status=409)
    same = {"competition": found.competition_id, "board": found.board_id, "mode": found.mode}
    if not on and exceptions_of(account, now).filter(**same).exists():
        raise UserError("exception", str(found), "another exception has replaced it; end that first", status=409)
    found.ended_at = now if on else None
    found.save(update_fields=["ended_at"])
    after = {"person": account.get_username(), "exception": str(found)}
    told: dict[str, Any] = {"actor": actor, "reason": reason, "now": now}
    _write("end_quota" if on else "grant_quota", found, undoes=undoes, after=after, **told)
