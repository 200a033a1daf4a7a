"""Write and remove posts under a board, and the time from which a board takes them.

A board takes posts once its contest is over and its standing is not frozen. An earlier post could reveal code or
ranks. The author appears under the entrant's shown name, which may be a pseudonym.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.calendar import is_frozen_at, is_over_at
from leaderboard.competitions.models import Board, Role
from leaderboard.competitions.permissions import has_role
from leaderboard.discussion.models import KINDS, MOST_A_BOARD, MOST_A_DAY, MOST_CHARS, WRITE_UP, Post
from leaderboard.entrants.enter import entrant_of
from leaderboard.entrants.permissions import lock_entrant, members_of
from leaderboard.errors import RateLimited, UserError
from leaderboard.review.suspension import check_not_suspended
from leaderboard.standings.models import Entry
from leaderboard.standings.read.table import shown_lines


def is_open(board: Board, now: datetime) -> bool:
    """Return whether a board takes posts."""
    schedule = board.competition.schedule
    return is_over_at(schedule, now, board_deadline=board.deadline) and not is_frozen_at(schedule, now)


def posts_on(board: Board, kind: str) -> QuerySet[Post]:
    """Return posts of a kind. Posts that their owners removed are left out."""
    return Post.objects.filter(board=board, kind=kind).exclude(removed_at__isnull=False, removal="")


def has_line(board: Board, entrant: int, now: datetime) -> bool:
    return Entry.objects.filter(shown_lines([board], now), entrant=entrant).exists()


@transaction.atomic
def write_post(*, board: Board, author: User, kind: str, text: str, now: datetime) -> Post:
    """Write a post as the author's entrant. A write-up needs a line on the board, and there is one for each entrant."""
    text = text.strip().replace("\r\n", "\n")
    if kind not in KINDS:
        raise UserError("kind", kind[:40], f"expected {' or '.join(KINDS)}")
    if not text or len(text) > MOST_CHARS[kind] or "\x00" in text:
        raise UserError("text", text, f"expected 1 to {MOST_CHARS[kind]:,} characters")
    if not is_open(board, now):
        text = "takes posts once its contest is over and nothing is frozen"
        raise UserError("board", str(board), text, 409, "discussion_closed")
    check_not_suspended(author, board.competition)
    author = User.objects.select_for_update(no_key=True).get(pk=author.account_id)  # counts a person's posts in turn
    entrant = entrant_of(author, board.competition)
    if entrant is None:
        raise UserError("author", author.get_username(), f"only entrants of {board.competition} write here", status=403)
    check_numbers(board, author, now)
    if kind == WRITE_UP:
        lock_entrant(entrant)  # of two members of a team at once, the second sees the write-up of the first
        if not has_line(board, entrant.pk, now):
            raise UserError("kind", kind, "a write-up needs a published result on this board", status=403)
        if Post.objects.filter(board=board, entrant=entrant, kind=kind, removed_at=None).exists():
            raise UserError("kind", kind, "you have a write-up here; remove it first", status=409)
    return Post.objects.create(board=board, entrant=entrant, author=author, kind=kind, text=text, created_at=now)


def check_numbers(board: Board, author: User, now: datetime) -> None:
    mine = Post.objects.filter(author=author.pk)
    if mine.filter(created_at__gt=now - timedelta(days=1)).count() >= MOST_A_DAY:
        said = f"you wrote {MOST_A_DAY} posts within a day; wait until tomorrow"
        raise RateLimited("text", "", said, retry_after_s=24 * 3600)
    if mine.filter(board=board, removed_at=None).count() >= MOST_A_BOARD:
        raise UserError("text", "", f"you have {MOST_A_BOARD} posts here, which is the most; remove one", status=409)


def is_moderator(viewer: User, board: Board) -> bool:
    return has_role(viewer, board.competition, Role.REVIEWER)


def is_own(viewer: User, post: Post) -> bool:
    """Return whether the viewer wrote a post, or is a present member of the entrant of a write-up."""
    logins = logins_of(viewer)
    if logins.filter(pk=post.author_id).exists():
        return True
    return post.kind == WRITE_UP and members_of(post.entrant).filter(user__in=logins).exists()


@transaction.atomic
def remove_post(*, post: Post, actor: User, reason: str, now: datetime) -> bool:
    """Remove a post; return False if it was removed already. Moderators give a reason, which everybody reads."""
    by_owner = is_own(actor, post)
    if not by_owner:
        if not is_moderator(actor, post.board):
            owner = "its entrant" if post.kind == WRITE_UP else "its author"
            raise UserError("actor", actor.get_username(), f"only {owner} or a reviewer may remove it", status=403)
        check_reason(reason)
    values = {"removed_at": now, "removed_by": actor.account, "removal": "" if by_owner else reason.strip()}
    if not Post.objects.filter(pk=post.pk, removed_at=None).update(**values):
        return False
    if not by_owner:
        record("remove_post", post, actor=actor, reason=reason, now=now)
    return True
