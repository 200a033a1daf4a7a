"""Authentication backend: the signed-in user is always an account, never a linked login."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from leaderboard.accounts.models import User


class AccountBackend(ModelBackend):
    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Return the account for the name and password of any of its logins."""
        login = super().authenticate(request, username=username, password=password, **kwargs)
        if not isinstance(login, User):
            return None
        return login.account if login.account.is_active else None

    async def aauthenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        return await sync_to_async(self.authenticate)(request, username=username, password=password, **kwargs)

    def get_user(self, user_id: int) -> User | None:
        """Return the account of a session, or None if its login has been linked since.

        The person then signs in again as the account.
        """
        user = super().get_user(user_id)
        return user if isinstance(user, User) and user.linked_to_id is None else None

    async def aget_user(self, user_id: int) -> User | None:
        return await sync_to_async(self.get_user)(user_id)
