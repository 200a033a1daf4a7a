"""All routes of the site from its URLconf, for tests that must cover each of them."""

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver


def routes() -> list[str]:
    """Return all routes without a leading slash, for example "boards/<slug:slug>/<str:hardware>"."""
    return list(_routes(get_resolver().url_patterns, ""))


def _routes(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _routes(one.url_patterns, route)
        else:
            yield route
