"""Settings that are unsafe together. No process of the site starts with them.

`manage` runs these checks before its commands, web process and site worker before their first message. A web process
of a public site also refuses a database role that owns the tables.
"""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connection
from django.http.request import validate_host
from psycopg.conninfo import conninfo_to_dict

from leaderboard import env

PASSWORD_CHARS: Final = 16  # of the database and the broker, at least
OWNED_TABLES: Final = """
SELECT current_user, count(*) FROM pg_class
 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND pg_has_role(relowner, 'MEMBER')
"""

log = structlog.get_logger(__name__)


def is_public() -> bool:
    """Return whether SITE_URL lets other machines in."""
    return not env.is_loopback(urlsplit(settings.SITE_URL).hostname or "")


def unsafe_settings() -> Iterator[str]:
    """Yield a sentence with variable, value and remedy for each unsafe combination; no secret is in it."""
    url = settings.SITE_URL
    if "*" in settings.ALLOWED_HOSTS:
        yield "ALLOWED_HOSTS='*': a visitor could choose the host in the site's links; name the site's own hosts"
    if env.is_set("FORWARDED_ALLOW_IPS"):
        yield (
            "FORWARDED_ALLOW_IPS is set: uvicorn would believe addresses forwarded by hosts that TRUSTED_PROXIES does "
            "not name; remove it"
        )
    if settings.RANKED_NEEDS_EMAIL and not settings.MAIL_URL:
        yield "RANKED_NEEDS_EMAIL=1 without MAIL_URL: nobody could confirm an address; set MAIL_URL"
    if not is_public():
        return
    host = urlsplit(url).hostname or ""
    if settings.DEBUG:
        yield f"DEBUG=1 with SITE_URL={url!r}: an error would show code and settings to any visitor; set DEBUG=0"
    if not validate_host(host, settings.ALLOWED_HOSTS):
        hosts = " ".join(settings.ALLOWED_HOSTS)
        yield f"ALLOWED_HOSTS={hosts!r} lacks {host!r}, the host of SITE_URL: every page would answer 400; add it"
    if url.startswith("http:") and not settings.SITE_INSECURE:
        yield (
            f"SITE_URL={url!r}: passwords and tokens would travel in the clear; use https, or SITE_INSECURE=1 where "
            "the network between visitors and site is yours alone"
        )
    if url.startswith("https:") and settings.TRUSTED_PROXIES is None:
        yield (
            f"TRUSTED_PROXIES is not set, with SITE_URL={url!r}: all visitors would have the proxy's address and share "
            f"its rate limits; name the proxy's address, or {env.NO_PROXY!r} where uvicorn itself holds the certificate"
        )
    if settings.MAIL_URL.startswith("file:"):
        yield (
            "MAIL_URL names a folder: staff could read every link to a new password at /mailbox, and nobody gets mail; "
            "use smtp:// or smtps://, or leave it out"
        )
    broker = urlsplit(settings.BROKER_URL)
    if broker.scheme != "unix" and not broker.password and not env.is_loopback(broker.hostname or ""):
        yield f"BROKER_URL has no password: any program that reaches {broker.hostname!r} could forge messages; set one"
    database = conninfo_to_dict(settings.DATABASE_URL)
    passwords = {"DATABASE_URL": str(database.get("password") or ""), "BROKER_URL": broker.password or ""}
    for name, password in passwords.items():
        if 0 < len(password) < PASSWORD_CHARS:
            remedy = f"use at least {PASSWORD_CHARS} random ones, for example from: openssl rand -hex 24"
            yield f"{name}: its password has only {len(password)} characters and can be guessed; {remedy}"


@register(Tags.security)
def check_settings(**options: Any) -> list[CheckMessage]:
    return [Error(sentence, id="photofinish.E001") for sentence in unsafe_settings()]


def refuse_unsafe_settings() -> None:
    """Raises ConfigError with every unsafe combination, for a process that `manage` does not start."""
    if found := list(unsafe_settings()):
        raise env.ConfigError("\n".join(found))


def unsafe_role() -> str:
    """Return why this web process must not use its database role; "" for a safe role or a private site.

    A database that does not answer is no reason: web processes start without it and wait for it.
    """
    if not is_public():
        return ""
    try:
        with connection.cursor() as cursor:
            cursor.execute(OWNED_TABLES)
            role, count = cursor.fetchone()
    except OperationalError as error:
        log.warning("database_role_not_checked", error=str(error))
        return ""
    finally:
        connection.close()
    danger = "a fault in a web process could change append-only rows"
    remedy = "use a role that owns nothing, after `manage grant_site_role ROLE` as the owner"
    return f"DATABASE_URL: the role {role!r} owns {count} of the site's tables: {danger}; {remedy}" if count else ""
