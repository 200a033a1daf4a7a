"""Password guesses lock out no other person; addresses count as networks; a password can be changed."""

import time
from collections.abc import Iterator

import pytest
import time_machine

PASSWORD = "hurdle-Rail-99"
NEW = "steeple-Chase-77"
ATTACKER, OWNER, OTHER = "198.51.100.1", "192.0.2.9", "192.0.2.10"


@pytest.fixture(autouse=True)
def _early_in_an_hour() -> Iterator[None]:
    """Limits count in windows of an hour: none ends during a test."""
    with time_machine.travel((time.time() // 3600 + 1) * 3600 + 60):
        yield


@pytest.fixture(autouse=True)
def _ada_has_a_password(stage) -> None:
    stage.ada.set_password(PASSWORD)
    stage.ada.save()


def sign_in(client, password: str = PASSWORD, address: str = ATTACKER, name: str = "ada") -> int:
    return client.post("/sign-in", {"username": name, "password": password}, REMOTE_ADDR=address).status_code


def besiege(browser, name: str = "ada") -> None:
    """Use up the name's own limit, as guesses from many addresses do."""
    from leaderboard.web import limits

    for _ in range(limits.SIGN_IN_NAME.most):
        limits.take(limits.SIGN_IN_NAME, name)


def test_sign_in_of_the_owner_works_after_200_wrong_passwords_from_one_address(browser) -> None:
    stranger = browser(None)
    statuses = [sign_in(stranger, "wrong") for _ in range(201)]
    assert statuses.count(200) == 10, "ten are looked at, the rest refused"
    assert sign_in(browser(None), address=OWNER) == 302


def test_sign_in_of_other_names_is_not_counted_where_the_first_limit_refused(browser) -> None:
    stranger = browser(None)
    for _ in range(150):
        sign_in(stranger, "wrong")
    assert sign_in(stranger, "wrong", name="ben") == 200, "the address has tries left"


def test_sign_in_from_a_new_device_works_while_many_addresses_guess(browser) -> None:
    besiege(browser)
    assert sign_in(browser(None), address=OWNER) == 302
    guesser = browser(None)
    assert [sign_in(guesser, "wrong", OTHER) for _ in range(5)] == [200, 200, 200, 429, 429]


def test_sign_in_from_a_known_device_has_a_count_of_its_own(browser) -> None:
    device = browser(None)
    assert sign_in(device, address=OWNER) == 302
    device.post("/sign-out")
    besiege(browser)
    stranger = browser(None)
    for _ in range(120):
        sign_in(stranger, "wrong", OWNER)
        sign_in(stranger, "wrong", OWNER, name="ben")
    assert sign_in(stranger, address=OWNER) == 429
    assert sign_in(device, address=OWNER) == 302, "also behind the attacker's own address"
    device.post("/sign-out")
    assert [sign_in(device, "wrong", OWNER) for _ in range(11)] == [200] * 10 + [429]


def test_sign_in_with_a_forged_or_foreign_device_is_as_from_any_other(browser, stage) -> None:
    stage.cleo.set_password(PASSWORD)
    stage.cleo.save()
    device = browser(None)
    assert sign_in(device, name="cleo") == 302
    device.post("/sign-out")
    assert [sign_in(device, "wrong", OTHER) for _ in range(11)][-1] == 429, "known for cleo, not for ada"
    device.cookies["known_device"] = "forged:value:here"
    assert sign_in(device, "wrong", OTHER) == 429


def test_sign_in_that_succeeds_uses_nothing_up(browser) -> None:
    for _ in range(120):
        assert sign_in(browser(None), address=OWNER) == 302, "a whole lecture hall behind one address"


def test_sign_in_counts_names_that_are_read_alike_as_one(browser) -> None:
    guesser = browser(None)
    names = ("ada", "ａｄａ", " ada ", "ADA")
    assert [sign_in(guesser, "wrong", OTHER, name=names[number % 4]) for number in range(12)][10:] == [429, 429]


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", ("192.0.2.1",)),
        ("::ffff:192.0.2.1", ("192.0.2.1",)),
        ("2001:db8:1:2:3::4", ("2001:db8:1:2::/64", "2001:db8:1::/48")),
        ("2001:db8:1:2:ffff::", ("2001:db8:1:2::/64", "2001:db8:1::/48")),
        ("fe80::1%eth0", ("fe80::/64", "fe80::/48")),
        ("", ("unknown",)),
        ("testclient", ("testclient",)),
    ],
)
def test_networks_of_an_address(address: str, counted: tuple[str, ...]) -> None:
    from leaderboard.web.limits import networks

    assert networks(address) == counted


def test_sign_up_counts_ipv6_by_its_64_and_slower_by_its_48(browser) -> None:
    from leaderboard.web import limits

    def sign_up(address: str) -> int:
        return browser(None).post("/sign-up", {}, REMOTE_ADDR=address).status_code

    most = limits.SIGN_UP_IP.most
    assert {sign_up(f"2001:db8:1:2::{n:x}") for n in range(1, most + 1)} == {200}
    assert sign_up("2001:db8:1:2:ffff::1") == 429, "another address of the same /64"
    assert {sign_up(f"2001:db8:1:{n:x}::1") for n in range(3, 3 + 3 * most)} == {200}
    assert sign_up("2001:db8:1:ffff::1") == 429, "another /64 of the same /48"
    assert sign_up("2001:db8:2::1") == 200


def test_invite_codes_of_one_user_leave_the_address_open(stage, browser) -> None:
    from django.test import RequestFactory

    from leaderboard.errors import RateLimited
    from leaderboard.web import limits

    request = RequestFactory().post("/", REMOTE_ADDR=OWNER)
    for number in range(limits.INVITE_IP.most + 1):
        if number < limits.INVITE_USER.most:
            limits.check_code_tries(stage.ada.pk, request)
        else:
            with pytest.raises(RateLimited):
                limits.check_code_tries(stage.ada.pk, request)
    limits.check_code_tries(stage.ben.pk, request)


def test_link_of_a_login_stops_at_the_first_limit_too(stage, browser) -> None:
    thief = browser(stage.cleo)
    sent = {"username": "ada", "password": "wrong", "own_password": "x", "keep": ""}
    statuses = [thief.post("/account/link", sent, REMOTE_ADDR=OTHER).status_code for _ in range(120)]
    assert statuses.count(429) == 110
    assert sign_in(browser(None), "wrong", OTHER, name="ben") == 200
    assert sign_in(browser(None), address=OWNER) == 302


def test_password_change_ends_other_sessions_and_known_devices(stage, browser) -> None:
    from leaderboard.audit.models import Row

    here, elsewhere = browser(None), browser(None)
    assert (sign_in(here), sign_in(elsewhere, address=OWNER)) == (302, 302)
    sent = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert here.post("/account/password", sent).headers["Location"] == "/account"
    assert b"signed out everywhere else" in here.get("/account").content
    assert elsewhere.get("/account").status_code == 302, "signed out"
    assert (sign_in(browser(None), PASSWORD, OTHER), sign_in(browser(None), NEW, OTHER)) == (200, 302)
    assert Row.objects.filter(act="change_password", object_id=str(stage.ada.pk), actor_id=stage.ada.pk).count() == 1
    besiege(browser)
    assert [sign_in(elsewhere, "wrong", OTHER) for _ in range(4)][-1] == 429, "known by the old password only"


def test_password_change_wants_the_old_one_and_a_good_new_one(stage, browser) -> None:
    client = browser(stage.ada)

    def change(old: str, new: str, again: str) -> str:
        sent = {"oldpassword": old, "password1": new, "password2": again}
        answer = client.post("/account/password", sent)
        assert answer.status_code == 400
        return answer.content.decode()

    assert "This is not your present password" in change("wrong", NEW, NEW)
    assert "too common" in change(PASSWORD, "password", "password")
    assert "same password" in change(PASSWORD, NEW, NEW + "x")
    stage.ada.refresh_from_db()
    assert stage.ada.check_password(PASSWORD)
    statuses = [client.post("/account/password", {"oldpassword": "wrong"}).status_code for _ in range(10)]
    assert statuses[-1] == 429
    assert browser(None).get("/account/password").headers["Location"].startswith("/sign-in")


def test_password_change_of_a_linked_login_ends_the_accounts_sessions(stage, browser) -> None:
    stage.ben.linked_to = stage.ada
    stage.ben.set_password(PASSWORD)
    stage.ben.save()
    here, elsewhere = browser(stage.ada), browser(stage.ada)
    assert b"<option" in here.get("/account/password").content
    sent = {"login": "ben", "oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert here.post("/account/password", sent).status_code == 302
    assert (here.get("/account").status_code, elsewhere.get("/account").status_code) == (200, 302)
    assert (sign_in(browser(None), NEW, name="ben"), sign_in(browser(None), PASSWORD)) == (302, 302)
    foreign = {"login": "cleo", "oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    here.post("/account/password", foreign)
    stage.cleo.refresh_from_db()
    assert not stage.cleo.check_password(NEW), "a name of somebody else is read as one's own"
