"""Mails and posts: bounded, gathered, with a way out; a webhook never reaches a private network."""

import json
import re
import socket
import ssl
import threading
import time
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.accounts.tokens import unseal
from leaderboard.errors import UserError
from leaderboard.inbox import deliver, hooks, tell
from leaderboard.inbox.models import DISCORD, SIGNED_JSON, SLACK, Message, Preference
from tests.leaderboard.inbox.hook_server import HookServer
from tests.leaderboard.stage import NOON

ADDRESS = "https://hooks.example/services/T0/secret-part"
EVERY = ("verdict", "overtaken", "review", "announcement", "phase")
DOCUMENT = Path(__file__).parents[3] / "docs" / "http.in.md"


@pytest.fixture
def sends_mail(settings) -> None:
    settings.MAIL_URL = "smtp://mail.example"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def ada(stage, sends_mail):
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True, primary=True)
    tell.choose(user=stage.ada, page=EVERY, mail=EVERY, webhook=EVERY)
    return stage.ada


def event(user, *, subject: str = "board:1", title: str = "Passed: Row softmax", now=NOON) -> None:
    tell.tell([user.pk], "verdict", subject=subject, title=title, text="Fast.", url="/submissions/1", now=now)


def minutes(count: float):
    return NOON + timedelta(minutes=count)


def test_a_storm_is_one_mail_and_the_next_comes_ten_minutes_later(ada) -> None:
    for number in range(30):
        event(ada, subject=f"board:{number}", title=f"Passed: board {number}")
        event(ada, subject=f"board:{number}", title=f"Passed: board {number}")
    assert deliver.deliver_mails(now=NOON) == 0  # gathers first
    assert deliver.deliver_mails(now=minutes(1)) == 1
    [sent] = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.subject == "Photofinish: Passed: board 29 and 29 more"
    assert "(2 times)" in sent.body
    assert "… and 10 more" in sent.body
    event(ada, now=minutes(2))
    assert deliver.deliver_mails(now=minutes(9)) == 0
    assert deliver.deliver_mails(now=minutes(12)) == 1


def test_a_person_gets_twenty_mails_a_day(ada) -> None:
    for number in range(30):
        event(ada, now=minutes(20 * number))
        deliver.deliver_mails(now=minutes(20 * number + 1))
    assert len(mail.outbox) == deliver.MOST_MAILS
    assert deliver.deliver_mails(now=NOON + timedelta(days=1)) == 1


def test_a_mail_goes_to_confirmed_addresses_of_active_people_alone(stage, ada) -> None:
    tell.choose(user=stage.ben, page=EVERY, mail=EVERY, webhook=())
    EmailAddress.objects.create(user=stage.ben, email="ben@example.org", verified=False)
    event(stage.ben)
    event(ada)
    stage.ada.is_active = False
    stage.ada.save()
    assert deliver.deliver_mails(now=minutes(1)) == 0
    assert not Message.objects.filter(mail_due=True).exists()


def test_every_mail_says_how_to_turn_it_off(ada) -> None:
    event(ada)
    deliver.deliver_mails(now=minutes(1))
    [sent] = mail.outbox
    assert "No more mails about verdicts: " in sent.body
    address = sent.extra_headers["List-Unsubscribe"].strip("<>")
    assert address in sent.body
    assert deliver.read_off(address.rpartition("/")[2]) == (ada.pk, "")
    assert deliver.read_off("nonsense") is None


def test_without_a_mail_server_nothing_waits(ada, settings) -> None:
    settings.MAIL_URL = ""
    event(ada)
    assert deliver.deliver_mails(now=minutes(1)) == 0
    assert not Message.objects.filter(mail_due=True).exists()


def test_a_kind_that_is_turned_off_is_not_sent_any_more(ada) -> None:
    event(ada)
    tell.stop(account=ada.pk, channel="mail", kind="verdict")
    assert deliver.deliver_mails(now=minutes(1)) == 0
    assert Preference.objects.get(user=ada).mail == ["overtaken", "review", "announcement", "phase"]
    tell.stop(account=ada.pk, channel="mail", kind="")
    assert Preference.objects.get(user=ada).mail == []


def test_turning_a_kind_off_writes_no_webhook(ada) -> None:
    """The person may remove the webhook at the same time, and it must not come back."""
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    with CaptureQueriesContext(connection) as asked:
        tell.stop(account=ada.pk, channel="mail", kind="verdict")
    [written] = [one["sql"] for one in asked if one["sql"].startswith('UPDATE "inbox_preference"')]
    assert "hook" not in written.partition(" WHERE ")[0].replace('"webhook"', "")


def test_a_message_for_mail_alone_is_not_on_the_page_and_does_not_grow(ada) -> None:
    tell.choose(user=ada, page=(), mail=EVERY, webhook=())
    event(ada)
    assert tell.unread(ada, "/", NOON) == 0
    deliver.deliver_mails(now=minutes(1))
    event(ada, now=minutes(5))
    deliver.deliver_mails(now=minutes(20))
    assert "times" not in mail.outbox[-1].body


@pytest.fixture
def posted(monkeypatch):
    """Collect posts in place of the network; a text in `posted.answers` fails the next one."""
    found = []

    def post(address, body, headers=None):
        found.append((address, body) if headers is None else (address, body, headers))
        if answers:
            raise answers.pop(0)

    answers: list[hooks.HookError] = []
    monkeypatch.setattr(hooks, "post", post)
    return found, answers


def test_a_post_gathers_and_is_not_repeated(ada, posted) -> None:
    found, _ = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    for number in range(3):
        event(ada, subject=f"board:{number}")
    assert deliver.deliver_posts(now=minutes(1)) == 1
    assert deliver.deliver_posts(now=minutes(3)) == 0
    [(address, body)] = found
    assert address == ADDRESS
    assert body["text"].count("/submissions/1") == 3


def test_a_steady_stream_of_events_does_not_hold_up_mails_and_posts(ada, posted) -> None:
    """Regression: each event moved the message's time, so that the gathering of events never ended."""
    found, _ = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    for seconds in range(0, 16 * 60, 15):
        event(ada, now=NOON + timedelta(seconds=seconds))
        deliver.deliver(now=NOON + timedelta(seconds=seconds + 5))
    assert len(mail.outbox) == 2  # after GATHER_MOST, and after MAIL_EVERY
    assert len(found) == 3  # after GATHER_MOST each
    assert "(21 times)" in mail.outbox[0].body


def test_bursts_gather_although_their_unread_message_is_old(ada, posted) -> None:
    """Regression: gathering ended GATHER_MOST after the first event of the unread message, also if that was sent."""
    found, _ = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    Preference.objects.update(mails=deliver.MOST_MAILS - 1, mail_day=NOON.date())  # after the next, mails wait a day
    for hours in range(3):
        for seconds in range(0, 20, 2):
            event(ada, now=NOON + timedelta(hours=hours, seconds=seconds))
            deliver.deliver(now=NOON + timedelta(hours=hours, seconds=seconds + 1))
        for seconds in (60, 120):
            deliver.deliver(now=NOON + timedelta(hours=hours, seconds=seconds))
        assert len(found) == hours + 1
    assert Message.objects.get().count == 30
    assert len(mail.outbox) == 1


def test_the_address_of_a_webhook_is_sealed(ada) -> None:
    tell.set_hook(user=ada, address=ADDRESS, form=DISCORD)
    kept = Preference.objects.get(user=ada)
    assert "secret-part" not in kept.hook
    assert kept.hook_host == "hooks.example"


def test_webhooks_are_sealed_anew_under_a_new_key(ada, settings) -> None:
    _, secret = tell.set_hook(user=ada, address=ADDRESS, form=SIGNED_JSON)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "a-new-key-" + "x" * 40
    call_command("seal_secrets", stdout=StringIO())
    settings.SECRET_KEY_FALLBACKS = []
    kept = Preference.objects.get(user=ada)
    assert (unseal(kept.hook), unseal(kept.hook_secret)) == (ADDRESS, secret)


def test_a_failing_webhook_is_tried_five_times_and_then_off(ada, posted) -> None:
    found, answers = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    event(ada)
    answers += [hooks.HookError("it answered 500")] * 10
    for hours in range(1, 200):
        deliver.deliver_posts(now=NOON + timedelta(hours=hours))
    kept = Preference.objects.get(user=ada)
    assert len(found) == deliver.HOOK_TRIES
    assert (kept.hook, kept.hook_host, kept.hook_failure) == ("", "hooks.example", "it answered 500")
    assert not Message.objects.filter(webhook_due=True).exists()


def test_a_webhook_that_is_gone_is_off_at_once(ada, posted) -> None:
    found, answers = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    event(ada)
    answers.append(hooks.HookError("it answered 404", is_final=True))
    deliver.deliver_posts(now=minutes(1))
    assert Preference.objects.get(user=ada).hook == ""
    assert len(found) == 1


def test_a_deactivated_account_stands_before_no_other_webhook(stage, ada, posted, monkeypatch) -> None:
    monkeypatch.setattr(deliver, "PASS_HOOKS", 1)
    tell.choose(user=stage.ben, page=EVERY, mail=(), webhook=EVERY)
    for person in (ada, stage.ben):
        tell.set_hook(user=person, address=ADDRESS, form=SLACK)
        event(person)
    type(ada).objects.filter(pk=ada.pk).update(is_active=False)
    assert deliver.deliver_posts(now=minutes(1)) == 0
    assert deliver.deliver_posts(now=minutes(2)) == 1


def test_the_oldest_event_goes_first_whoever_signed_up_first(stage, ada, posted, monkeypatch) -> None:
    """Regression: low user ids came first, so that their posts and mails could delay all others'."""
    monkeypatch.setattr(deliver, "PASS_HOOKS", 1)
    monkeypatch.setattr(deliver, "PASS_MAILS", 1)
    found, _ = posted
    EmailAddress.objects.create(user=stage.ben, email="ben@example.org", verified=True)
    tell.choose(user=stage.ben, page=EVERY, mail=EVERY, webhook=EVERY)
    for at, person in enumerate((stage.ben, ada)):
        tell.set_hook(user=person, address=f"https://hooks.example/{person}", form=SLACK)
        event(person, now=NOON + timedelta(seconds=at))
    for _ in range(2):
        deliver.deliver(now=minutes(1))
    assert [address for address, _ in found] == ["https://hooks.example/ben", "https://hooks.example/ada"]
    assert [sent.to for sent in mail.outbox] == [["ben@example.org"], ["ada@example.org"]]


def test_a_slow_receiver_waits_longer_for_its_next_post(ada, monkeypatch) -> None:
    monkeypatch.setattr(deliver, "SLOWNESS", 1_000)
    monkeypatch.setattr(hooks, "post", lambda *_: time.sleep(0.2))
    tell.set_hook(user=ada, address=ADDRESS, form=SLACK)
    event(ada)
    assert deliver.deliver_posts(now=minutes(1)) == 1
    event(ada, now=minutes(2))
    assert deliver.deliver_posts(now=minutes(4)) == 0
    assert deliver.deliver_posts(now=minutes(30)) == 1


@pytest.fixture
def is_genuine() -> Any:
    """Return the function of the documented example, which checks a signature."""
    (example,) = re.findall(r"```python\n(import hashlib.+?)```", DOCUMENT.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    return names["is_from_photofinish"]


def test_a_post_of_json_has_events_and_a_signature(ada, posted, is_genuine) -> None:
    found, _ = posted
    _, secret = tell.set_hook(user=ada, address=ADDRESS, form=SIGNED_JSON)
    event(ada)
    event(ada, subject="board:2", title="Passed: matmul", now=minutes(0.1))
    assert deliver.deliver_posts(now=minutes(1)) == 1
    [(_, body, headers)] = found
    first, second = body["events"]
    assert (first["subject"], second["subject"], second["title"]) == ("board:1", "board:2", "Passed: matmul")
    assert first["url"].endswith("/submissions/1")
    assert headers["Photofinish-Event"] == "verdict"
    data = hooks.encode(body)
    assert is_genuine(headers["Photofinish-Signature"], data, secret)
    assert not is_genuine(headers["Photofinish-Signature"], data + b" ", secret)
    assert not is_genuine(headers["Photofinish-Signature"], data, "pfw_another")
    stale = hooks.signature(data, [secret], time_s=1_000_000_000)
    assert not is_genuine(stale, data, secret)


def test_another_try_of_the_same_events_has_the_same_delivery(ada, posted) -> None:
    found, answers = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SIGNED_JSON)
    event(ada)
    answers.append(hooks.HookError("it answered 500"))
    deliver.deliver_posts(now=minutes(1))
    deliver.deliver_posts(now=minutes(10))
    event(ada, now=minutes(11))
    deliver.deliver_posts(now=minutes(20))
    ids = [headers["Photofinish-Delivery"] for _, _, headers in found]
    assert ids[0] == ids[1] != ids[2]
    assert [body["events"][0]["id"] == found[0][1]["events"][0]["id"] for _, body, _ in found] == [True, True, False]


def test_a_new_secret_signs_beside_the_former_for_a_day(ada, posted, is_genuine) -> None:
    found, _ = posted
    _, former = tell.set_hook(user=ada, address=ADDRESS, form=SIGNED_JSON)
    new = tell.rotate_secret(user=ada, now=timezone.now())
    kept = Preference.objects.get(user=ada)
    assert not any(secret in f"{kept.hook_secret}{kept.hook_former}" for secret in (former, new))
    event(ada)
    deliver.deliver_posts(now=minutes(1))
    [(_, body, headers)] = found
    assert all(is_genuine(headers["Photofinish-Signature"], hooks.encode(body), one) for one in (former, new))
    Preference.objects.update(hook_former_until=timezone.now() - timedelta(seconds=1))
    event(ada, now=minutes(2))
    deliver.deliver_posts(now=minutes(5))
    (_, body, headers) = found[1]
    genuine = [is_genuine(headers["Photofinish-Signature"], hooks.encode(body), one) for one in (former, new)]
    assert genuine == [False, True]


def test_only_a_webhook_of_json_has_a_secret(ada) -> None:
    assert tell.set_hook(user=ada, address=ADDRESS, form=SLACK)[1] == ""
    with pytest.raises(UserError, match="only a webhook of the format json"):
        tell.rotate_secret(user=ada, now=NOON)


def test_events_beyond_a_post_of_json_come_with_the_next(ada, posted, monkeypatch) -> None:
    monkeypatch.setattr(deliver, "MOST_EVENTS", 2)
    found, _ = posted
    tell.set_hook(user=ada, address=ADDRESS, form=SIGNED_JSON)
    for number in range(3):
        event(ada, subject=f"board:{number}", now=NOON + timedelta(seconds=number))
    deliver.deliver_posts(now=minutes(1))
    deliver.deliver_posts(now=minutes(5))
    sent = [[one["subject"] for one in body["events"]] for _, body, _ in found]
    assert sent == [["board:0", "board:1"], ["board:2"]]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://hooks.example/x",
        "https://",
        "https://user:password@hooks.example/x",  # pragma: allowlist secret
        "https://hooks.example:8443/x",
        "https://hooks.example:x/",
        "ftp://hooks.example",
        "https://hooks.example/" + "x" * 600,
        "https://hooks.example/\nHost: evil",
        "https://[::1",
    ],
)
def test_a_wrong_address_is_refused_and_not_repeated(stage, address) -> None:
    with pytest.raises(UserError) as refused:
        tell.set_hook(user=stage.ada, address=address, form=SLACK)
    assert refused.value.field == "address"
    assert "hooks.example" not in str(refused.value.as_json())


@pytest.mark.parametrize(
    "peer",
    ["127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
     "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
     "2002:7f00:1::", "fec0::1", "64:ff9b::7f00:1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "198.18.0.1", "nonsense"],
)  # fmt: skip
def test_a_private_address_is_not_public(peer) -> None:
    assert not hooks.is_public(peer)


def test_a_public_address_is_public() -> None:
    assert hooks.is_public("1.1.1.1")
    assert hooks.is_public("2606:4700:4700::1111")


def test_a_host_with_a_single_private_address_is_refused(monkeypatch) -> None:
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (peer, 443)) for peer in ("1.1.1.1", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(hooks.HookError, match="not on the public internet") as refused:
        hooks.post(ADDRESS, {})
    assert refused.value.is_final


def test_a_slow_resolver_holds_no_post(monkeypatch) -> None:
    """Regression: the resolver has no limit of its own, and held a sender for as long as it liked."""
    is_over = threading.Event()
    monkeypatch.setattr(hooks, "RESOLVE_S", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: is_over.wait(20))
    began = time.monotonic()
    with pytest.raises(hooks.HookError, match="resolved too slowly") as refused:
        hooks.post(ADDRESS, {})
    assert time.monotonic() - began < 10
    assert not refused.value.is_final
    is_over.set()


def test_a_host_without_an_address_is_said(monkeypatch) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(hooks.HookError, match="has no address"):
        hooks.post(ADDRESS, {})


def test_localhost_is_refused_for_real() -> None:
    with pytest.raises(hooks.HookError, match="not on the public internet"):
        hooks.post("https://localhost/x", {})


def test_names_in_a_post_are_no_markup() -> None:
    body = hooks.payload(DISCORD, [("[x](https://evil.example) @everyone **b**", "https://here/1")])
    assert body["allowed_mentions"] == {"parse": []}
    assert "](https" not in body["content"]
    assert body["content"].endswith(" https://here/1")
    assert hooks.payload(SLACK, [("<!channel> & <https://evil.example|x>", "u")])["text"].startswith("&lt;!channel&gt;")


def test_a_post_of_many_lines_is_cut() -> None:
    lines = [("x" * 200, "https://here/1")] * 100
    assert len(hooks.payload(DISCORD, lines)["content"]) <= 2_000


@pytest.fixture
def server(monkeypatch):
    with HookServer() as running:
        monkeypatch.setattr(hooks, "PORT", running.port)
        monkeypatch.setattr(hooks, "is_public", lambda peer: peer == "127.0.0.1")
        monkeypatch.setattr(hooks, "context", lambda: ssl.create_default_context(cafile=running.certificate))
        yield running


def test_a_post_arrives_over_tls(server) -> None:
    hooks.post("https://localhost/services/T0?x=1", {"text": "hello"})
    assert server.path == "/services/T0?x=1"
    assert json.loads(server.body) == {"text": "hello"}


def test_headers_of_a_post_arrive(server) -> None:
    hooks.post("https://localhost/", {}, {"Photofinish-Event": "verdict"})
    assert "photofinish-event: verdict" in server.head.lower()


def test_a_redirect_is_a_failure(server) -> None:
    server.answer = b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(hooks.HookError, match="it answered 302"):
        hooks.post("https://localhost/", {})


def test_a_wrong_certificate_is_refused(server, monkeypatch) -> None:
    monkeypatch.setattr(hooks, "context", ssl.create_default_context)
    with pytest.raises(hooks.HookError, match="certificate"):
        hooks.post("https://localhost/", {})


def test_a_server_that_never_ends_its_answer_is_cut_off(server, monkeypatch) -> None:
    monkeypatch.setattr(hooks, "TOTAL_S", 0.3)
    server.drips = threading.Event()
    with pytest.raises(hooks.HookError, match="does not answer"):
        hooks.post("https://localhost/", {})
    server.drips.set()
