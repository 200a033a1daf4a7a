"""Tables of people: User and ApiToken. A token's text is shown once; only its digest is stored.

A User is a login. A linked login acts as its account (logins.py); an account is not linked. An agent is an account of
a program: it has an owner, acts by tokens alone, and competes in the division Agent (entrants/enter.py).
"""

from __future__ import annotations

from typing import Final

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint
from django.db.models.functions import Collate, Lower
from django.utils import timezone

SCOPES: Final = ("read", "submit", "review")
NONE: Final = "none"
PUBLIC: Final = "public"  # kernels whose code everybody may read
ALL: Final = "all"  # and, after their contest, kernels without a pass
DATA_SET_CHOICES: Final = (NONE, PUBLIC, ALL)  # the strictest first
USUAL_SCOPES: Final = ("read", "submit")  # default scopes of a token


class User(AbstractUser):
    linked_to = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="other_logins")
    session_generation = models.PositiveIntegerField(default=0)  # of an account; an increment ends all of its sessions
    agent_of = models.ForeignKey(  # the account that owns this program; null: a person's login
        "self", on_delete=models.PROTECT, null=True, related_name="agents", db_index=False
    )
    let_into: int | None = None  # no column: the competition of a person in a preview (web/preview.py)

    class Meta:
        indexes = [
            # The same expression as in entrants/names.py: names that look alike are equal.
            models.Index(
                models.Func(
                    Lower("username"),
                    models.Value("i1|0._-"),
                    models.Value("lllo"),
                    function="translate",
                    output_field=models.CharField(),
                ),
                name="user_by_look",
            ),
            # For the beginning of a name (desk/search.py); with another collation LIKE uses no index.
            models.Index(Collate(Lower("username"), "C"), name="user_by_beginning"),
            models.Index(Collate(Lower("email"), "C"), name="user_by_mail"),
            models.Index(fields=["agent_of"], name="user_by_owner", condition=Q(agent_of__isnull=False)),
        ]
        constraints = [
            CheckConstraint(
                condition=Q(linked_to__isnull=True) | ~Q(linked_to=F("pk")), name="user_is_not_linked_to_itself"
            ),
            UniqueConstraint(
                Lower("username"), name="user_name_is_unique_in_any_case", violation_error_message="This name is taken."
            ),
        ]

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return Django's hash with the generation: a new password of any login ends the account's sessions."""
        digest = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        return f"{digest}.{self.session_generation}" if self.session_generation else digest

    @property
    def account_id(self) -> int:
        return self.linked_to_id or self.pk

    @property
    def account(self) -> User:
        """The account that this login acts as."""
        return self.linked_to or self

    @property
    def person(self) -> User:
        """The account that answers for this login: for an agent its owner's."""
        return (self.account.agent_of or self).account

    @property
    def is_usable(self) -> bool:
        """Whether the login, its account and, for an agent, its owner are all active."""
        return self.is_active and self.account.is_active and self.person.is_active


class ApiToken(models.Model):
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=64)
    prefix = models.CharField(max_length=16)  # shown, so that an owner can distinguish tokens
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=16))
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)  # null: never
    revoked_at = models.DateTimeField(null=True)
    device_s_per_day = models.PositiveIntegerField(null=True)  # of its submissions, in any 24 hours; null: no budget
    per_hour = models.PositiveIntegerField(null=True)  # submissions in any hour; null: as the account's

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["prefix"], name="token_by_prefix")]
        constraints = [
            CheckConstraint(
                condition=Q(scopes__contained_by=list(SCOPES)) & ~Q(scopes=[]), name="token_scopes_are_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def account(self) -> User:
        """The account that the token acts as."""
        return self.owner.account


class DataSetChoice(models.Model):
    """What data sets may contain of an account (permissions.py). An account without a row has not chosen.

    A linked login has no row.
    """

    account = models.OneToOneField(User, on_delete=models.CASCADE, related_name="data_set_choice")
    choice = models.CharField(max_length=8)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            CheckConstraint(condition=Q(choice__in=DATA_SET_CHOICES), name="data_set_choice_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.choice} of account {self.account_id}"


class DeviceLogin(models.Model):
    """A sign-in of a command line that waits for a person; written by devices.py alone, deleted soon after its end."""

    digest = models.CharField(max_length=64, unique=True)  # of the device's secret
    code = models.CharField(max_length=16, unique=True)  # the person types it
    name = models.CharField(max_length=64)  # of the token
    scopes = ArrayField(models.CharField(max_length=16))
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    asked_at = models.DateTimeField(null=True)  # last question of the device
    refused_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")

    def __str__(self) -> str:
        return f"{self.name} ({self.shown_code})"

    @property
    def shown_code(self) -> str:
        return f"{self.code[:4]}-{self.code[4:]}"
