"""Messages to entrants: to confirmed addresses of present members alone, through the outbox, bounded, on record."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress

from leaderboard.accounts.logins import link
from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Role
from leaderboard.entrants import messages
from leaderboard.errors import UserError


@pytest.fixture
def sender(stage, settings):
    settings.MAIL_URL = "smtp://mail.example"
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.OWNER)
    stage.submit(stage.ada)
    stage.submit(stage.ben)
    for user, verified in ((stage.ada, True), (stage.ben, False), (stage.cleo, True)):
        address = f"{user.username}@example.org"
        EmailAddress.objects.create(user=user, email=address, verified=verified, primary=True)
    return stage


def send(stage, actor=None, **changes: str) -> int:
    told = {"group": messages.ALL, "subject": "Rooms", "text": "See you at nine."} | changes
    competition = stage.board.competition
    return messages.message_entrants(competition=competition, actor=actor or stage.cleo, now=stage.later(1), **told)


def test_entrants_with_a_confirmed_address_get_a_mail_each(sender, mailoutbox) -> None:
    assert send(sender) == 1
    [mail] = mailoutbox
    assert (mail.to, mail.subject) == (["ada@example.org"], "Kernels 101: Rooms")
    assert mail.body.startswith("See you at nine.\n")
    assert "/competitions/kernels-101" in mail.body


def test_a_linked_login_gets_the_mail_of_its_account(sender, mailoutbox) -> None:
    dan = User.objects.create_user("dan")
    link(one=User.objects.get(pk=sender.ada.pk), other=dan, keep="dan", now=sender.later(1))
    assert send(sender) == 1
    assert mailoutbox[0].to == ["ada@example.org"]


def test_a_message_is_on_record_without_addresses_and_text(sender, mailoutbox) -> None:
    send(sender)
    row = Row.objects.get(act=messages.ACT)
    assert row.after == {"group": "all", "subject": "Rooms", "recipients": 1}


def test_mails_wait_in_the_outbox_and_leave_it_with_the_transaction(sender, settings) -> None:
    from leaderboard.operations.models import Mail

    settings.EMAIL_BACKEND = "leaderboard.operations.outbox.EmailBackend"
    send(sender)
    assert Mail.objects.count() == 1


def test_silent_entrants_are_those_without_a_submission(sender, mailoutbox) -> None:
    with pytest.raises(UserError, match="nobody of them"):
        send(sender, group=messages.SILENT)


def test_messages_are_bounded_by_day_and_by_recipients(sender, mailoutbox, monkeypatch) -> None:
    for _ in range(messages.MOST_MESSAGES):
        send(sender)
    with pytest.raises(UserError, match="within a day") as refused:
        send(sender)
    assert refused.value.status == 429
    sender.later(messages.PER.total_seconds())
    monkeypatch.setattr(messages, "MOST_RECIPIENTS", 0)
    with pytest.raises(UserError, match="more than 0 people"):
        send(sender)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"group": "everybody"}, "group"),
        ({"subject": ""}, "subject"),
        ({"subject": "a\nBcc: x@example.org"}, "subject"),
        ({"subject": "x" * 121}, "subject"),
        ({"text": " "}, "text"),
        ({"text": "x" * 10_001}, "text"),
    ],
)
def test_a_faulty_message_is_refused(sender, mailoutbox, changes, field: str) -> None:
    with pytest.raises(UserError) as refused:
        send(sender, **changes)
    assert refused.value.field == field
    assert mailoutbox == []


def test_only_owners_write_to_entrants(sender, mailoutbox) -> None:
    with pytest.raises(UserError) as refused:
        send(sender, actor=sender.ada)
    assert refused.value.status == 403


def test_a_site_without_mail_says_so(sender, settings, mailoutbox) -> None:
    settings.MAIL_URL = ""
    with pytest.raises(UserError, match="sends no mail"):
        send(sender)
