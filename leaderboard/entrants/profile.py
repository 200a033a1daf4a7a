"""Profile of an entrant: division, affiliation, pseudonym, eligibility. The captain edits it."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import Stage, window_of
from leaderboard.competitions.models import Competition, Track
from leaderboard.entrants import permissions
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.names import clean_name, clean_text
from leaderboard.errors import UserError

MAX_AFFILIATION_CHARS: Final = 128


def division_is_fixed(entrant: Entrant) -> bool:
    """Return whether the first ranked submission of the contest has fixed the division."""
    window = window_of(entrant.competition.schedule, Stage.CONTEST)
    sent = entrant.submissions.filter(mode="ranked")
    if window.since is not None:
        sent = sent.filter(created_at__gte=window.since)
    if window.until is not None:
        sent = sent.filter(created_at__lt=window.until)
    return sent.exists()


@transaction.atomic
def choose_division(*, entrant: Entrant, actor: User, division: str, model_name: str, now: datetime) -> None:
    found = permissions.lock_as_captain(entrant, actor, "choose its division")
    if division_is_fixed(found):
        text = "it is fixed since your first ranked submission of the contest; an organiser can tell you more"
        raise UserError("division", division, text, status=409)
    if not division:
        raise UserError("division", "", "choose one")
    division, model_name = permissions.checked_division(found.competition, division, model_name)
    _set(found, actor, now, "choose_division", division=division, model_name=model_name)


@transaction.atomic
def say_affiliation(*, entrant: Entrant, actor: User, affiliation: str, now: datetime) -> None:
    found = permissions.lock_as_captain(entrant, actor, "say its affiliation")
    text = clean_text("affiliation", affiliation, most=MAX_AFFILIATION_CHARS)
    _set(found, actor, now, "say_affiliation", affiliation=text)


@transaction.atomic
def take_pseudonym(*, entrant: Entrant, actor: User, pseudonym: str, now: datetime) -> None:
    """Set the pseudonym, once: readers of the board can rely on it that a name is always the same entrant."""
    permissions.lock_names(entrant.competition)
    found = permissions.lock_as_captain(entrant, actor, "choose its pseudonym")
    permissions.check_not_over(found.competition, now)
    if found.pseudonym:
        raise UserError("pseudonym", pseudonym, f"you have one: {found.pseudonym}; it stays the same", status=409)
    name = clean_name("pseudonym", pseudonym)
    permissions.check_name_is_free(found.competition, "pseudonym", name, without=found)
    if name.casefold() == found.name.casefold():
        raise UserError("pseudonym", pseudonym, "this is your name; choose another")
    _set(found, actor, now, "take_pseudonym", pseudonym=name)


@transaction.atomic
def reveal(*, entrant: Entrant, actor: User, now: datetime) -> None:
    """Show the name with the pseudonym from now on. It cannot be hidden again."""
    found = permissions.lock_as_captain(entrant, actor, "reveal its name")
    if not found.pseudonym or found.revealed_at:
        raise UserError("pseudonym", found.pseudonym, "there is nothing to reveal", status=409)
    found.revealed_at = now
    found.save(update_fields=["revealed_at"])
    record("reveal_entrant", found, actor=actor, now=now)


def tracks_to_declare(competition: Competition) -> list[Track]:
    return list(competition.tracks.exclude(eligibility=""))


@transaction.atomic
def declare(*, entrant: Entrant, actor: User, tracks: Collection[str], now: datetime) -> None:
    """Declare that the entrant meets the eligibility text of exactly these tracks."""
    found = permissions.lock_as_captain(entrant, actor, "declare that it is eligible")
    final_at = found.competition.final_at
    if final_at is not None and final_at <= now:
        raise UserError("declared", "", "the competition is final", status=409)
    known = {track.slug for track in tracks_to_declare(found.competition)}
    unknown = sorted(set(tracks) - known)
    if unknown:
        raise UserError("declared", ", ".join(unknown), "no such track asks for it")
    _set(found, actor, now, "declare_eligibility", declared=sorted(set(tracks)))


def _set(entrant: Entrant, actor: User, now: datetime, act: str, **values: Any) -> None:
    before = {name: getattr(entrant, name) for name in values}
    if before == values:
        return
    for name, value in values.items():
        setattr(entrant, name, value)
    entrant.save(update_fields=list(values))
    record(act, entrant, actor=actor, now=now, before=before, after=values)
