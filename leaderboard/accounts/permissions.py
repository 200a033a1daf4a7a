"""Checks for acts of organisers and staff: permission, and a written reason. The choice of accounts about data sets."""

from datetime import datetime
from typing import Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.conf import settings

from leaderboard.accounts.models import DATA_SET_CHOICES, PUBLIC, DataSetChoice, User
from leaderboard.errors import UserError

MAX_REASON_CHARS: Final = 2_000


def check_staff(actor: User, act: str) -> None:
    if not (actor.is_active and (actor.is_staff or actor.is_superuser)):
        raise UserError("actor", actor.get_username(), f"only an organiser may {act}", status=403)


def check_over(actor: User | None, person: User, act: str) -> None:
    """Check that the actor may act on this person's account. `actor` None: an operator by command.

    Only superusers act on staff. Nobody acts on themself: a slip would lock out the person who could repair it.
    """
    if actor is None:
        return
    check_staff(actor, act)
    name = person.get_username()
    if person.account_id == actor.account_id:
        raise UserError("person", name, f"this is you; ask another administrator to {act}", status=403)
    if (person.is_staff or person.is_superuser) and not actor.is_superuser:
        raise UserError("person", name, f"is staff; only a superuser may {act}", status=403)


def check_reason(reason: str) -> None:
    if not reason.strip() or len(reason) > MAX_REASON_CHARS or "\x00" in reason:
        raise UserError("reason", reason, f"say why, in 1 to {MAX_REASON_CHARS:,} characters")


def lacks_second_factor(user: User) -> bool:
    """Return whether the site demands a second factor that this administrator does not have."""
    if not settings.STAFF_SECOND_FACTOR or not (user.is_staff or user.is_superuser):
        return False
    strong = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
    return not Authenticator.objects.filter(user=user, type__in=strong).exists()


def check_confirmed_email(user: User) -> None:
    """Refuse a person without a confirmed address, if the site demands one of competitors; for an agent, its owner."""
    if not settings.RANKED_NEEDS_EMAIL or EmailAddress.objects.filter(user=user.person, verified=True).exists():
        return
    text = "a ranked submission needs a confirmed e-mail address; add one at /account/email, or send it in mode test"
    raise UserError("mode", "ranked", text, status=403)


def data_set_choice(user: User) -> str:
    """Return what data sets may contain of the user's account; PUBLIC without a choice."""
    found = DataSetChoice.objects.filter(account=user.account_id).first()
    return found.choice if found else PUBLIC


def choose_data_sets(*, user: User, choice: str, now: datetime) -> str:
    """Store the choice for all logins of the account. It holds from the next export on."""
    if choice not in DATA_SET_CHOICES:
        raise UserError("choice", choice, f"choose one of {', '.join(DATA_SET_CHOICES)}")
    DataSetChoice.objects.update_or_create(account_id=user.account_id, defaults={"choice": choice, "changed_at": now})
    return choice
