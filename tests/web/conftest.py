"""The stage of tests/leaderboard, and HTTP clients for its cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client

    from leaderboard.accounts.models import User
    from tests.leaderboard.stage import Stage


@pytest.fixture
def stage(db: None) -> Stage:
    from tests.leaderboard.stage import make_stage

    return make_stage()


@pytest.fixture
def browser() -> Callable[[User | None], Client]:
    """Return a factory of browsers signed in as a given person, or anonymous for None."""
    from django.test import Client

    def signed_in(user: User | None = None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    return signed_in


@pytest.fixture
def tool() -> Callable[..., Client]:
    """Return a factory of command-line clients with a token of a given person."""
    from django.test import Client
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token

    def with_token(user: User, *scopes: str) -> Client:
        _, text = issue_token(owner=user, name="test", scopes=scopes or ("read", "submit"), now=timezone.now())
        return Client(headers={"Authorization": f"Bearer {text}"})

    return with_token
