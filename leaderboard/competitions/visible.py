"""Visibility of competitions and boards. Code that shows one of them starts from these querysets.

public    everybody sees it, in lists too
unlisted  everybody who has its address sees it; only insiders see it in lists
closed    only insiders see it; for everybody else it does not exist

Insiders are people who used an invite code of the competition, who compete in it without a code (they entered before it
was closed), or who have a role in it, and staff. A code may open a few boards only; a person with only such codes sees
those boards and no more. Revoking a used code takes back the access that it gave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import (
    CLOSED,
    PUBLIC,
    Announcement,
    Board,
    BoardQuerySet,
    Competition,
    InviteCode,
    Role,
    Track,
)

Viewer = User | AnonymousUser


def competitions_seen_by(viewer: Viewer, *, listed: bool = False) -> QuerySet[Competition]:
    """Return the visible competitions: for a list if `listed`, else by address."""
    everything = Competition.objects.all()
    if _sees_all(viewer):
        return everything
    is_open = Q(visibility=PUBLIC) if listed else ~Q(visibility=CLOSED)
    if not _is_known(viewer):
        return everything.filter(is_open)
    opened = Exists(_living_codes(viewer, "pk"))
    inside = opened | _has_role(viewer, "pk") | _competes_without_code(viewer, "pk") | Q(pk=_let_into(viewer))
    return everything.filter(is_open | inside)


def boards_seen_by(viewer: Viewer, *, listed: bool = False) -> BoardQuerySet:
    """Return the visible boards: for a list if `listed`, else by address."""
    everything: BoardQuerySet = Board.objects.all()
    if _sees_all(viewer):
        return everything
    if listed:
        everything = everything.filter(competition__in=competitions_seen_by(viewer, listed=True))
    is_open = ~Q(competition__visibility=CLOSED)
    if not _is_known(viewer):
        return everything.filter(is_open)
    codes = _living_codes(viewer, "competition")
    opened = Exists(codes.filter(Q(opens_all=True) | Q(boards=OuterRef("pk"))))
    inside = opened | _has_role(viewer, "competition") | _competes_without_code(viewer, "competition")
    inside |= Q(competition=_let_into(viewer))
    return everything.filter(is_open | inside)


def tracks_seen_by(viewer: Viewer, competition: Competition) -> QuerySet[Track]:
    """Return the tracks, without tracks that are won only on boards invisible to this viewer."""
    tracks = Track.objects.filter(competition=competition)
    boards = list(competition.boards.all())
    seen = set(boards_seen_by(viewer).filter(competition=competition).values_list("pk", flat=True))
    if len(seen) == len(boards):
        return tracks
    return tracks.exclude(pk__in=[track.pk for track in tracks if not _sees_any(track, boards, seen)])


def announcements_seen_by(viewer: Viewer, *, listed: bool = False) -> QuerySet[Announcement]:
    """Return visible announcements that are not withdrawn, without winners of tracks invisible to the viewer.

    The awards app is above this app, so its rows are queried by name.
    """
    seen = competitions_seen_by(viewer, listed=listed)
    shown = Announcement.objects.filter(withdrawn_at=None, competition__in=seen)
    some = InviteCode.objects.filter(used_by__in=logins_of(viewer), revoked_at=None, opens_all=False)
    for competition in Competition.objects.filter(pk__in=some.values("competition"), visibility=CLOSED):
        hidden = competition.tracks.exclude(pk__in=tracks_seen_by(viewer, competition))
        shown = shown.exclude(award__track__in=list(hidden))
    return shown


def _sees_any(track: Track, boards: Iterable[Board], seen: Collection[int]) -> bool:
    """Return whether the viewer sees a board of this track. A track without boards counts as visible."""
    won_on = [board.pk for board in boards if _is_won_on(track, board)]
    return not won_on or any(pk in seen for pk in won_on)


def _is_won_on(track: Track, board: Board) -> bool:
    told = track.params
    if "tag" in told:
        return told["tag"] in board.tags
    wanted = (told.get("slug", board.slug), told.get("hardware", board.hardware))
    return wanted == (board.slug, board.hardware)


def may_see(viewer: Viewer, competition: Competition) -> bool:
    return competitions_seen_by(viewer).filter(pk=competition.pk).exists()


def _let_into(viewer: Viewer) -> int | None:
    """Return the competition of a preview: its viewer has no rows but counts as an insider."""
    return viewer.let_into if isinstance(viewer, User) else None


def _sees_all(viewer: Viewer) -> bool:
    return _is_known(viewer) and (viewer.is_staff or viewer.is_superuser)


def _is_known(viewer: Viewer) -> bool:
    return viewer.is_authenticated and viewer.is_active


def _has_role(viewer: Viewer, competition: str) -> Exists:
    return Exists(Role.objects.filter(user=viewer.pk, competition=OuterRef(competition)))


def _living_codes(viewer: Viewer, competition: str) -> QuerySet[InviteCode]:
    return InviteCode.objects.filter(used_by__in=logins_of(viewer), competition=OuterRef(competition), revoked_at=None)


def _competes_without_code(viewer: Viewer, competition: str) -> Q:
    """Match people who compete now and never used a code.

    The entrants app is above, so its rows are queried by name.
    """
    competes = Competition.objects.filter(
        pk=OuterRef(competition), entrants__memberships__user__in=logins_of(viewer), entrants__memberships__left_at=None
    )
    codes = InviteCode.objects.filter(used_by__in=logins_of(viewer), competition=OuterRef(competition))
    return Q(Exists(competes)) & ~Q(Exists(codes))
