"""Sign-in with GitHub, Discord and Google: allauth's views for the providers that the settings name."""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.discord import views as discord
from allauth.socialaccount.providers.github import views as github
from allauth.socialaccount.providers.google import views as google
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import URLPattern, path

from leaderboard.web import limits
from leaderboard.web.middleware import allow_forms_to, refuse

VIEWS: Final = {"github": github, "discord": discord, "google": google}

Page = Callable[..., HttpResponseBase]


def leads_to_providers(page: Page) -> Page:
    """Return the page with a content policy that lets its buttons lead to the providers."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = page(request)
        if settings.SOCIALACCOUNT_PROVIDERS:
            adapters = (provider.get_oauth2_adapter(request) for provider in get_adapter().list_providers(request))
            parts = (urlsplit(adapter.authorize_url) for adapter in adapters)
            allow_forms_to(response, {f"{part.scheme}://{part.netloc}" for part in parts})
        return response

    return respond


def _configured(provider: str, page: Page) -> Page:
    def respond(request: HttpRequest) -> HttpResponseBase:
        if provider not in settings.SOCIALACCOUNT_PROVIDERS:
            raise Http404
        if wait_s := limits.take_each(*limits.by_address(limits.PROVIDER_IP, request)):
            return refuse(request.path, 429, wait_s)
        return page(request)

    return respond


def addresses() -> list[URLPattern]:
    return [
        path(f"sign-in/{provider}{end}", _configured(provider, page), name=f"{provider}_{name}")
        for provider, views in VIEWS.items()
        for end, name, page in (
            ("", "login", leads_to_providers(views.oauth2_login)),
            ("/callback", "callback", views.oauth2_callback),
        )
    ]
