"""Tables of running the site: Notice (to its operators), Mail, Incident, IncidentNote, Maintenance and Ban."""

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, UniqueConstraint


class Notice(models.Model):
    """A fact that an operator should act on. It waits here until mail or webhook has taken it."""

    event = models.CharField(max_length=64)  # its name in the log
    subject = models.CharField(max_length=200)  # its object, such as a runner's name
    text = models.TextField()
    created_at = models.DateTimeField()
    try_at = models.DateTimeField()  # not sent before
    tries = models.PositiveIntegerField(default=0)  # failed
    failure = models.CharField(max_length=300, blank=True)  # of the last try
    mailed_at = models.DateTimeField(null=True)  # the webhook may still wait
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            Index(fields=["try_at"], condition=Q(sent_at=None), name="notice_unsent"),
            Index(fields=["event", "subject", "created_at"], name="notice_by_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.event}: {self.subject}"


class Mail(models.Model):
    """A mail that no mail server has taken yet (outbox.py). It is deleted once one has."""

    subject = models.CharField(max_length=200)
    sealed = models.TextField()  # recipients and text, encrypted; "" once given up
    created_at = models.DateTimeField()
    try_at = models.DateTimeField()  # not sent before
    tries = models.PositiveIntegerField(default=0)  # failed
    failure = models.CharField(max_length=300, blank=True)  # of the last try
    given_up_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [Index(fields=["try_at"], condition=Q(given_up_at=None), name="mail_waiting")]

    def __str__(self) -> str:
        return f"mail {self.pk}"


class Incident(models.Model):
    """A disturbance of the service, as the status page shows it."""

    title = models.CharField(max_length=120)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-began_at", "-id"]
        constraints = [
            CheckConstraint(condition=Q(ended_at=None) | Q(ended_at__gte=F("began_at")), name="incident_ends_later")
        ]

    def __str__(self) -> str:
        return self.title


class IncidentNote(models.Model):
    """What was known about an incident at a time."""

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="notes")
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"note on incident {self.incident_id}"


class Ban(models.Model):
    """A network whose requests are refused until its end (bans.py)."""

    network = models.CharField(max_length=64)  # such as 192.0.2.0/24
    reason = models.TextField()  # shown to the banned
    created_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [Index(fields=["ends_at"], condition=Q(lifted_at=None), name="ban_in_force")]
        constraints = [
            UniqueConstraint(fields=["network"], condition=Q(lifted_at=None), name="one_ban_a_network"),
        ]

    def __str__(self) -> str:
        return self.network


class Maintenance(models.Model):
    """A time in which only staff and runners change the site. The table has a row only while it lasts."""

    text = models.CharField(max_length=300)
    began_at = models.DateTimeField()
    until = models.DateTimeField()  # as announced

    def __str__(self) -> str:
        return "maintenance"
