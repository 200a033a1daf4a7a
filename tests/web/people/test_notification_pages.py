"""The bell, the messages, the choice of channels, a webhook whose address stays secret, and the link in mails."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.inbox import deliver, hooks, tell
from leaderboard.inbox.models import CHANNELS, KINDS, Message, Preference
from tests.leaderboard.stage import NOON
from tests.web.test_pages_are_strict import check

ADDRESS = "https://hooks.example/services/T0/secret-part"
SECRET = re.compile(r"pfw_[\w-]{43}")


def event(user, *, subject: str = "board:1", url: str = "/submissions/1", title: str = "Passed: Row softmax") -> None:
    tell.tell([user.pk], "verdict", subject=subject, title=title, text="Fast.", url=url, now=NOON)


def text_after(client, act: str) -> str:
    """Press a button, and return the page that follows."""
    assert client.post(act).status_code == 302
    return text(client, "/notifications/settings")


def text(client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    check(answer)
    return answer.content.decode()


def test_the_bell_counts_unread_messages(stage, browser) -> None:
    client = browser(stage.ada)
    assert 'aria-label="Notifications"' in text(client, "/boards")
    for number in range(3):
        event(stage.ada, subject=f"board:{number}")
    event(stage.ben)
    assert 'aria-label="Notifications, 3 unread"' in text(client, "/boards")
    assert "Notifications" not in text(browser(None), "/boards")
    client.post("/notifications/read")
    assert 'aria-label="Notifications"' in text(client, "/boards")


def test_a_message_is_read_once_its_page_was_opened(stage, browser) -> None:
    event(stage.ada, url="/boards/softmax/cpu")
    client = browser(stage.ada)
    text(client, "/boards/softmax/cpu")
    assert 'aria-label="Notifications"' in text(client, "/boards")


def test_the_list_shows_ones_own_messages_as_text(stage, browser) -> None:
    event(stage.ada, title="<b>Passed</b>")
    event(stage.ada, title="<b>Passed</b>")
    event(stage.ben, title="of ben")
    page = text(browser(stage.ada), "/notifications")
    assert "&lt;b&gt;Passed" in page
    assert "2 times" in page
    assert "of ben" not in page
    assert "Nothing yet" in text(browser(stage.cleo), "/notifications")


def test_long_lists_have_pages(stage, browser) -> None:
    for number in range(35):
        event(stage.ada, subject=f"board:{number}")
    page = text(browser(stage.ada), "/notifications")
    assert page.count("Passed: Row softmax") == 30
    assert "Older" in page


def test_the_bell_is_one_query(stage, browser) -> None:
    event(stage.ada)
    client = browser(stage.ada)
    text(client, "/competitions")
    with CaptureQueriesContext(connection) as queries:
        text(client, "/competitions")
    assert sum("inbox_message" in query["sql"] for query in queries) == 1


def test_channels_are_chosen_by_kind(stage, browser) -> None:
    client = browser(stage.ada)
    assert text(client, "/notifications/settings").count(" checked>") == len(KINDS) + 1
    answer = client.post("/notifications/settings", {"page": ["review"], "mail": ["verdict", "phase"]})
    assert answer.status_code == 302
    chosen = Preference.objects.get(user=stage.ada)
    assert [getattr(chosen, channel) for channel in CHANNELS] == [["review"], ["verdict", "phase"], []]
    refused = client.post("/notifications/settings", {"page": ["gossip"]})
    assert refused.status_code == 400
    assert "there is verdict, overtaken" in refused.content.decode()


def test_a_webhook_address_is_never_shown_again(stage, browser) -> None:
    client = browser(stage.ada)
    client.post("/notifications/webhook", {"address": ADDRESS, "format": "slack"})
    page = text(client, "/notifications/settings")
    assert "hooks.example" in page
    assert "secret-part" not in page
    refused = client.post("/notifications/webhook", {"address": "http://hooks.example/other-secret"})
    assert refused.status_code == 400
    assert "Must begin with https://" in refused.content.decode()
    assert "other-secret" not in refused.content.decode()
    client.post("/notifications/webhook/remove")
    assert "hooks.example" not in text(client, "/notifications/settings")


def test_the_secret_of_a_webhook_is_shown_once_and_replaced(stage, browser) -> None:
    client = browser(stage.ada)
    assert "Only a webhook of the format json" in text_after(client, "/notifications/webhook/rotate")
    client.post("/notifications/webhook", {"address": ADDRESS, "format": "json"})
    [first] = SECRET.findall(text(client, "/notifications/settings"))
    assert not SECRET.findall(text(client, "/notifications/settings"))
    [second] = SECRET.findall(text_after(client, "/notifications/webhook/rotate"))
    assert second != first
    client.post("/notifications/webhook", {"address": ADDRESS, "format": "slack"})
    assert "New secret" not in text(client, "/notifications/settings")


def test_a_test_message_says_what_went_wrong_and_is_limited(stage, browser, monkeypatch) -> None:
    client, found = browser(stage.ada), []

    def post(address, body, headers=None):
        found.append(address)
        if len(found) == 1:
            raise hooks.HookError("it answered 500")

    monkeypatch.setattr(hooks, "post", post)
    client.post("/notifications/webhook/test")
    assert "There is no webhook" in text(client, "/notifications/settings")
    client.post("/notifications/webhook", {"address": ADDRESS, "format": "slack"})
    for said in ("The test message was not sent: it answered 500.", "A test message was sent to hooks.example."):
        client.post("/notifications/webhook/test")
        assert said in text(client, "/notifications/settings")
    for _ in range(12):
        client.post("/notifications/webhook/test")
    assert len(found) == 10
    assert "tried too often" in text(client, "/notifications/settings")


def test_one_webhook_is_tested_at_a_time(stage, browser, monkeypatch) -> None:
    """Slow servers of strangers must not hold every place of the pages."""
    ada, ben, found = browser(stage.ada), browser(stage.ben), []
    for client in (ada, ben):
        client.post("/notifications/webhook", {"address": ADDRESS, "format": "slack"})

    def post(address, body):
        found.append(address)
        if len(found) == 1:
            ben.post("/notifications/webhook/test")

    monkeypatch.setattr(hooks, "post", post)
    ada.post("/notifications/webhook/test")
    assert len(found) == 1
    assert "Another webhook is being tested" in text(ben, "/notifications/settings")
    ben.post("/notifications/webhook/test")
    assert len(found) == 2


@pytest.mark.parametrize("kind", ["verdict", ""])
def test_a_link_in_a_mail_turns_it_off_without_a_sign_in(stage, browser, settings, kind) -> None:
    tell.choose(user=stage.ada, page=KINDS, mail=KINDS, webhook=())
    address = deliver.off_address(stage.ada.pk, kind).removeprefix(settings.SITE_URL)
    text(browser(None), address)
    assert Preference.objects.get(user=stage.ada).mail == [*KINDS]  # a program that follows links changes nothing
    from django.test import Client

    answer = Client(enforce_csrf_checks=True).post(address, {"List-Unsubscribe": "One-Click"})
    assert "Turned off" in answer.content.decode()
    assert Preference.objects.get(user=stage.ada).mail == ([*KINDS[1:]] if kind else [])


def test_a_forged_link_is_absent(stage, browser) -> None:
    address = deliver.off_address(stage.ada.pk, "verdict").rpartition("/")[2]
    text(browser(None), f"/notifications/off/{address[:-2]}xx", 404)


def test_unread_stays_for_others(stage, browser) -> None:
    event(stage.ada, url="/competitions")
    event(stage.ben, url="/competitions")
    text(browser(stage.ada), "/competitions")
    assert Message.objects.get(user=stage.ben).read_at is None
