"""Notices wait in the database until mail and webhook have taken them; incidents are acts of staff."""

import json
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.core import mail
from django.db import transaction

from leaderboard.operations.models import Notice
from leaderboard.operations.notices import send_notices, tell_operators

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


class Hook(HTTPServer):
    """A webhook. `status`: its answer."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[Any] = []
        self.status = 200
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hook(settings) -> Iterator[Hook]:
    server = Hook()
    settings.OPERATOR_WEBHOOK = f"http://127.0.0.1:{server.server_port}/hook"
    yield server
    server.shutdown()
    server.server_close()


def tell(subject: str = "rex", now: datetime = NOON) -> None:
    tell_operators("runner_suspended", "It lost two attempts.", subject=subject, now=now)


def test_a_notice_goes_by_mail_and_webhook_once(db: None, settings, hook: Hook) -> None:
    settings.OPERATOR_MAIL = ["ops@example.org"]
    tell()
    tell("mia")
    assert send_notices(now=NOON) == 2
    assert send_notices(now=NOON) == 0
    (letter,) = mail.outbox
    assert letter.subject == "Photofinish: runner_suspended: rex and 1 more"
    assert "It lost two attempts." in letter.body
    assert hook.got == [{"text": f"{letter.subject}\n{letter.body}"}]


def test_the_same_fact_is_noticed_once_an_hour(db: None) -> None:
    for minutes in (0, 1, 59, 61):
        tell(now=NOON + timedelta(minutes=minutes))
    assert Notice.objects.count() == 2


def test_a_notice_of_an_act_that_was_rolled_back_does_not_exist(transactional_db: None) -> None:
    with transaction.atomic():
        tell()
        transaction.set_rollback(True)
    assert not Notice.objects.exists()


def test_a_failed_try_is_repeated_ever_more_rarely(db: None, hook: Hook) -> None:
    hook.status = 500
    tell()
    now, waits = NOON, []
    for _ in range(4):
        assert send_notices(now=now) == 0
        notice = Notice.objects.get()
        assert "500" in notice.failure
        waits.append(notice.try_at - now)
        assert send_notices(now=notice.try_at - timedelta(seconds=1)) == 0
        now = notice.try_at
    assert [wait.total_seconds() for wait in waits] == [60, 600, 3600, 3600]
    assert len(hook.got) == 4
    hook.status = 200
    assert send_notices(now=now) == 1


def test_a_hook_that_fails_repeats_no_mail(db: None, settings, hook: Hook) -> None:
    settings.OPERATOR_MAIL = ["ops@example.org"]
    hook.status = 500
    tell()
    assert send_notices(now=NOON) == 0
    tell("mia")
    assert send_notices(now=NOON + timedelta(hours=1)) == 0
    assert [letter.subject.rpartition(": ")[2] for letter in mail.outbox] == ["rex", "mia"]
    hook.status = 200
    assert send_notices(now=NOON + timedelta(hours=3)) == 2
    assert len(mail.outbox) == 2


def test_notices_of_a_broken_hook_go_to_an_address_that_is_set_later(db: None, settings, hook: Hook) -> None:
    hook.status = 500
    tell()
    assert send_notices(now=NOON) == 0
    settings.OPERATOR_MAIL = ["ops@example.org"]
    for hours in (1, 3):
        assert send_notices(now=NOON + timedelta(hours=hours)) == 0
    (letter,) = mail.outbox
    assert letter.subject.endswith("rex")


def test_a_hook_that_is_away_is_a_failed_try(db: None, settings) -> None:
    settings.OPERATOR_WEBHOOK = "http://127.0.0.1:9/hook"
    tell()
    assert send_notices(now=NOON) == 0
    assert Notice.objects.get().failure


@pytest.mark.parametrize("status", [200, 404])
def test_a_hooks_address_is_a_secret(db: None, settings, hook: Hook, caplog, status: int) -> None:
    hook.status = status
    settings.OPERATOR_WEBHOOK += "/T0/B0/a-secret"
    tell()
    with caplog.at_level(logging.INFO):
        send_notices(now=NOON)
    assert len(hook.got) == 1
    assert "a-secret" not in caplog.text + Notice.objects.get().failure


def test_without_a_receiver_notices_wait(db: None) -> None:
    tell()
    assert send_notices(now=NOON) == 0
    assert Notice.objects.get().sent_at is None


def test_a_subject_cannot_add_a_header(db: None, settings) -> None:
    settings.OPERATOR_MAIL = ["ops@example.org"]
    tell("rex\r\nBcc: all@example.org")
    assert send_notices(now=NOON) == 1
    assert "\n" not in mail.outbox[0].subject
