"""Address and connection of the queue, shared by site and runner.

`redis://`, `rediss://` and `unix://` lead to Redis or Valkey, `amqps://` and `amqp://` to RabbitMQ. Over TLS, the
server's certificate and name are always verified. Opening a broker makes no connection: dramatiq connects at the first
use, and again after a loss. No error shows a password.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from dramatiq import Broker, Middleware

OVER_TLS: Final = ("rediss", "amqps")
IN_THE_CLEAR: Final = ("redis", "amqp")
RABBITMQ: Final = ("amqp", "amqps")
EXPECTED: Final = "expected redis://, rediss://, unix:// or amqps://"
# Of Redis addresses. A query that turns verification off is refused.
QUERY: Final = ("db", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
SHOWN_CHARS: Final = 80

HEARTBEAT_S: Final = 15  # a worker that is silent for this long is dead: its messages go to other workers
ALWAYS_MAINTAIN: Final = 1_000_000  # of a million commands: each looks for dead workers
TRIES_AGAIN: Final = 1  # with a new connection, after a restart of the broker


def scheme_of(url: str) -> str:
    return url.partition("://")[0].lower()


def shown(url: str) -> str:
    """Return the address without password and query."""
    parts = urlsplit(url)
    account, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{account.partition(':')[0]}{':…' * (':' in account)}{at}{host}{parts.path}"[:SHOWN_CHARS]


def check_broker(url: str, ca_file: str) -> None:
    """Check BROKER_URL and BROKER_CA_FILE; "" is no file. Raises ValueError with a sentence that names the setting."""
    scheme = scheme_of(url)
    if scheme not in (*OVER_TLS, *IN_THE_CLEAR, "unix"):
        raise ValueError(f"BROKER_URL: {EXPECTED}")
    try:
        parts = urlsplit(url)
        has_place = bool(parts.path.strip("/") if scheme == "unix" else parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half of an IPv6 address
        has_place = False
    if not has_place:
        raise ValueError(f"BROKER_URL: {EXPECTED}, then account:password@host:port; a unix:// address ends in a path")
    allowed = () if scheme in RABBITMQ else QUERY
    if unknown := sorted(set(parse_qs(parts.query, keep_blank_values=True)) - set(allowed)):
        raise ValueError(
            f"BROKER_URL: {shown(url)!r} has ?{unknown[0]}=…, expected {' or '.join(allowed) or 'no query'}; "
            "certificates are always verified, and BROKER_CA_FILE names a private authority's"
        )
    if ca_file and scheme not in OVER_TLS:
        raise ValueError(f"BROKER_CA_FILE: {scheme}:// uses no TLS; choose rediss:// or amqps://, or leave it empty")
    if ca_file:
        _trusting(ca_file)


def open_broker(url: str, ca_file: str, *, timeout_s: float, middleware: list[Middleware] | None = None) -> Broker:
    """Return the broker at this address, without connecting.

    `timeout_s` limits each connection, and each answer of Redis. RabbitMQ has heartbeats instead: a connection that
    stays silent ends after about twice HEARTBEAT_S.
    """
    if scheme_of(url) in RABBITMQ:
        import pika
        from dramatiq.brokers.rabbitmq import RabbitmqBroker

        # A list, because dramatiq splits a text at semicolons. Confirmed messages notice a server that lost its queues.
        rabbit = RabbitmqBroker(url=[url], confirm_delivery=True, middleware=middleware)
        (parameters,) = rabbit.parameters
        parameters.heartbeat = HEARTBEAT_S
        parameters.socket_timeout = parameters.stack_timeout = parameters.blocked_connection_timeout = timeout_s
        if scheme_of(url) in OVER_TLS:
            parameters.ssl_options = pika.SSLOptions(_trusting(ca_file), parameters.host)
        return rabbit
    import redis
    from dramatiq.brokers.redis import RedisBroker
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client = redis.Redis.from_url(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), TRIES_AGAIN),
        **({"ssl_ca_certs": ca_file} if ca_file else {}),
    )
    return RedisBroker(  # type: ignore[no-untyped-call]
        client=client,
        middleware=middleware,
        heartbeat_timeout=1000 * HEARTBEAT_S,
        maintenance_chance=ALWAYS_MAINTAIN,
    )


def _trusting(ca_file: str) -> ssl.SSLContext:
    """Return a context that trusts the usual authorities and those of the file. Raises ValueError."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:  # no such file, or no certificate in it (SSLError)
            raise ValueError(
                f"BROKER_CA_FILE: {ca_file!r} is no file of certificates in PEM form ({error.strerror or error}); "
                "name the file of your certificate authority, or leave it empty"
            ) from None
    return context
