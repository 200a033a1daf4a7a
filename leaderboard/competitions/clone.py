"""Clone a competition: its boards, tracks, prizes, rules, thresholds and quotas; no people, codes or announcements.

The clone is closed until its organiser has checked it. Its boards get their own names.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.checks import MAX_SLUG_CHARS, TIMES, check_near, check_settings, check_slug
from leaderboard.competitions.edit import EDITABLE, insert, values_of
from leaderboard.competitions.models import CLOSED, Board, Competition, Prize, Role, Track
from leaderboard.competitions.naming import free_slug, lock_names
from leaderboard.competitions.permissions import check_role
from leaderboard.competitions.plain import plain

COPIED: Final = (*(name for name in EDITABLE if name not in TIMES), "thresholds", "quotas")
TRACK_FIELDS: Final = ("slug", "name", "description", "kind", "divisions", "eligibility", "tie_rule", "position")
PRIZE_FIELDS: Final = ("place", "amount", "currency", "sponsor", "text")


@transaction.atomic
def clone_competition(
    *, source: Competition, actor: User, slug: str, name: str, shift: timedelta | None, now: datetime
) -> Competition:
    """Clone the competition for `actor`, who becomes the owner of the clone.

    `shift` moves all times later; None drops the times.
    """
    check_role(actor, source, Role.OWNER, "clone it")
    check_slug("slug", slug)
    told = {field: getattr(source, field) for field in COPIED} | {"name": name, "visibility": CLOSED}
    times = {field: _later(getattr(source, field), shift) for field in TIMES}
    clone = Competition(slug=slug, created_at=now, edited=["name"], **told, **times)
    check_near(times, now)
    check_settings(values_of(clone))
    lock_names()
    insert(clone)
    Role.objects.create(competition=clone, user=actor, role=Role.OWNER, created_at=now)
    names = _copy_boards(source, clone, shift, now)
    _copy_tracks(source, clone, names)
    after = plain(values_of(clone) | {"slug": slug, "of": source.slug})
    record(act="clone_competition", target=clone, actor=actor, reason="", now=now, after=after)
    return clone


def _copy_boards(source: Competition, clone: Competition, shift: timedelta | None, now: datetime) -> dict[str, str]:
    """Copy the boards; return the new board names by old name."""
    boards = list(source.boards.all())
    names = {old: free_slug(clone, _based_on(old, source, clone)) for old in {board.slug for board in boards}}
    Board.objects.bulk_create(
        Board(
            competition=clone,
            problem_id=board.problem_id,
            version_id=board.version_id,
            slug=names[board.slug],
            hardware=board.hardware,
            deadline=_later(board.deadline, shift),
            tags=board.tags,
            created_at=now,
        )
        for board in boards
    )
    return names


def _based_on(slug: str, source: Competition, clone: Competition) -> str:
    """Return a board's name with the source's suffix replaced by the clone's.

    softmax-spring of the competition spring becomes softmax-summer, and not softmax-spring-summer.
    """
    if slug.endswith(f"-{source.slug}"):
        return f"{slug.removesuffix(f'-{source.slug}')}-{clone.slug}"[:MAX_SLUG_CHARS].rstrip("-")
    return slug


def _copy_tracks(source: Competition, clone: Competition, names: dict[str, str]) -> None:
    for track in source.tracks.prefetch_related("prizes"):
        copy = Track.objects.create(
            competition=clone,
            params=_renamed(track.params, names),
            **{field: getattr(track, field) for field in TRACK_FIELDS},
        )
        Prize.objects.bulk_create(
            Prize(track=copy, **{field: getattr(prize, field) for field in PRIZE_FIELDS})
            for prize in track.prizes.all()
        )


def _renamed(params: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return params | {"slug": names.get(params["slug"], params["slug"])} if "slug" in params else dict(params)


def _later(moment: datetime | None, shift: timedelta | None) -> datetime | None:
    return None if moment is None or shift is None else moment + shift
