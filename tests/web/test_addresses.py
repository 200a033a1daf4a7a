"""Addresses with a slash at their end."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/docs/", "/status/", "/docs/agents//"])
def test_a_page_asked_for_with_a_slash_is_a_redirect(client: Client, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Location"]) == (301, address.rstrip("/"))


@pytest.mark.parametrize("address", ["/nothing-here/", "/docs/nothing/here/", "/a/" + "b/" * 1000])
def test_an_unknown_address_with_a_slash_is_not_found(client: Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_no_form_is_sent_on_by_a_slash(client: Client) -> None:
    assert client.post("/docs/").status_code == 405
