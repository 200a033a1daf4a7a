"""Create a competition, and change its settings.

Its slug is its address and stays. `revealed_at` and `final_at` are acts of the standings and not edited here. `edited`
remembers the fields that were edited here: the next import of the set leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import phase_at
from leaderboard.competitions.checks import TIMES, check_near, check_settings, check_slug
from leaderboard.competitions.models import CLOSED, Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.competitions.plain import changed, plain
from leaderboard.errors import UserError

EDITABLE: Final = (
    *("name", "description", "rules", "visibility"),
    *TIMES,
    *("stays_open", "divisions", "max_team_size", "scoring", "two_person_rule", "default_licence"),
)
IMPORTED: Final = ("name", "description", "deadline", "scoring")  # a set may also give these
BEGUN: Final = ("contest", "frozen", "review", "final", "open")  # phases in which people compete under the settings
WEIGHTY: Final = ("scoring", "freeze_at")  # after the start of the contest, changes of these need a reason


@transaction.atomic
def create_competition(*, actor: User, slug: str, settings: Mapping[str, Any], now: datetime) -> Competition:
    """Create a competition with `actor` as its owner. Raise UserError that names the field.

    `settings` are any of EDITABLE, with at least the name. The competition is closed by default: a draft is hidden.
    """
    check_staff(actor, "create a competition")
    check_slug("slug", slug)
    _check_known(settings)
    competition = Competition(slug=slug, created_at=now, **({"visibility": CLOSED} | dict(settings)))
    check_near(settings, now)
    check_settings(values_of(competition))
    competition.edited = [name for name in IMPORTED if getattr(competition, name)]
    insert(competition)
    Role.objects.create(competition=competition, user=actor, role=Role.OWNER, created_at=now)
    record(
        act="create_competition",
        target=competition,
        actor=actor,
        reason="",
        now=now,
        after=plain(values_of(competition) | {"slug": slug}),
    )
    return competition


@transaction.atomic
def edit_competition(
    *, competition: Competition, actor: User, settings: Mapping[str, Any], now: datetime, reason: str = ""
) -> Competition:
    """Set some of EDITABLE. Raise UserError that names the field, or `reason` if a reason is needed (needs_reason)."""
    check_role(actor, competition, Role.OWNER, "edit it")
    _check_known(settings)
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    before, weighty = values_of(competition), needs_reason(competition, settings, now)
    for name, value in settings.items():
        setattr(competition, name, value)
    after = values_of(competition)
    old, new = changed(before, after)
    if not new:
        return competition
    check_near({name: after[name] for name in new}, now)
    check_settings(after | {"final_at": competition.final_at})
    _check_divisions_are_empty(competition, set(before["divisions"]) - set(after["divisions"]))
    if weighty:
        check_reason(reason)
    competition.edited = sorted({*competition.edited, *new} & set(IMPORTED))
    competition.save(update_fields=[*new, "edited"])
    record(act="edit_competition", target=competition, actor=actor, reason=reason, now=now, before=old, after=new)
    return competition


def needs_reason(competition: Competition, settings: Mapping[str, Any], now: datetime) -> list[str]:
    """Return the new settings that affect competitors: times that are past or would be past, and WEIGHTY."""
    begun = phase_at(competition.schedule, now) in BEGUN
    found = []
    for name, new in settings.items():
        old = getattr(competition, name)
        if new == old:
            continue
        is_past = name in TIMES and any(moment is not None and moment <= now for moment in (old, new))
        if is_past or (begun and name in WEIGHTY):
            found.append(name)
    return found


def values_of(competition: Competition) -> dict[str, Any]:
    return {name: getattr(competition, name) for name in EDITABLE}


def insert(competition: Competition) -> None:
    """Save a new competition; its slug may be taken."""
    try:
        with transaction.atomic():
            competition.save(force_insert=True)
    except IntegrityError:
        raise UserError("slug", competition.slug, "there is a competition of this name; choose another", 409) from None


def _check_known(settings: Mapping[str, Any]) -> None:
    unknown = next((name for name in settings if name not in EDITABLE), None)
    if unknown is not None:
        raise UserError(unknown, None, f"is not edited here; these are: {', '.join(EDITABLE)}")


def _check_divisions_are_empty(competition: Competition, removed: set[str]) -> None:
    held = competition.entrants.filter(division__in=removed).order_by("division").values_list("division", flat=True)
    if removed and (division := held.first()):
        raise UserError("divisions", division, f"there are entrants in the division {division}: keep it", status=409)
