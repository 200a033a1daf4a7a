"""Pages that allauth serves have the site's words and structure: each has a template of ours."""

from pathlib import Path

import allauth
import pytest
from django.template.loader import get_template
from django.urls import URLPattern

from leaderboard.web.accounts.urls import pages_of_accounts
from tests.web.accounts.test_second_factors import FACTORS, SIGN_IN, ada, with_app  # noqa: F401
from tests.web.test_pages_are_strict import check

THEIRS = Path(allauth.__file__).parent
NOT_SEEN = {"account/logout.html", "mfa/recovery_codes/download.txt"}  # a form's target, a file of codes alone
HEADINGS = {
    "/account/password/reset": "Forgotten password",
    "/account/password/reset/sent": "Look at your mail",
    "/account/password/reset/done": "Your password is set",
    "/account/password/reset/1-x": "Invalid link",
    "/account/email/sent": "Look at your mail",
    "/account/email/x": "Invalid link",
    "/account/confirm": "Confirm that it is you",
    "/account/confirm/code": "Confirm that it is you",
    "/sign-in/closed": "This account is closed",
    "/sign-in/cancelled": "Not signed in",
    "/sign-in/failed": "Not signed in",
    FACTORS: "Second factor",
    f"{FACTORS}/app/remove": "Remove the authenticator app",
    f"{FACTORS}/codes": "Recovery codes",
    f"{FACTORS}/codes/new": "New recovery codes",
    f"{FACTORS}/keys": "Passkeys and security keys",
    f"{FACTORS}/keys/add": "Add a passkey or security key",
}


@pytest.mark.parametrize("path", HEADINGS)
def test_a_page_of_an_account_has_a_heading_of_ours(ada, browser, path: str) -> None:  # noqa: F811
    client = browser(None)
    if path.startswith((FACTORS, "/account/confirm")):
        client.post("/sign-in", SIGN_IN)
    with_app(browser)
    answer = client.get(path)
    assert answer.status_code == (401 if path == "/sign-in/failed" else 200)
    check(answer)
    assert f"<h1>{HEADINGS[path]}</h1>" in answer.content.decode()


def test_the_second_step_of_a_sign_in_names_its_ways(ada, browser) -> None:  # noqa: F811
    with_app(browser)
    client = browser(None)
    client.post("/sign-in", SIGN_IN)
    page = client.get("/sign-in/code")
    check(page)
    assert "<h1>Second step</h1>" in page.content.decode()


def test_every_template_of_a_served_page_is_ours() -> None:
    wanted = set()
    for pattern in pages_of_accounts:
        assert isinstance(pattern, URLPattern)
        view = pattern.callback
        while view is not None and not hasattr(view, "view_class"):
            view = getattr(view, "__wrapped__", None)
        if view is not None and (name := getattr(view.view_class, "template_name", None)):
            wanted.add(name)
    assert len(wanted) > 10
    theirs = [name for name in wanted if Path(get_template(name).template.origin.name).is_relative_to(THEIRS)]
    assert set(theirs) == NOT_SEEN
