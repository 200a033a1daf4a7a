"""Notifications over /api/v1: the list, the choice of kinds and channels, and a webhook."""

from typing import Any, Final

from django.conf import settings as site
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.inbox import tell
from leaderboard.inbox.models import CHANNELS, FORMATS, KINDS, SIGNED_JSON
from leaderboard.web.api.base import Private, ShortList, paged, parse
from leaderboard.web.api.serializers import Keyed
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.people.messages import NEWEST, send_sample

MOST_READ: Final = 200  # messages in a call
ONCE: Final = "Signs posts of the format json. Shown only now; empty for a chat."


class NotificationsQuery(Keyed):
    unread = drf.BooleanField(default=False, help_text="Only unread messages.")
    kind = drf.ChoiceField(choices=KINDS, required=False, help_text="Only messages of this kind.")


class Notification(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    kind = drf.CharField(help_text=f"One of {', '.join(KINDS)}.")
    subject = drf.CharField(help_text="Key of its object, such as board:12.")
    title = drf.CharField()
    text = drf.CharField(allow_blank=True)
    url = drf.CharField(help_text="Page on the site.")
    count = drf.IntegerField(help_text="Events that it stands for.")
    created_at = drf.DateTimeField(help_text="Time of the first event.")
    updated_at = drf.DateTimeField(help_text="Time of the newest event.")
    read_at = drf.DateTimeField(allow_null=True)


class ReadRequest(drf.Serializer[Any]):
    ids = ShortList(
        child=drf.IntegerField(min_value=1, max_value=MAX_KEY),
        default=list,
        max_length=MOST_READ,
        help_text="Empty: all messages.",
    )


class ReadCount(drf.Serializer[Any]):
    read = drf.IntegerField(help_text="Messages that were unread until now.")


class NotificationChoices(drf.Serializer[Any]):
    """Kinds of messages by channel. A missing channel stays as it is; an empty list turns it off."""

    page = ShortList(child=drf.CharField(max_length=16), required=False, max_length=len(KINDS))
    mail = ShortList(child=drf.CharField(max_length=16), required=False, max_length=len(KINDS))
    webhook = ShortList(child=drf.CharField(max_length=16), required=False, max_length=len(KINDS))


class NotificationSettings(drf.Serializer[Any]):
    page = drf.ListField(child=drf.CharField())
    mail = drf.ListField(child=drf.CharField())
    webhook = drf.ListField(child=drf.CharField())
    webhook_host = drf.CharField(source="hook_host", allow_blank=True, help_text="Empty: there is no webhook.")
    webhook_format = drf.CharField(source="hook_format", help_text=f"One of {', '.join(FORMATS)}.")
    webhook_on = drf.SerializerMethodField(help_text="False: there is none, or too many posts failed.")
    webhook_failure = drf.CharField(source="hook_failure", allow_blank=True, help_text="Why the last post failed.")
    sends_mail = drf.SerializerMethodField(help_text="Whether this site sends mail at all.")

    def get_webhook_on(self, preference: Any) -> bool:
        return bool(preference.hook)

    def get_sends_mail(self, preference: Any) -> bool:
        return bool(site.MAIL_URL)


class WebhookRequest(drf.Serializer[Any]):
    address = drf.CharField(help_text="https, on a public host. No answer repeats it.")
    format = drf.ChoiceField(choices=FORMATS, default=SIGNED_JSON)


class WebhookSaved(drf.Serializer[Any]):
    host = drf.CharField()
    format = drf.CharField()
    secret = drf.CharField(allow_blank=True, help_text=ONCE)


class WebhookSecret(drf.Serializer[Any]):
    secret = drf.CharField(help_text=ONCE)


class WebhookTested(drf.Serializer[Any]):
    host = drf.CharField(help_text="Where the test message arrived.")


def settings_of(user: User) -> Response:
    return Response(NotificationSettings(tell.preference_of(user)).data)


class Notifications(Private):
    @extend_schema(operation_id="notifications", parameters=[NotificationsQuery], responses=Notification(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's messages, newest first. Reading the list leaves them unread."""
        query, found = parse(NotificationsQuery, request.query_params), tell.messages_of(self.caller(request))
        if query["unread"]:
            found = found.filter(read_at=None)
        if "kind" in query:
            found = found.filter(kind=query["kind"])
        return paged(request, found, query, Notification, NEWEST)


class Read(Private):
    @extend_schema(operation_id="read_notifications", request=ReadRequest, responses=ReadCount)
    def post(self, request: Request) -> Response:
        """Mark messages as read."""
        sent = parse(ReadRequest, request.data)
        return Response({"read": tell.read_all(self.caller(request), timezone.now(), sent["ids"])})


class Settings(Private):
    @extend_schema(operation_id="notification_settings", responses=NotificationSettings)
    def get(self, request: Request) -> Response:
        """Return the kinds of messages by channel, and the state of the webhook."""
        return settings_of(self.caller(request))

    @extend_schema(operation_id="choose_notifications", request=NotificationChoices, responses=NotificationSettings)
    def post(self, request: Request) -> Response:
        """Choose the kinds of messages by channel."""
        sent, user = parse(NotificationChoices, request.data), self.caller(request)
        kept = tell.preference_of(user)
        tell.choose(user=user, **{channel: sent.get(channel, getattr(kept, channel)) for channel in CHANNELS})
        return settings_of(user)


class Webhook(Private):
    @extend_schema(operation_id="set_webhook", request=WebhookRequest, responses=WebhookSaved)
    def post(self, request: Request) -> Response:
        """Set the address of the caller's webhook. Choose in the settings which messages it gets."""
        sent = parse(WebhookRequest, request.data)
        found, secret = tell.set_hook(user=self.caller(request), address=sent["address"], form=sent["format"])
        return Response({"host": found.hook_host, "format": found.hook_format, "secret": secret})


class Rotate(Private):
    @extend_schema(operation_id="rotate_webhook", request=None, responses=WebhookSecret)
    def post(self, request: Request) -> Response:
        """Replace the secret of the caller's webhook. For 24 hours both secrets sign."""
        return Response({"secret": tell.rotate_secret(user=self.caller(request), now=timezone.now())})


class Test(Private):
    @extend_schema(operation_id="test_webhook", request=None, responses=WebhookTested)
    def post(self, request: Request) -> Response:
        """Post a test message to the caller's webhook. 10 an hour; 409 if it fails."""
        return Response({"host": send_sample(self.caller(request))})


class Remove(Private):
    @extend_schema(operation_id="remove_webhook", request=None, responses=NotificationSettings)
    def post(self, request: Request) -> Response:
        """Remove the caller's webhook."""
        tell.remove_hook(user=self.caller(request))
        return settings_of(self.caller(request))


VIEWS: Final = {"rotate": Rotate, "test": Test, "remove": Remove}
