"""Clients of the popcorn contract: with a token as `X-Popcorn-Cli-Id`, and with a Bearer token of administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client

    from leaderboard.accounts.models import User


def token_of(user: User, *scopes: str) -> str:
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token

    return issue_token(owner=user, name="popcorn", scopes=scopes or ("read", "submit"), now=timezone.now())[1]


@pytest.fixture
def cli() -> Callable[..., Client]:
    """Return a factory of clients with a person's token as their cli_id."""
    from django.test import Client

    return lambda user, *scopes: Client(headers={"X-Popcorn-Cli-Id": token_of(user, *scopes)})


@pytest.fixture
def admin() -> Callable[..., Client]:
    """Return a factory of clients with a Bearer token that has the scope `review`."""
    from django.test import Client

    return lambda user, *scopes: Client(headers={"Authorization": f"Bearer {token_of(user, *scopes or ('review',))}"})
