"""Tables of messages to people: Message, Preference, Noted, BoardSeen.

A Message is a line of the page, and is due until mail and webhook have carried it. Further events about the same
subject join the unread message, so a person has at most one unread message of a kind about a subject.
"""

from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from leaderboard.competitions.models import Board
from leaderboard.judging.models import EPOCH_CHARS

VERDICT: Final = "verdict"
OVERTAKEN: Final = "overtaken"
REVIEW: Final = "review"
ANNOUNCEMENT: Final = "announcement"
PHASE: Final = "phase"
ORGANISING: Final = "organising"
KINDS: Final = (VERDICT, OVERTAKEN, REVIEW, ANNOUNCEMENT, PHASE, ORGANISING)

PAGE: Final = "page"
MAIL: Final = "mail"
WEBHOOK: Final = "webhook"
CHANNELS: Final = (PAGE, MAIL, WEBHOOK)

DISCORD: Final = "discord"
SLACK: Final = "slack"
SIGNED_JSON: Final = "json"
FORMATS: Final = (DISCORD, SLACK, SIGNED_JSON)


def every_kind() -> list[str]:
    return list(KINDS)


def usual_mail() -> list[str]:
    return [REVIEW]  # a rejection can be appealed for a limited time


class Message(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages")  # an account
    kind = models.CharField(max_length=16)
    subject = models.CharField(max_length=100)  # key of its object: "board:12"
    title = models.CharField(max_length=200)
    text = models.CharField(max_length=500, blank=True)
    url = models.CharField(max_length=300)  # path on the site
    count = models.PositiveIntegerField(default=1)  # events that it stands for; the newest gives the words
    created_at = models.DateTimeField()  # of the first event
    updated_at = models.DateTimeField()  # of the newest
    read_at = models.DateTimeField(null=True)
    on_page = models.BooleanField(default=True)
    mail_due = models.BooleanField(default=False)
    webhook_due = models.BooleanField(default=False)
    mail_since = models.DateTimeField(null=True)  # first event that no mail has carried; stale unless mail_due
    webhook_since = models.DateTimeField(null=True)  # the same for the webhook

    class Meta:
        ordering = ["-updated_at", "-id"]
        constraints = [
            CheckConstraint(condition=Q(kind__in=KINDS), name="message_kind_is_known"),
            UniqueConstraint(
                fields=["user", "kind", "subject"], condition=Q(read_at=None), name="one_unread_message_a_subject"
            ),
        ]
        indexes = [
            Index(fields=["user", "-updated_at", "-id"], name="message_by_person"),
            Index(fields=["user"], condition=Q(mail_due=True), name="message_to_mail"),
            Index(fields=["user"], condition=Q(webhook_due=True), name="message_to_post"),
            Index(fields=["updated_at"], name="message_by_age"),
        ]

    def __str__(self) -> str:
        return self.title


class Preference(models.Model):
    """The channels that a person chose, and how far each has come. Without a row the defaults apply."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    page = ArrayField(models.CharField(max_length=16), default=every_kind, blank=True)  # kinds
    mail = ArrayField(models.CharField(max_length=16), default=usual_mail, blank=True)
    webhook = ArrayField(models.CharField(max_length=16), default=list, blank=True)
    mail_at = models.DateTimeField(null=True)  # no further mail before
    mail_day = models.DateField(null=True)  # of `mails`
    mails = models.PositiveIntegerField(default=0)  # sent on that day
    hook = models.TextField(blank=True)  # address, sealed, since it is a secret; "": none
    hook_host = models.CharField(max_length=255, blank=True)
    hook_format = models.CharField(max_length=16, default=DISCORD)
    hook_at = models.DateTimeField(null=True)  # no further post before
    hook_tries = models.PositiveIntegerField(default=0)  # failed in a row
    hook_failure = models.CharField(max_length=200, blank=True)
    hook_secret = models.TextField(blank=True, default="", db_default="")  # signs posts of JSON; sealed
    hook_former = models.TextField(blank=True, default="", db_default="")  # the secret before, sealed
    hook_former_until = models.DateTimeField(null=True)  # it signs beside the new one until then

    class Meta:
        constraints = [
            CheckConstraint(
                condition=Q(
                    page__contained_by=list(KINDS), mail__contained_by=list(KINDS), webhook__contained_by=list(KINDS)
                ),
                name="preference_kinds_are_known",
            ),
            CheckConstraint(condition=Q(hook_format__in=FORMATS), name="preference_hook_format_is_known"),
        ]

    def __str__(self) -> str:
        return f"messages of {self.user_id}"


class Noted(models.Model):
    """An announcement or a phase that all entrants have a message about."""

    key = models.CharField(max_length=120, unique=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [Index(fields=["created_at"], name="noted_by_age")]

    def __str__(self) -> str:
        return self.key


class BoardSeen(models.Model):
    """The public front of a board at the last messages about overtakings."""

    board = models.OneToOneField(Board, on_delete=models.CASCADE, primary_key=True, related_name="+")
    token = models.UUIDField()  # the board's Revision
    ranking = models.CharField(max_length=160)  # its stage; no two are comparable
    epoch = models.CharField(max_length=EPOCH_CHARS, null=True)  # noqa: DJ001  # null: unknown, or a board without lines
    places = models.JSONField()  # [entrant, rank, group] of each, best first; a row of an older site has no group

    def __str__(self) -> str:
        return f"{self.board_id} at {self.token}"
