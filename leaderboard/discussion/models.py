"""Table of write-ups and comments: Post. A removed post keeps its row, and no page shows its text."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from leaderboard.competitions.models import Board
from leaderboard.entrants.models import Entrant

WRITE_UP: Final = "write_up"
COMMENT: Final = "comment"
KINDS: Final = (WRITE_UP, COMMENT)

MOST_CHARS: Final = {WRITE_UP: 20_000, COMMENT: 2_000}
MOST_A_DAY: Final = 30  # posts of a person
MOST_A_BOARD: Final = 20  # standing posts of a person


class Post(models.Model):
    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+", db_index=False)
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="+")  # its shown name is the author's
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=16)
    text = models.TextField()
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)
    removed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    removal = models.TextField(blank=True)  # reason of a moderator, shown in place of the text; "": by its owner

    class Meta:
        ordering = ["-id"]
        constraints = [
            CheckConstraint(condition=Q(kind__in=KINDS), name="post_kind_is_known"),
            UniqueConstraint(
                fields=["board", "entrant"],
                condition=Q(kind="write_up", removed_at=None),
                name="one_write_up_a_board_and_entrant",
            ),
        ]
        indexes = [
            Index(fields=["board", "kind", "-id"], name="post_by_board"),
            Index(fields=["author", "created_at"], name="post_by_author"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_shown(self) -> bool:
        return self.removed_at is None
