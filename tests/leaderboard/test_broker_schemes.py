"""Each kind of BROKER_URL keeps the same contract, on a real server: rings, chores, rights, TLS, loss of the server."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dramatiq
import pytest

from leaderboard import broker
from runner.broker import OVER_TLS, RABBITMQ, open_broker
from runner.daemon.worker import listening
from tests.brokers import Certificate, RabbitServer, Server, ValkeyServer, need_rabbitmq

SCHEMES = ("redis", "rediss", "unix", "amqp", "amqps")
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, certificate: Certificate) -> Iterator[dict[type[Server], Server]]:
    """The servers that tests have asked for; each starts once."""
    known: dict[type[Server], Server] = {}
    yield known
    for server in known.values():
        server.kill()


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(
    scheme: str,
    servers: dict[type[Server], Server],
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
    settings,
) -> Iterator[Server]:
    """The server behind the scheme, with empty queues; the site is connected to it."""
    kind = RabbitServer if scheme in RABBITMQ else ValkeyServer
    if kind is RabbitServer:
        need_rabbitmq()
    if kind not in servers:
        servers[kind] = kind(tmp_path_factory.mktemp(kind.__name__), certificate)
        servers[kind].start()
    settings.BROKER_URL = servers[kind].url(scheme, "site")
    settings.BROKER_CA_FILE = ca_file(scheme, certificate)
    connect_anew()
    broker.get_broker().flush(broker.gpu_queue("cpu"))
    broker.get_broker().flush(broker.SITE_QUEUE)
    yield servers[kind]
    connect_anew()


def connect_anew() -> None:
    broker.get_broker().close()
    broker.get_broker.cache_clear()
    broker.breaker.reset()


def ca_file(scheme: str, certificate: Certificate) -> str:
    return str(certificate.file) if scheme in OVER_TLS else ""


def await_that(true, within_s: float = 20.0) -> None:
    give_up_at = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < give_up_at, "what the test waits for did not happen"
        time.sleep(0.02)


def test_rings_wait_for_a_runner_and_are_heard_once(server: Server, scheme: str, certificate: Certificate) -> None:
    assert [broker.ring(hardware="cpu", hint=str(number)) for number in range(3)] == [True] * 3
    assert broker.rings_waiting("cpu") == 3
    assert broker.answers()
    heard: list[float] = []
    with listening(
        server.url(scheme, "runner"), ca_file(scheme, certificate), "cpu", lambda: heard.append(time.monotonic())
    ):
        await_that(lambda: len(heard) == 3)
        began = time.monotonic()
        assert broker.ring(hardware="cpu", hint="while it listens")
        await_that(lambda: len(heard) == 4)
        assert heard[-1] - began < 2
        await_that(lambda: broker.rings_waiting("cpu") == 0)


def test_busy_runner_leaves_rings_to_an_idle_runner(server: Server, scheme: str, certificate: Certificate) -> None:
    end, busy, idle = threading.Event(), threading.Event(), []
    url, ca = server.url(scheme, "runner"), ca_file(scheme, certificate)
    broker.ring(hardware="cpu", hint="the first")
    with listening(url, ca, "cpu", lambda: (busy.set(), end.wait(20))):
        assert busy.wait(20)
        for _ in range(3):
            broker.ring(hardware="cpu", hint="another")
        with listening(url, ca, "cpu", lambda: idle.append(1)):
            await_that(lambda: len(idle) >= 2)
            end.set()


def test_rings_that_no_runner_hears_are_limited(server: Server, monkeypatch) -> None:
    monkeypatch.setattr(broker, "MOST_RINGS", 2)
    assert [broker.ring(hardware="cpu", hint="x") for _ in range(5)] == [True] * 5
    assert broker.rings_waiting("cpu") == 2


def test_chore_reaches_the_sites_worker(server: Server) -> None:
    done: list[str] = []
    queue = broker.get_broker()
    dramatiq.actor(lambda name: done.append(name), broker=queue, actor_name="chore", queue_name=broker.SITE_QUEUE)
    worker = dramatiq.Worker(queue, queues={broker.SITE_QUEUE}, worker_timeout=50, worker_threads=1)
    worker.start()
    try:
        assert broker.send_chore("chore", name="sweep the floor")
        await_that(lambda: done == ["sweep the floor"])
    finally:
        worker.stop()


def test_runners_account_reaches_no_queue_of_the_site(server: Server, scheme: str, certificate: Certificate) -> None:
    assert broker.send_chore("chore", name="for the site's worker")
    runner = open_broker(server.url(scheme, "runner"), ca_file(scheme, certificate), timeout_s=5.0, middleware=[])
    forged = dramatiq.Message(broker.SITE_QUEUE, "ask_hint", (), {"submission_id": "1"}, {})
    with pytest.raises(broker.ERRORS):
        runner.enqueue(forged)
    with pytest.raises(broker.ERRORS):
        next(iter(runner.consume(broker.SITE_QUEUE, timeout=500)))
    runner.close()
    assert broker._call(lambda: broker._messages_in(broker.SITE_QUEUE), "lost") == 1


@pytest.mark.parametrize("scheme", OVER_TLS, indirect=True)
def test_certificate_of_an_unknown_authority_or_another_name_is_refused(server: Server, scheme: str, settings) -> None:
    assert broker.answers()
    for url, ca in (
        (settings.BROKER_URL, ""),
        (settings.BROKER_URL.replace("@127.0.0.1:", "@localhost:"), settings.BROKER_CA_FILE),
    ):
        settings.BROKER_URL, settings.BROKER_CA_FILE = url, ca
        connect_anew()
        assert not broker.ring(hardware="cpu", hint="x")


def test_frozen_broker_costs_one_short_wait(server: Server) -> None:
    assert broker.ring(hardware="cpu", hint="while it works")
    server.signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert [broker.ring(hardware="cpu", hint="frozen") for _ in range(20)] == [False] * 20
        assert not broker.answers()
        assert time.monotonic() - began < broker.RABBITMQ_TIMEOUT_S + 1
    finally:
        server.signal(signal.SIGCONT)
    broker.breaker.reset()
    await_that(lambda: broker.ring(hardware="cpu", hint="thawed") or broker.breaker.reset())


def test_killed_broker_costs_no_work_and_is_used_again(
    live_stage, server: Server, scheme: str, certificate: Certificate
) -> None:
    from leaderboard.judging.sweep import ring_idle
    from tests.leaderboard.stage import current

    heard: list[float] = []
    with listening(server.url(scheme, "runner"), ca_file(scheme, certificate), "cpu", lambda: heard.append(1.0)):
        assert broker.ring(hardware="cpu", hint="before")
        await_that(lambda: heard)
        server.kill()
        try:
            submission = live_stage.submit()
            assert not broker.answers()
        finally:
            server.start()
        broker.breaker.reset()
        heard.clear()
        await_that(lambda: ring_idle() or broker.breaker.reset(), within_s=30)
        await_that(lambda: heard, within_s=30)
    live_stage.judge(submission)
    assert current(submission).outcome == "passed"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"BROKER_URL": "amqp:/rabbit"}, "BROKER_URL: expected redis://, rediss://, unix:// or amqps://"),
        ({"BROKER_URL": "kafka://site:hush@queue"}, "BROKER_URL: expected redis://"),
        ({"BROKER_URL": "amqps://site:hush@queue:many"}, "then account:password@host:port"),
        ({"BROKER_URL": "unix://site:hush@"}, "ends in a path"),
        ({"BROKER_URL": "rediss://site:hush@queue/?ssl_cert_reqs=none"}, "certificates are always verified"),
        ({"BROKER_URL": "amqps://site:hush@queue/?ssl_options={'verify_mode':0}"}, "certificates are always verified"),
        ({"BROKER_URL": "redis://site:hush@queue", "BROKER_CA_FILE": "/etc/ca.pem"}, "BROKER_CA_FILE: redis://"),
        ({"BROKER_URL": "rediss://site:hush@queue", "BROKER_CA_FILE": "/nowhere/ca.pem"}, "'/nowhere/ca.pem' is no"),
        ({"BROKER_URL": "amqps://site:hush@queue", "BROKER_CA_FILE": "pyproject.toml"}, "'pyproject.toml' is no"),
    ],
)
def test_wrong_address_is_refused_without_its_password(changes: dict[str, str], words: str) -> None:
    from runner.broker import check_broker

    assert Path("pyproject.toml").exists()
    with pytest.raises(ValueError) as caught:
        check_broker(changes["BROKER_URL"], changes.get("BROKER_CA_FILE", ""))
    assert words in str(caught.value)
    assert "hush" not in str(caught.value)
