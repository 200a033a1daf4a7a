"""Tables of competitors: Entrant (a person or a team in a competition), Membership, TeamInvite.

Constraints guarantee that a person is in at most one entrant of a competition at a time, and that an entrant has at
most one captain. A person alone is an entrant with a single membership, as its captain.
"""

from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint
from django.db.models.functions import Collate, Lower

from leaderboard.competitions.models import AGENT, DIVISIONS, EVERYBODY, HUMAN, MEMBERS, MIXED, Competition
from leaderboard.competitions.words import vector
from leaderboard.entrants.names import look


class Entrant(models.Model):
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="entrants")
    name = models.CharField(max_length=150)
    is_team = models.BooleanField(default=False)
    pseudonym = models.CharField(max_length=150, blank=True)  # shown instead of the name; "": the name is shown
    revealed_at = models.DateTimeField(null=True, blank=True)  # since then the name is shown beside the pseudonym
    division = models.CharField(max_length=16, default=HUMAN)
    model_name = models.CharField(max_length=128, blank=True)  # of the agent, in division agent and mixed
    cost_usd = models.DecimalField(max_digits=9, decimal_places=2, null=True)  # declared, of the model's work; or null
    affiliation = models.CharField(max_length=128, blank=True)
    declared = models.JSONField(default=list, blank=True)  # slugs of tracks declared eligible for
    created_at = models.DateTimeField()
    looks = ArrayField(models.TextField(), default=list, blank=True)  # names.look of all names ever shown

    class Meta:
        ordering = ["id"]
        indexes = [
            GinIndex(fields=["looks"], name="entrant_by_look"),
            models.Index(Collate(Lower("name"), "C"), name="entrant_by_beginning"),
            models.Index(
                Collate(Lower("pseudonym"), "C"),
                condition=~Q(pseudonym=""),
                name="entrant_by_pseudonym",
            ),
            GinIndex(vector("name"), name="entrant_by_word"),
            GinIndex(vector("pseudonym"), condition=~Q(pseudonym=""), name="entrant_by_pseudonym_word"),
        ]
        constraints = [
            UniqueConstraint("competition", Lower("name"), name="entrant_name_is_unique_in_any_case"),
            UniqueConstraint(
                "competition",
                Lower("pseudonym"),
                condition=~Q(pseudonym=""),
                name="entrant_pseudonym_is_unique_in_any_case",
            ),
            CheckConstraint(condition=Q(division__in=DIVISIONS), name="entrant_division_is_known"),
            CheckConstraint(
                condition=Q(division=HUMAN, model_name="") | (Q(division__in=(AGENT, MIXED)) & ~Q(model_name="")),
                name="entrant_names_its_model",
            ),
        ]

    def __str__(self) -> str:
        return self.shown_name

    def save(self, *args: Any, **kwargs: Any) -> None:
        pseudonyms = (self.pseudonym, revealed_name(self.name, self.pseudonym)) if self.pseudonym else ()
        self.looks = [*map(look, (self.name, *pseudonyms))]
        if (fields := kwargs.get("update_fields")) is not None:
            kwargs["update_fields"] = {*fields, "looks"}
        super().save(*args, **kwargs)

    @property
    def shown_name(self) -> str:
        """The public name."""
        return shown_name(self.name, self.pseudonym, self.revealed_at)


def in_group(group: str, entrant: str = "entrant") -> Q:
    """Match rows of entrants of a group. `entrant`: the path from the row to its entrant."""
    return Q() if group == EVERYBODY else Q(**{f"{entrant}__division__in": MEMBERS[group]})


def shown_name(name: str, pseudonym: str, revealed_at: datetime | None) -> str:
    return revealed_name(name, pseudonym) if pseudonym and revealed_at else pseudonym or name


def revealed_name(name: str, pseudonym: str) -> str:
    return f"{name} (was {pseudonym})"


class Membership(models.Model):
    CAPTAIN: Final = "captain"
    MEMBER: Final = "member"

    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="memberships")
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="+")  # the entrant's
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=16)
    rules_digest = models.CharField(max_length=80, blank=True)  # of the accepted rules' text; "": none
    joined_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(
                fields=["competition", "user"], condition=Q(left_at__isnull=True), name="one_entrant_a_person"
            ),
            UniqueConstraint(
                fields=["entrant"], condition=Q(role="captain", left_at__isnull=True), name="one_captain_an_entrant"
            ),
            CheckConstraint(condition=Q(role__in=("captain", "member")), name="membership_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.role} of {self.entrant_id}"


class TeamInvite(models.Model):
    ACCEPTED: Final = "accepted"
    DECLINED: Final = "declined"
    WITHDRAWN: Final = "withdrawn"

    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="invites")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="team_invites")
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    answer = models.CharField(max_length=16, blank=True)  # "": not answered
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            UniqueConstraint(
                fields=["entrant", "user"], condition=Q(answer=""), name="one_open_invite_a_team_and_person"
            ),
            CheckConstraint(
                condition=Q(answer="", answered_at__isnull=True)
                | Q(answer__in=("accepted", "declined", "withdrawn"), answered_at__isnull=False),
                name="team_invite_answer_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} to {self.entrant_id}"
