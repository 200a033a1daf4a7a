"""Sign-in of a command line by a short code: the page on which a person confirms it, and the calls of the device."""

from typing import Any, Final

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts import devices
from leaderboard.accounts.models import SCOPES, USUAL_SCOPES
from leaderboard.errors import RateLimited, UserError
from leaderboard.web import limits
from leaderboard.web.accounts.pages import SCOPE_TEXTS, user_of
from leaderboard.web.api.base import Public, ShortList, parse
from leaderboard.web.forms import ActForm, add_refusal
from leaderboard.web.middleware import refuse

ALLOW: Final = "allow"
REFUSE: Final = "refuse"


class StartLogin(drf.Serializer[Any]):
    name = drf.CharField(max_length=64, help_text="Name of the token, such as the name of your machine.")
    scopes = ShortList(
        child=drf.ChoiceField(choices=SCOPES), default=list(USUAL_SCOPES), max_length=len(SCOPES), min_length=1
    )


class DeviceLogin(drf.Serializer[Any]):
    device_code = drf.CharField(help_text="Secret of the device, for the next call.")
    user_code = drf.CharField(help_text="Short code that the person types.")
    verification_uri = drf.CharField(help_text="Page on which the person confirms the code.")
    verification_uri_complete = drf.CharField(help_text="The same page with the code filled in.")
    expires_in = drf.IntegerField(help_text="Seconds that the code is valid.")
    interval = drf.IntegerField(help_text="Seconds between two questions.")


class DeviceCode(drf.Serializer[Any]):
    device_code = drf.CharField(max_length=devices.MAX_SECRET_CHARS)


class NewToken(drf.Serializer[Any]):
    token = drf.CharField()
    name = drf.CharField()
    scopes = drf.ListField(child=drf.CharField())
    username = drf.CharField()
    expires_at = drf.DateTimeField(allow_null=True)


class Start(Public):
    permission_classes = [AllowAny]

    @extend_schema(operation_id="login_device", request=StartLogin, responses={201: DeviceLogin})
    def post(self, request: Request) -> Response:
        """Begin a sign-in by code. Show the person `user_code` and `verification_uri`, then ask for the token."""
        sent = parse(StartLogin, request.data)
        if wait := limits.take_each(*limits.by_address(limits.DEVICE_IP, request)):
            text = f"too many sign-ins by code from your network; wait {limits.minutes(wait)}"
            raise RateLimited("name", sent["name"], text, retry_after_s=wait)
        asked, secret = devices.start(now=timezone.now(), **sent)
        page = f"{settings.SITE_URL}/device"
        answer = {
            "device_code": secret,
            "user_code": asked.shown_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?code={asked.shown_code}",
            "expires_in": int(devices.LASTS.total_seconds()),
            "interval": devices.INTERVAL_S,
        }
        return Response(DeviceLogin(answer).data, status=201)


class Collect(Public):
    permission_classes = [AllowAny]

    @extend_schema(operation_id="login_device_token", request=DeviceCode, responses={200: NewToken})
    def post(self, request: Request) -> Response:
        """Return the token of a confirmed sign-in, once. Until then a 400 with the code `authorization_pending`."""
        with transaction.atomic():
            found = devices.collect(secret=parse(DeviceCode, request.data)["device_code"], now=timezone.now())
            if not isinstance(found, UserError):
                token, text = found
                get_adapter().send_notification_mail("account/email/token_made", token.owner, {"token": token})
        if isinstance(found, UserError):
            raise found
        answer = {"token": text, "username": token.account.get_username(), "expires_at": token.expires_at}
        return Response(NewToken(answer | {"name": token.name, "scopes": token.scopes}).data)


class CodeForm(ActForm):
    code = forms.CharField(
        max_length=40,
        help_text="The code that the command line shows, such as BCDF-GHJK.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )


@login_required
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _form(request, CodeForm(initial={"code": request.GET.get("code", "")[:40]}))
    if request.POST.get("act") == ALLOW:
        response: HttpResponse = _allow(request)
        return response
    return _answer(request)


@reauthentication_required  # type: ignore[untyped-decorator]
def _allow(request: HttpRequest) -> HttpResponse:
    return _answer(request)


def _answer(request: HttpRequest) -> HttpResponse:
    form, user, now = CodeForm(request.POST), user_of(request), timezone.now()
    if not form.is_valid():
        return _form(request, form)
    if wait := limits.take(limits.DEVICE_USER, str(user.account_id)):
        return refuse(request.path, 429, wait)
    try:
        asked = devices.waiting(form.cleaned_data["code"], now=now)
        act = request.POST.get("act")
        if act in (ALLOW, REFUSE):
            devices.settle(asked=asked, user=user, allow=act == ALLOW, now=now)
    except UserError as error:
        add_refusal(form, error)
        return _form(request, form)
    scopes = [text for text in SCOPE_TEXTS if text["value"] in asked.scopes]
    return render(request, "web/device.html", {"asked": asked, "scopes": scopes, "done": act, "form": form})


def _form(request: HttpRequest, form: CodeForm) -> HttpResponse:
    return render(request, "web/device.html", {"form": form}, status=form.status)
