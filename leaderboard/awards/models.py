"""Tables of awards. An Award is a proposal for one track, from its making to its announcement or withdrawal.

    proposed → confirmed → approved → announced, and from each of them → withdrawn

Always true, by constraint: a track has at most one award that is not withdrawn; an announced award has its
announcement. The `content` of an award never changes; a new proposal is a new award. Steps are append-only. Writer:
life.py.
"""

from typing import Any, Final

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from leaderboard.competitions.models import Announcement, Track

PROPOSED: Final = "proposed"
CONFIRMED: Final = "confirmed"
APPROVED: Final = "approved"
ANNOUNCED: Final = "announced"
WITHDRAWN: Final = "withdrawn"
STATES: Final = (PROPOSED, CONFIRMED, APPROVED, ANNOUNCED, WITHDRAWN)


class Award(models.Model):
    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="awards")
    state = models.CharField(max_length=16, default=PROPOSED)
    basis = models.CharField(max_length=80)  # digest of all its input; if it differs now, the award is stale
    content = models.JSONField()  # life.Drawn.to_json()
    announcement = models.OneToOneField(Announcement, on_delete=models.PROTECT, null=True, related_name="award")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            UniqueConstraint(fields=["track"], condition=~Q(state="withdrawn"), name="one_living_award_a_track"),
            CheckConstraint(condition=Q(state__in=STATES), name="award_state_is_known"),
            CheckConstraint(
                condition=~Q(state="announced") | Q(announcement__isnull=False), name="award_announced_says_where"
            ),
        ]

    def __str__(self) -> str:
        return f"award {self.pk} ({self.state})"

    @property
    def winners(self) -> list[dict[str, Any]]:
        return list(self.content["winners"])


class Step(models.Model):
    """A change of an award's state, with actor, reason and time."""

    award = models.ForeignKey(Award, on_delete=models.PROTECT, related_name="steps")
    state = models.CharField(max_length=16)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [CheckConstraint(condition=Q(state__in=STATES), name="award_step_state_is_known")]

    def __str__(self) -> str:
        return f"award {self.award_id}: {self.state}"
