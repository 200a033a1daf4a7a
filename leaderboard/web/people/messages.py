"""Notifications: the list, the choice of kinds and channels, a webhook, and the way out of mails without a sign-in."""

from threading import BoundedSemaphore
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings as site
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.errors import RateLimited, UserError
from leaderboard.inbox import deliver, tell
from leaderboard.inbox.models import CHANNELS, DISCORD, KINDS, MAIL, SIGNED_JSON, SLACK, Message
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import sentence
from leaderboard.web.paging import page_at

PAGE_ROWS: Final = 30
NEWEST: Final = ("-updated_at", "-pk")
SETTINGS: Final = "/notifications/settings"
KIND_TEXTS: Final = {
    "verdict": ("Verdicts", "A submission of yours has its verdict."),
    "overtaken": ("Overtaken", "Another entrant passed you on a board."),
    "review": ("Review", "A result of yours is held, cleared or rejected, or a reviewer asks you."),
    "announcement": ("Announcements", "Organisers of your competitions announce something."),
    "phase": ("Phases", "A competition of yours begins, closes within a day, or ends."),
    "organising": ("Organising", "Held results, records, phases and news of competitions in which you have a role."),
}
CHANNEL_TEXTS: Final = {"page": "On this site", "mail": "E-mail", "webhook": "Webhook"}
FORMAT_TEXTS: Final = {DISCORD: "Discord", SLACK: "Slack", SIGNED_JSON: "JSON, signed"}
SHOW_ONCE: Final = "hook_secret"  # in the session, until the page has shown it
_testing: Final = BoundedSemaphore(1)  # in each process: a slow server of a stranger holds one place, not all


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    page = page_at(request, tell.messages_of(user), order=NEWEST, name="messages", size=PAGE_ROWS)
    return render(request, "web/notifications.html", {"page": page, "kinds": KIND_TEXTS})


@login_required
@require_POST
def mark_read(request: HttpRequest) -> HttpResponse:
    tell.read_all(user_of(request), timezone.now())
    return redirect("/notifications")


@login_required
@require_http_methods(["GET", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if request.method == "POST":
        given = {channel: request.POST.getlist(channel) for channel in CHANNELS}
        try:
            tell.choose(user=user, **given)
        except UserError as error:
            return settings_page(request, user, error)
        messages.success(request, "Saved.")
        return redirect(SETTINGS)
    return settings_page(request, user)


@login_required
@sensitive_post_parameters("address")
@require_POST
def webhook(request: HttpRequest) -> HttpResponse:
    """Set the address of a webhook. It is never shown again, not even after a refusal."""
    user = user_of(request)
    try:
        found, secret = tell.set_hook(
            user=user, address=request.POST.get("address", ""), form=request.POST.get("format", DISCORD)
        )
    except UserError as error:
        return settings_page(request, user, error)
    request.session[SHOW_ONCE] = secret
    on = "" if found.webhook else " Now choose above what it gets."
    messages.success(request, f"The webhook at {found.hook_host} is saved.{on}")
    return redirect(SETTINGS)


@login_required
@require_POST
def act_on_webhook(request: HttpRequest, name: str) -> HttpResponse:
    user = user_of(request)
    if name == "remove":
        tell.remove_hook(user=user)
        messages.success(request, "The webhook is removed.")
    elif name == "test":
        try_webhook(request, user)
    elif name == "rotate":
        try:
            request.session[SHOW_ONCE] = tell.rotate_secret(user=user, now=timezone.now())
        except UserError as error:
            messages.warning(request, sentence(error.message))
    else:
        raise Http404
    return redirect(SETTINGS)


def try_webhook(request: HttpRequest, user: User) -> None:
    try:
        messages.success(request, f"A test message was sent to {send_sample(user)}.")
    except UserError as error:
        messages.warning(request, sentence(error.message))


def send_sample(user: User) -> str:
    """Post a test message to the person's webhook; return its host."""
    preference = tell.preference_of(user)
    if not preference.hook:
        raise UserError("webhook", "", "there is no webhook; enter its address first", 409, "no_webhook")
    if wait := limits.take(limits.HOOK_USER, str(user.account_id)):
        text = f"that was tried too often; wait {limits.minutes(wait)}"
        raise RateLimited("webhook", "", text, retry_after_s=wait)
    if not _testing.acquire(blocking=False):
        raise UserError("webhook", "", "another webhook is being tested; try again in a moment", 409, "webhook_busy")
    sample = Message(kind="test", title="A test from Photofinish", text="Your webhook works.", url=SETTINGS)
    sample.updated_at = timezone.now()
    try:
        problem = deliver.try_post(preference, [sample])
    finally:
        _testing.release()
    if problem:
        raise UserError("webhook", "", f"the test message was not sent: {problem}", 409, "webhook_failed")
    return preference.hook_host


def settings_page(request: HttpRequest, user: User, error: UserError | None = None) -> HttpResponse:
    preference = tell.preference_of(user)
    rows = [
        {
            "kind": kind,
            "title": title,
            "about": about,
            "cells": [(channel, kind in getattr(preference, channel)) for channel in CHANNELS],
        }
        for kind, (title, about) in KIND_TEXTS.items()
    ]
    context = {
        "rows": rows,
        "channels": CHANNEL_TEXTS,
        "formats": FORMAT_TEXTS,
        "signs": preference.hook_format == SIGNED_JSON,
        "secret": request.session.pop(SHOW_ONCE, ""),
        "preference": preference,
        "sends_mail": bool(site.MAIL_URL),
        "has_address": EmailAddress.objects.filter(user=user.account_id, verified=True).exists(),
        "error": sentence(error.message) if error else "",
        "error_field": error.field if error else "",
        "tries": deliver.HOOK_TRIES,
    }
    return render(request, "web/notification_settings.html", context, status=error.status if error else 200)


@csrf_exempt  # a mail program's one-click request has no cookie; the signed address is the permission
@require_http_methods(["GET", "HEAD", "POST"])
def off(request: HttpRequest, token: str) -> HttpResponse:
    """Turn a kind of mail off, from the link in the mail. Reading the page changes nothing."""
    found = deliver.read_off(token)
    if found is None or (found[1] and found[1] not in KINDS):
        raise Http404
    account, kind = found
    context = {"said": deliver.KIND_WORDS.get(kind, ""), "is_done": request.method == "POST"}
    if request.method == "POST" and User.objects.filter(pk=account).exists():
        tell.stop(account=account, channel=MAIL, kind=kind)
    return render(request, "web/notifications_off.html", context)
