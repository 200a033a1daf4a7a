"""A published entry as its page and the API show it, with its code where that is public.

Everybody who may see a board sees its entries, once its standing shows them. An entry's owner, their team and people
with a role in the competition see it earlier, and its code; both are then marked as visible to them alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import code_public_at, is_code_public
from leaderboard.competitions.checks import licence_in_words
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.standings.models import Entry
from leaderboard.standings.read.boards import Standing, standing_of
from leaderboard.standings.read.windows import is_shown
from leaderboard.submissions.models import CodeRelease, Submission
from leaderboard.submissions.permissions import may_dispose
from leaderboard.web.submissions import view


@dataclass(frozen=True)
class Published:
    entry: Entry
    standing: Standing
    is_shown: bool  # False: only people with early access see the entry
    is_own: bool
    code_is_public: bool
    code_public_at: datetime | None  # None: not by itself
    sees_code: bool

    @property
    def submission(self) -> Submission:
        return self.entry.submission

    @property
    def licence(self) -> str:
        return licence_in_words(self.submission.licence)

    @property
    def code(self) -> str | None:
        return self.submission.source if self.sees_code else None


def published(pk: int, viewer: Viewer, now: datetime) -> Published | None:
    """Return an entry, or None if this viewer may not see it.

    That is an entry that is not published, not shown yet, or on a board hidden from the viewer.
    """
    lines = Entry.objects.select_related("submission__owner", "entrant", "board__competition", "board__problem")
    entry = lines.filter(submission=pk, board__in=boards_seen_by(viewer)).first()
    if entry is None:
        return None
    shown = is_shown(entry.board, entry.submitted_at, now)
    is_private_to = isinstance(viewer, User) and view.visible_to(viewer).filter(pk=pk).exists()
    if not shown and not is_private_to:
        return None
    entry.submission.board = entry.board
    standing = standing_of(entry.submission, now=now)
    if standing is None:
        return None
    schedule, deadline = entry.board.competition.schedule, entry.board.deadline
    released = CodeRelease.objects.filter(submission=pk).exists()
    is_public = shown and is_code_public(schedule, deadline, entry.submitted_at, is_released=released, now=now)
    return Published(
        entry=entry,
        standing=standing,
        is_shown=shown,
        is_own=isinstance(viewer, User) and may_dispose(viewer, entry.submission),
        code_is_public=is_public,
        code_public_at=code_public_at(schedule, deadline, entry.submitted_at),
        sees_code=is_public or is_private_to,
    )
