"""Permissions for a competition: the acts of its roles, and the visibility of its parts.

Each role includes the roles before it; staff may do everything:

viewer     sees what organisers see: queue, findings, results under review, exports
reviewer   decides on results, claims cases, asks owners, re-judges
owner      edits the competition, its boards, tracks, codes and roles; reveals, awards

Code that shows competitions or boards starts from the querysets of this module:

public    everybody sees it, in lists too
unlisted  everybody with its address sees it; lists show it to insiders only
closed    insiders see it; everybody else gets "not found"

Insiders are staff, people with a role or a used invite code of the competition, and people who entered before it was
closed. Some codes open a few boards only; a revoked code opens none.
"""

from typing import Final, TypeGuard

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions import models
from leaderboard.competitions.models import (
    Announcement,
    Board,
    BoardQuerySet,
    Competition,
    InviteCode,
    Problem,
    ProblemVersion,
    Role,
    Track,
)
from leaderboard.errors import UserError

ADMINISTRATOR: Final = "administrator"
ORDER: Final = {Role.VIEWER: 1, Role.REVIEWER: 2, Role.OWNER: 3, ADMINISTRATOR: 4}

Viewer = User | AnonymousUser


def role_of(user: Viewer, competition: Competition) -> str:
    """Return the user's role; "" without a role."""
    if not _is_known(user):
        return ""
    if _is_administrator(user):
        return ADMINISTRATOR
    return Role.objects.filter(competition=competition, user=user).values_list("role", flat=True).first() or ""


def has_role(user: Viewer, competition: Competition, least: str) -> bool:
    return ORDER.get(role_of(user, competition), 0) >= ORDER[least]


def competitions_of(user: Viewer, least: str = Role.VIEWER) -> QuerySet[Competition]:
    """Return the competitions in which the user has at least this role."""
    if not _is_known(user):
        return Competition.objects.none()
    if _is_administrator(user):
        return Competition.objects.all()
    enough = [role for role in Role.ROLES if ORDER[role] >= ORDER[least]]
    return Competition.objects.filter(pk__in=Role.objects.filter(user=user, role__in=enough).values("competition"))


def check_role(user: User, competition: Competition, least: str, act: str) -> None:
    """Raise UserError (403) without the role. `act` completes "may …", for example "clear a held result"."""
    if not has_role(user, competition, least):
        raise UserError("actor", user.get_username(), f"only a {least} of {competition} may {act}", status=403)


def has_problem(user: User, problem: Problem) -> bool:
    """Return whether the user owns the problem's first competition: the competition with its oldest board.

    Owners of other competitions add boards of any problem that they see, which gives and takes no rights.
    """
    first = Competition.objects.filter(boards__problem=problem).order_by("boards__pk").first()
    return first is not None and has_role(user, first, Role.OWNER)


def may_see(viewer: Viewer, competition: Competition) -> bool:
    return competitions_seen_by(viewer).filter(pk=competition.pk).exists()


def competitions_seen_by(viewer: Viewer, *, listed: bool = False) -> QuerySet[Competition]:
    """Return the visible competitions: for a list if `listed`, else by address."""
    everything = Competition.objects.all()
    if _is_administrator(viewer):
        return everything
    is_open = Q(visibility=models.PUBLIC) if listed else ~Q(visibility=models.CLOSED)
    return everything.filter(is_open | _is_inside(viewer, "pk") if _is_known(viewer) else is_open)


def boards_seen_by(viewer: Viewer, *, listed: bool = False) -> BoardQuerySet:
    """Return the visible boards: for a list if `listed`, else by address."""
    everything: BoardQuerySet = Board.objects.all()
    if _is_administrator(viewer):
        return everything
    if listed:
        everything = everything.filter(competition__in=competitions_seen_by(viewer, listed=True))
    is_open = ~Q(competition__visibility=models.CLOSED)
    opened = Q(opens_all=True) | Q(boards=OuterRef("pk"))
    return everything.filter(is_open | _is_inside(viewer, "competition", opened) if _is_known(viewer) else is_open)


def versions_seen_by(viewer: Viewer) -> QuerySet[ProblemVersion]:
    """Return the versions that may be chosen for a board: all for staff, else those of boards listed for the viewer."""
    versions = ProblemVersion.objects.select_related("problem")
    if _is_administrator(viewer):
        return versions
    return versions.filter(pk__in=boards_seen_by(viewer, listed=True).values("version"))


def tracks_seen_by(viewer: Viewer, competition: Competition) -> QuerySet[Track]:
    """Return the tracks, without tracks that are won only on boards invisible to this viewer."""
    tracks = Track.objects.filter(competition=competition)
    boards = list(competition.boards.all())
    seen = set(boards_seen_by(viewer).filter(competition=competition).values_list("pk", flat=True))
    if len(seen) == len(boards):
        return tracks
    hidden = []
    for track in tracks:  # a track without boards counts as visible
        slug, hardware, tag = (track.params.get(name) for name in ("slug", "hardware", "tag"))
        won_on = {
            board.pk
            for board in boards
            if slug in (None, board.slug) and hardware in (None, board.hardware) and tag in (None, *board.tags)
        }
        if won_on and not won_on & seen:
            hidden.append(track.pk)
    return tracks.exclude(pk__in=hidden)


def announcements_seen_by(viewer: Viewer, *, listed: bool = False) -> QuerySet[Announcement]:
    """Return visible announcements that are not withdrawn, without winners of tracks invisible to the viewer.

    The awards app is above this app, so its rows are queried by name.
    """
    seen = competitions_seen_by(viewer, listed=listed)
    shown = Announcement.objects.filter(withdrawn_at=None, competition__in=seen)
    if not _is_known(viewer):
        return shown  # nobody without a login has used a code
    partial = InviteCode.objects.filter(used_by__in=logins_of(viewer), revoked_at=None, opens_all=False)
    for competition in Competition.objects.filter(pk__in=partial.values("competition"), visibility=models.CLOSED):
        hidden = competition.tracks.exclude(pk__in=tracks_seen_by(viewer, competition))
        shown = shown.exclude(award__track__in=list(hidden))
    return shown


def _is_known(viewer: Viewer) -> TypeGuard[User]:
    return isinstance(viewer, User) and viewer.is_active


def _is_administrator(viewer: Viewer) -> bool:
    return _is_known(viewer) and (viewer.is_staff or viewer.is_superuser)


def _is_inside(viewer: User, competition: str, opened: Q | None = None) -> Q:
    """Match rows of competitions that the viewer is an insider of. `competition`: the path from the row.

    `opened`: further condition on the codes that the viewer used. A viewer in a preview has no rows, but counts as an
    insider of the competition `let_into`. Rows of the apps above this one, entrants and classes, are queried by name.
    """
    logins = logins_of(viewer)
    role = Role.objects.filter(user=viewer.pk, competition=OuterRef(competition))
    codes = InviteCode.objects.filter(used_by__in=logins, competition=OuterRef(competition))
    opening = codes.filter(opened or Q(), revoked_at=None)
    competes = Competition.objects.filter(
        pk=OuterRef(competition), entrants__memberships__user__in=logins, entrants__memberships__left_at=None
    )
    studies = Competition.objects.filter(
        pk=OuterRef(competition), course__seats__account__in=logins, course__seats__left_at=None
    )
    has_entered = (Q(Exists(competes)) | Q(Exists(studies))) & ~Q(Exists(codes))
    return Exists(opening) | Exists(role) | has_entered | Q(**{competition: viewer.let_into})
