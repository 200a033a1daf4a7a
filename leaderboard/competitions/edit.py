"""Create a competition, clone one, and change its settings.

The slug of a competition is its address and stays. `revealed_at` and `final_at` are acts of the standings and not
edited here. `edited` remembers the fields that were edited here: the next import of the set leaves them as they are.

A clone has the boards, tracks, prizes, rules, thresholds and quotas of its source; no people, codes or announcements.
It is closed until its organiser has checked it. Its boards get their own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import changed, record
from leaderboard.competitions.calendar import phase_at
from leaderboard.competitions.checks import MAX_SLUG_CHARS, TIMES, check_near, check_settings, check_slug
from leaderboard.competitions.edit_boards import free_slug, lock_names
from leaderboard.competitions.edit_tracks import FIELDS as TRACK_FIELDS
from leaderboard.competitions.edit_tracks import PRIZE_FIELDS
from leaderboard.competitions.models import CLOSED, Board, Competition, Prize, Role, Track
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError

EDITABLE: Final = (
    *("name", "description", "rules", "visibility"),
    *TIMES,
    *("stays_open", "divisions", "max_team_size", "scoring", "two_person_rule", "default_licence"),
)
IMPORTED: Final = ("name", "description", "deadline", "scoring")  # a set may also give these
BEGUN: Final = ("contest", "frozen", "review", "final", "open")  # phases in which people compete under the settings
WEIGHTY: Final = ("scoring", "freeze_at")  # after the start of the contest, changes of these need a reason
COPIED: Final = (*(name for name in EDITABLE if name not in TIMES), "thresholds", "quotas")  # into a clone


@transaction.atomic
def create_competition(*, actor: User, slug: str, settings: Mapping[str, Any], now: datetime) -> Competition:
    """Create a competition with `actor` as its owner. Raise UserError that names the field.

    `settings` are any of EDITABLE, with at least the name. The competition is closed by default: a draft is hidden.
    """
    check_staff(actor, "create a competition")
    _check_known(settings)
    competition = Competition(slug=slug, created_at=now, **({"visibility": CLOSED} | dict(settings)))
    competition.edited = [name for name in IMPORTED if getattr(competition, name)]
    _create("create_competition", competition, actor, now)
    return competition


def _create(act: str, competition: Competition, actor: User, now: datetime, **about: str) -> None:
    """Check a new competition and save it with its owner. `about`: further values for the audit."""
    check_slug("slug", competition.slug)
    settings = values_of(competition)
    check_near(settings, now)
    check_settings(settings)
    try:
        with transaction.atomic():
            competition.save(force_insert=True)
    except IntegrityError:
        raise UserError("slug", competition.slug, "there is a competition of this name; choose another", 409) from None
    Role.objects.create(competition=competition, user=actor, role=Role.OWNER, created_at=now)
    record(act, competition, actor=actor, now=now, after=settings | {"slug": competition.slug} | about)


@transaction.atomic
def edit_competition(
    *, competition: Competition, actor: User, settings: Mapping[str, Any], now: datetime, reason: str = ""
) -> Competition:
    """Set some of EDITABLE. Raise UserError that names the field, or `reason` if a reason is needed (needs_reason)."""
    check_role(actor, competition, Role.OWNER, "edit it")
    _check_known(settings)
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    weighty = needs_reason(competition, settings, now)
    before = values_of(competition)
    after = before | dict(settings)
    old, new = changed(before, after)
    if not new:
        return competition
    check_near(new, now)
    check_settings(after | {"final_at": competition.final_at})
    removed = set(before["divisions"]) - set(after["divisions"])
    held = competition.entrants.filter(division__in=removed).order_by("division").values_list("division", flat=True)
    if removed and (division := held.first()):
        raise UserError("divisions", division, f"there are entrants in the division {division}: keep it", status=409)
    for name, value in new.items():
        setattr(competition, name, value)
    if weighty:
        check_reason(reason)
    competition.edited = sorted({*competition.edited, *new} & set(IMPORTED))
    competition.save(update_fields=[*new, "edited"])
    record("edit_competition", competition, actor=actor, reason=reason, now=now, before=old, after=new)
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


def _check_known(settings: Mapping[str, Any]) -> None:
    unknown = next((name for name in settings if name not in EDITABLE), None)
    if unknown is not None:
        raise UserError(unknown, None, f"is not edited here; these are: {', '.join(EDITABLE)}")


@transaction.atomic
def clone_competition(
    *, source: Competition, actor: User, slug: str, name: str, shift: timedelta | None, now: datetime
) -> Competition:
    """Clone the competition for `actor`, who becomes the owner of the clone.

    `shift` moves all times later; None drops the times.
    """
    check_role(actor, source, Role.OWNER, "clone it")
    copied = {field: getattr(source, field) for field in COPIED} | {"name": name, "visibility": CLOSED}
    times = {field: _later(getattr(source, field), shift) for field in TIMES}
    clone = Competition(slug=slug, created_at=now, edited=["name"], **copied, **times)
    lock_names()
    _create("clone_competition", clone, actor, now, of=source.slug)
    names = _copy_boards(source, clone, shift, now)
    for track in source.tracks.prefetch_related("prizes"):
        copy = Track(competition=clone, slug=track.slug, **{field: getattr(track, field) for field in TRACK_FIELDS})
        if "slug" in copy.params:
            copy.params = copy.params | {"slug": names.get(copy.params["slug"], copy.params["slug"])}
        copy.save()
        Prize.objects.bulk_create(
            Prize(track=copy, **{field: getattr(prize, field) for field in PRIZE_FIELDS})
            for prize in track.prizes.all()
        )
    return clone


def _copy_boards(source: Competition, clone: Competition, shift: timedelta | None, now: datetime) -> dict[str, str]:
    """Copy the boards; return the new board names by old name.

    softmax-spring of the competition spring becomes softmax-summer, and not softmax-spring-summer.
    """
    boards, names = list(source.boards.all()), {}
    for old in {board.slug for board in boards}:
        base = old.removesuffix(f"-{source.slug}")
        names[old] = free_slug(clone, old if base == old else f"{base}-{clone.slug}"[:MAX_SLUG_CHARS].rstrip("-"))
    copies = []
    for board in boards:
        copied = {field: getattr(board, field) for field in ("problem_id", "version_id", "hardware", "tags")}
        copies.append(Board(competition=clone, slug=names[board.slug], created_at=now, **copied))
        copies[-1].deadline = _later(board.deadline, shift)
    Board.objects.bulk_create(copies)
    return names


def _later(moment: datetime | None, shift: timedelta | None) -> datetime | None:
    return None if moment is None or shift is None else moment + shift
