"""Boards of a competition: add (a known problem version × hardware), change, close, remove if empty.

A board with submissions is never removed, and its version is not changed here. For a new version its submissions are
re-judged, which compares both versions before the new results rank.

The name of a board is unique on the whole site, although public sets share names (sort, matmul), and clones too. Acts
that give names run one at a time until their transactions end. Otherwise two concurrent acts could both find a name
free.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import changed, record
from leaderboard.competitions.checks import MAX_SLUG_CHARS, check_hardware, check_near, check_slug, check_tags
from leaderboard.competitions.models import Board, Competition, ProblemVersion, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError

MAX_BOARDS: Final = 1_000  # per competition
IMPORTED: Final = ("version", "deadline")  # fields that a set may also give
LOCK: Final = 0x70686F74  # PostgreSQL's advisory lock for names: an arbitrary number, unused elsewhere


@transaction.atomic
def add_board(
    *,
    competition: Competition,
    actor: User,
    version: ProblemVersion,
    hardware: str,
    now: datetime,
    slug: str = "",
    deadline: datetime | None = None,
    tags: Iterable[str] = (),
) -> Board:
    """Add a board. An empty `slug` means the problem's name, with the competition's name appended if it is taken."""
    check_role(actor, competition, Role.OWNER, "add a board")
    check_hardware(hardware)
    slug = free_slug(competition, check_slug("slug", slug) if slug else version.problem.slug)
    _check_fits(competition, slug, version)
    check_near({"deadline": deadline}, now)
    place: dict[str, Any] = {"slug": slug, "hardware": hardware, "tags": check_tags(tags)}
    board = Board(competition=competition, problem=version.problem, version=version, created_at=now, **place)
    board.deadline, board.edited = deadline, ["deadline"] if deadline else []
    try:
        with transaction.atomic():
            board.save(force_insert=True)
    except IntegrityError:
        raise UserError("hardware", hardware, f"there is a board {slug} on {hardware} already", 409) from None
    record("add_board", board, actor=actor, now=now, after=_values(board))
    return board


@transaction.atomic
def edit_board(
    *,
    board: Board,
    actor: User,
    version: ProblemVersion,
    deadline: datetime | None,
    tags: Iterable[str],
    now: datetime,
    reason: str = "",
) -> Board:
    """Change a board. A reason is needed to move a deadline that is past, or into the past."""
    board = _own(board, actor, "edit a board")
    before, old_deadline = _values(board), board.deadline
    if version != board.version:
        _check_fits(board.competition, board.slug, version)
        if board.submissions.exists():
            raise UserError("version", version.digest, "it has submissions: re-judge them by the new version", 409)
    check_near({"deadline": deadline if deadline != old_deadline else None}, now)
    if deadline != old_deadline and any(time is not None and time <= now for time in (deadline, old_deadline)):
        check_reason(reason)
    board.version, board.problem, board.deadline, board.tags = version, version.problem, deadline, check_tags(tags)
    old, new = changed(before, _values(board))
    if new:
        board.edited = sorted({*board.edited, *new} & set(IMPORTED))
        board.save(update_fields=["version", "problem", "deadline", "tags", "edited"])
        record("edit_board", board, actor=actor, reason=reason, now=now, before=old, after=new)
    return board


@transaction.atomic
def close_board(*, board: Board, actor: User, reason: str, now: datetime) -> Board:
    """Close a board for contest submissions from now on; earlier submissions stay and are judged."""
    board = _own(board, actor, "close a board")
    check_reason(reason)
    if board.closes_at is not None and board.closes_at <= now:
        raise UserError("board", str(board), f"it closed at {board.closes_at:%Y-%m-%d %H:%M} UTC already", status=409)
    before, board.deadline = {"deadline": board.deadline}, now
    board.edited = sorted({*board.edited, "deadline"})
    board.save(update_fields=["deadline", "edited"])
    record("close_board", board, actor=actor, reason=reason, now=now, before=before, after={"deadline": now})
    return board


@transaction.atomic
def remove_board(*, board: Board, actor: User, now: datetime) -> None:
    """Remove a board without submissions and tracks."""
    board = _own(board, actor, "remove a board")
    track = board.competition.tracks.filter(params__slug=board.slug, params__hardware=board.hardware).first()
    if track is not None:
        raise UserError("board", str(board), f"the track {track} is won on it: remove or change that first", status=409)
    record("remove_board", board, actor=actor, now=now, before=_values(board))
    try:
        board.delete()
    except ProtectedError:
        raise UserError("board", str(board), "it has submissions, which are kept: close it instead", 409) from None


def _own(board: Board, actor: User, act: str) -> Board:
    """Return the locked row, after a check of the role."""
    check_role(actor, board.competition, Role.OWNER, act)
    return Board.objects.select_for_update(of=("self",)).with_parts().get(pk=board.pk)


def _check_fits(competition: Competition, slug: str, version: ProblemVersion) -> None:
    """Check that boards of the same name have the same problem, on different hardware."""
    boards = competition.boards.filter(slug=slug)
    other = boards.exclude(problem=version.problem).select_related("problem").first()
    if other is not None:
        raise UserError("slug", slug, f"{other} is of another problem ({other.problem}): choose another name", 409)
    if not boards.exists() and competition.boards.count() >= MAX_BOARDS:
        raise UserError("competition", competition.slug, f"it has {MAX_BOARDS} boards already, which is the most", 409)


def _values(board: Board) -> dict[str, Any]:
    """Return the values of a board for the audit."""
    return {
        "slug": board.slug,
        "hardware": board.hardware,
        "version": board.version.digest,
        "deadline": board.deadline,
        "tags": list(board.tags),
        "competition": board.competition.slug,
    }


def lock_names() -> None:
    """Lock board names, before any lock that a concurrent naming act could wait for. Repeated calls are allowed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def free_slug(competition: Competition, wanted: str) -> str:
    """Return `wanted` if no other competition has it, else `wanted` with the competition's name appended.

    The result is the same each time.
    """
    lock_names()
    others = Board.objects.exclude(competition=competition)
    if not others.filter(slug=wanted).exists():
        return wanted
    slug = f"{wanted}-{competition.slug}"[:MAX_SLUG_CHARS].rstrip("-")
    if others.filter(slug=slug).exists():
        raise UserError("name", wanted, f"other competitions have boards {wanted} and {slug}; rename it")
    return slug
