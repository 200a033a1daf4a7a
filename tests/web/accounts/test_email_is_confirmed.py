"""E-mail of an account: confirmation, change, forgotten password, and the mailbox of a site without a mail server."""

import re

import pytest
from django.core import mail

PASSWORD = "hurdle-Rail-99"
NEW = "steeple-Chase-77"


@pytest.fixture(autouse=True)
def _ada_has_a_password(stage) -> None:
    stage.ada.set_password(PASSWORD)
    stage.ada.save()


def confirmed(user, email: str) -> None:
    from allauth.account.models import EmailAddress

    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)


def link_in(message) -> str:
    return re.search(r"http://testserver(/\S+)", message.body)[1]


def signed_in(browser, name: str = "ada", password: str = PASSWORD):
    client = browser(None)
    assert client.post("/sign-in", {"username": name, "password": password}).status_code == 302
    return client


def addresses(user) -> list[tuple[str, bool]]:
    from allauth.account.models import EmailAddress

    return list(EmailAddress.objects.filter(user=user).order_by("email").values_list("email", "verified"))


def test_sign_up_with_an_address_sends_a_link_that_confirms_it(stage, browser) -> None:
    from leaderboard.accounts.models import User

    client = browser(None)
    sent = {"username": "finn", "email": "Finn@Example.org", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/sign-up", sent).status_code == 302
    finn = User.objects.get(username="finn")
    assert addresses(finn) == [("finn@example.org", False)]
    (message,) = mail.outbox
    assert (message.to, message.subject.startswith("Photofinish: ")) == (["finn@example.org"], True)
    page = client.get(link_in(message))
    assert b"finn@example.org" in page.content
    assert addresses(finn) == [("finn@example.org", False)], "a scanner that opens the link confirms nothing"
    assert client.post(link_in(message)).headers["Location"] == "/account"
    assert addresses(finn) == [("finn@example.org", True)]
    assert b"confirmed</span>" in client.get("/account").content


def test_sign_up_does_not_say_whether_an_address_has_an_account(stage, browser) -> None:
    confirmed(stage.ada, "ada@example.org")
    sent = {"username": "finn", "email": "ada@example.org", "password1": PASSWORD, "password2": PASSWORD}
    client = browser(None)
    assert client.post("/sign-up", sent).status_code == 302
    assert b"already confirmed by a different account" in client.get(link_in(mail.outbox[0])).content


def test_a_new_address_counts_once_it_is_confirmed(stage, browser) -> None:
    confirmed(stage.ada, "old@example.org")
    client = signed_in(browser)
    client.post("/account/email", {"action_add": "", "email": "new@example.org"})
    assert addresses(stage.ada) == [("new@example.org", False), ("old@example.org", True)]
    client.post(link_in(mail.outbox[-1]))
    assert addresses(stage.ada) == [("new@example.org", True)]
    assert mail.outbox[-1].to == ["old@example.org"], "the old address gets a notice"


def test_an_address_asks_for_the_password_again(stage, browser) -> None:
    client = browser(stage.ada)
    answer = client.post("/account/email", {"action_add": "", "email": "new@example.org"})
    assert answer.headers["Location"] == "/account/confirm?next=%2Faccount%2Femail"
    assert client.post(answer.headers["Location"], {"password": "wrong"}).status_code == 200
    assert not addresses(stage.ada)
    client.post(answer.headers["Location"], {"password": PASSWORD})
    assert addresses(stage.ada) == [("new@example.org", False)], "what was sent before goes on"


def test_a_forgotten_password_is_set_anew_by_mail(stage, browser) -> None:
    confirmed(stage.ada, "ada@example.org")
    elsewhere, client = signed_in(browser), browser(None)
    assert b"Forgot your password?" in client.get("/sign-in").content
    assert client.post("/account/password/reset", {"email": "ada@example.org"}).status_code == 302
    opened = client.get(link_in(mail.outbox[0]), follow=True)
    (form, _) = opened.redirect_chain[-1]
    assert "set-password" in form, "the key does not stay in the address"
    assert client.post(form, {"password1": NEW, "password2": NEW}).headers["Location"] == "/account/password/reset/done"
    assert elsewhere.get("/account").status_code == 302, "other sessions end"
    signed_in(browser, password=NEW)
    assert b"Invalid link" in browser(None).get(link_in(mail.outbox[0]), follow=True).content, "a link works once"
    assert mail.outbox[-1].to == ["ada@example.org"]
    assert "not you" in mail.outbox[-1].body


def test_a_forgotten_password_of_an_unknown_address_gets_the_same_page(stage, browser) -> None:
    pages = [
        browser(None).post("/account/password/reset", {"email": email}, follow=True).content
        for email in ("ada@example.org", "nobody@example.org")
    ]
    assert pages[0] == pages[1]


def test_mails_to_an_address_are_limited(stage, browser) -> None:
    confirmed(stage.ada, "ada@example.org")
    for number in range(8):
        sent = {"email": "ada@example.org"}
        assert browser(None).post("/account/password/reset", sent, REMOTE_ADDR=f"192.0.2.{number}").status_code == 302
    assert len(mail.outbox) == 5
    assert browser(None).get(link_in(mail.outbox[0])).status_code == 302, "the links that were sent work"


def test_a_site_without_mail_asks_for_no_address(stage, browser, settings) -> None:
    settings.MAIL_URL = ""
    client = browser(stage.ada)
    assert b"Forgot" not in browser(None).get("/sign-in").content
    assert b"id_email" not in browser(None).get("/sign-up").content
    assert b"/account/email" not in client.get("/account").content
    assert [client.get(path).status_code for path in ("/account/email", "/account/password/reset")] == [404, 404]


def test_the_mailbox_shows_staff_each_mail_of_the_folder(stage, browser, settings, tmp_path) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.MAIL_URL, settings.EMAIL_FILE_PATH = tmp_path.as_uri(), str(tmp_path)
    for name in ("finn", "gus"):
        sent = {"username": name, "email": f"{name}@example.org", "password1": PASSWORD, "password2": PASSWORD}
        browser(None).post("/sign-up", sent)
    page = browser(stage.olga).get("/mailbox").content.decode()
    assert page.index("gus@example.org") < page.index("finn@example.org")
    assert 'href="http://testserver/account/email/' in page
    settings.MAIL_URL = "smtp://mail.example"
    assert browser(stage.olga).get("/mailbox").status_code == 404


def test_a_linked_login_brings_its_address_along(stage, browser) -> None:
    stage.ben.set_password(NEW)
    stage.ben.save()
    confirmed(stage.ben, "ben@example.org")
    sent = {"username": "ben", "password": NEW, "own_password": PASSWORD}
    assert signed_in(browser).post("/account/link", sent).status_code == 302
    assert addresses(stage.ada) == [("ben@example.org", True)]
    assert mail.outbox[-1].subject == "Photofinish: Login linked"
