"""Mail to people is a row of its cause's transaction, and goes to a real mail server by and by."""

import logging
import socket
import socketserver
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from typing import Any

import pytest
from django.core.mail import EmailMessage, EmailMultiAlternatives, send_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.judging.management.commands import sweep
from leaderboard.operations.models import Mail, Notice
from leaderboard.operations.outbox import GIVE_UP, LEASE, send_mails

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECRET = "https://site.example/account/password/reset/a-secret"
PASSWORD = "hurdle-Rail-99"


class MailServer(socketserver.ThreadingTCPServer):
    """An SMTP server. `answers`: its answer to a command, instead of 250."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Session)
        self.got: list[tuple[str, bytes]] = []  # recipient, mail
        self.answers: dict[str, str] = {}
        self.arrived = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.say("220 here")
        recipient = ""
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            answer = self.server.answers.get(verb)
            if verb == "RCPT":
                recipient = line.partition("<")[2].partition(">")[0]
            if verb == "DATA" and not answer:
                self.say("354 go on")
                text = b""
                while not text.endswith(b"\r\n.\r\n"):
                    text += self.rfile.readline()
                answer = self.server.answers.get("TEXT")
                if not answer:
                    self.server.got.append((recipient, text[:-3]))
                    self.server.arrived.set()
            self.say(answer or ("221 bye" if verb == "QUIT" else "250 fine"))
            if verb == "QUIT":
                break

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def mail_server(port: int = 0) -> Iterator[MailServer]:
    with MailServer(port) as server:
        yield server
        server.shutdown()


@pytest.fixture
def port(settings: Any) -> int:
    """The port of the mail server in the settings; nobody listens there yet."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    settings.EMAIL_BACKEND = "leaderboard.operations.outbox.EmailBackend"
    settings.MAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", found, 5
    return found


def write(to: str = "ada@example.org", text: str = SECRET, at: datetime = NOON) -> Mail:
    send_mail("Photofinish: Password", text, None, [to])
    mail = Mail.objects.order_by("pk").last()
    assert mail is not None
    Mail.objects.filter(pk=mail.pk).update(created_at=at, try_at=at)
    return mail


def test_mail_waits_for_a_server_that_is_down_and_goes_once_when_it_answers(db: None, port: int) -> None:
    now, waits = timezone.now(), []
    write(at=now)
    for _ in range(5):
        tried_at = timezone.now()
        assert send_mails(now=now) == 0
        mail = Mail.objects.get()
        assert "ConnectionRefusedError" in mail.failure
        waits.append(int((mail.try_at - tried_at).total_seconds()))
        assert send_mails(now=mail.try_at - timedelta(seconds=1)) == 0
        now = mail.try_at
    assert waits == [10, 60, 600, 3600, 3600]
    with mail_server(port) as server:
        assert send_mails(now=now) == 1
        assert send_mails(now=now + LEASE) == 0
    ((recipient, text),) = server.got
    message = message_from_bytes(text)
    assert (recipient, message["To"], message["Subject"]) == (
        "ada@example.org",
        "ada@example.org",
        "Photofinish: Password",
    )
    assert SECRET in str(message.get_payload())
    assert message["Message-ID"]
    assert not Mail.objects.exists(), "the row had a secret"


def test_mail_of_an_act_that_is_rolled_back_is_not_sent(transactional_db: None, port: int) -> None:
    with transaction.atomic():
        write()
        transaction.set_rollback(True)
    with mail_server(port) as server:
        assert send_mails(now=NOON) == 0
    assert server.got == []


def test_a_row_of_the_outbox_shows_no_link(db: None, port: int, client: Client, caplog: Any) -> None:
    mail = write()
    with connection.cursor() as cursor:
        cursor.execute("SELECT operations_mail::text FROM operations_mail")
        (row,) = cursor.fetchone()
    client.force_login(User.objects.create_superuser("root"))
    pages = [client.get(f"/admin/operations/mail/{end}") for end in ("", f"{mail.pk}/change/")]
    assert [page.status_code for page in pages] == [200, 200]
    with caplog.at_level(logging.INFO), mail_server(port) as server:
        server.answers["TEXT"] = f"554 spam: {SECRET}"
        assert send_mails(now=NOON) == 0
    told = row + caplog.text + Mail.objects.get().failure + "".join(page.content.decode() for page in pages)
    assert "Photofinish: Password" in told
    assert "a-secret" not in told
    assert "ada@example.org" not in told
    assert "sealed:" not in caplog.text + "".join(page.content.decode() for page in pages)


def test_mail_is_given_up_after_a_day_with_a_notice_and_without_its_text(db: None, port: int) -> None:
    began_at = timezone.now()
    write(at=began_at)
    assert send_mails(now=began_at + GIVE_UP - timedelta(seconds=1)) == 0
    assert Mail.objects.get().given_up_at is None
    assert send_mails(now=began_at + GIVE_UP + timedelta(minutes=1)) == 0
    mail = Mail.objects.get()
    assert (mail.given_up_at, mail.sealed) == (began_at + GIVE_UP + timedelta(minutes=1), "")
    assert "Photofinish: Password" in Notice.objects.get(event="mail_given_up").text
    with mail_server(port) as server:
        assert send_mails(now=began_at + 2 * GIVE_UP) == 0
    assert server.got == []


@pytest.mark.parametrize(("answer", "is_final"), [("550 nobody here", True), ("450 come back", False)])
def test_a_refused_recipient_stops_no_other_mail(db: None, port: int, answer: str, is_final: bool) -> None:
    refused = write("gone@example.org")
    with mail_server(port) as server:
        server.answers["RCPT"] = answer
        assert send_mails(now=NOON) == 0
        server.answers.clear()
        write("ben@example.org")
        assert send_mails(now=NOON) == 1
    assert [recipient for recipient, _ in server.got] == ["ben@example.org"]
    refused.refresh_from_db()
    assert refused.failure == f"the server refuses the recipient: {answer[:3]}"
    assert (refused.given_up_at is not None) == is_final


def test_mail_sealed_under_a_lost_key_stops_no_other(db: None, port: int, settings: Any) -> None:
    write("lost@example.org")
    settings.SECRET_KEY = "another-" * 8
    write("ben@example.org")
    with mail_server(port):
        assert send_mails(now=NOON) == 1
    assert Mail.objects.get().failure == "ValueError"


def test_mail_that_another_sweeper_sends_is_left_alone(db: None, port: int) -> None:
    mail = write()
    Mail.objects.filter(pk=mail.pk).update(try_at=NOON + LEASE)
    with mail_server(port) as server:
        assert send_mails(now=NOON) == 0
        assert send_mails(now=NOON + LEASE) == 1, "that sweeper has died"
    assert len(server.got) == 1


class SlowServer(BaseEmailBackend):
    """A server that takes mails so slowly that another sweeper comes meanwhile."""

    got = 0

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        SlowServer.got += len(email_messages)
        send_mails(now=timezone.now())
        return len(email_messages)


def test_mail_of_a_pass_that_began_long_ago_is_left_alone(db: None, port: int, settings: Any) -> None:
    settings.MAIL_BACKEND = f"{__name__}.SlowServer"
    began_at = timezone.now() - LEASE - timedelta(minutes=1)
    write(at=began_at)
    assert (send_mails(now=began_at), SlowServer.got) == (1, 1)


def test_mail_that_fails_late_in_a_pass_waits_from_its_own_try(db: None, port: int) -> None:
    began_at = timezone.now() - LEASE
    write(at=began_at)
    assert send_mails(now=began_at) == 0
    assert send_mails(now=timezone.now()) == 0
    assert Mail.objects.get().tries == 1
    assert Mail.objects.get().try_at > timezone.now()


def test_two_sweepers_send_a_mail_once(transactional_db: None, port: int) -> None:
    for number in range(10):
        write(f"p{number}@example.org")

    def work() -> None:
        send_mails(now=NOON)
        connection.close()

    with mail_server(port) as server:
        sweepers = [threading.Thread(target=work) for _ in range(4)]
        for one in sweepers:
            one.start()
        for one in sweepers:
            one.join()
    assert sorted(recipient for recipient, _ in server.got) == [f"p{number}@example.org" for number in range(10)]


def test_the_sweeper_sends_mail_that_is_written_while_it_runs(transactional_db: None, port: int) -> None:
    stopped = threading.Event()
    with mail_server(port) as server:
        sweeper = threading.Thread(target=sweep._repeat, args=(stopped, send_mails, sweep.SEND_EVERY_S))
        sweeper.start()
        try:
            write(at=NOON)
            assert server.arrived.wait(30)
        finally:
            stopped.set()
            sweeper.join()


@pytest.mark.parametrize(
    "message", [EmailMessage("a", "b", to=["c@d.example"]), EmailMultiAlternatives("a", to=["c@d.example"])]
)
def test_the_outbox_refuses_mail_that_it_would_change(db: None, port: int, message: EmailMessage) -> None:
    if isinstance(message, EmailMultiAlternatives):
        message.attach_alternative("<p>b", "text/html")
    else:
        message.attach("a.txt", "b")
    with pytest.raises(ValueError, match="plain text"):
        message.send()


def test_a_sign_up_speaks_to_no_mail_server(transactional_db: None, port: int, client: Client) -> None:
    sent = {"username": "finn", "email": "finn@example.org", "password1": PASSWORD, "password2": PASSWORD}
    with closing(socket.create_server(("127.0.0.1", port))) as dead:  # it takes connections and never answers
        dead.settimeout(0.5)
        assert client.post("/sign-up", sent).status_code == 302
        with pytest.raises(TimeoutError):
            dead.accept()
    assert Mail.objects.count() == 1
    with mail_server(port) as server:
        assert send_mails(now=Mail.objects.get().created_at) == 1
    assert b"/account/email/" in server.got[0][1]


def test_a_failed_act_on_an_account_keeps_neither_change_nor_mail(
    transactional_db: None, port: int, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from allauth.account.models import EmailAddress

    from leaderboard.accounts.models import ApiToken

    ada = User.objects.create_user("ada", password=PASSWORD)
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    monkeypatch.setattr("leaderboard.operations.outbox.seal", lambda _: 1 / 0)
    for path, body in (
        ("/tokens", {"name": "laptop", "scopes": ["read"]}),
        (
            "/account/password",
            {"oldpassword": PASSWORD, "password1": "steeple-Chase-77", "password2": "steeple-Chase-77"},
        ),
        ("/account/close", {"how": "close", "username": "ada"}),
    ):
        with pytest.raises(ZeroDivisionError):
            client.post(path, body)
    ada.refresh_from_db()
    assert (ada.is_active, ada.check_password(PASSWORD)) == (True, True)
    assert not ApiToken.objects.exists()
    assert not Mail.objects.exists()
