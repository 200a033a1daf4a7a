"""Errors of the client. Each is a single sentence for a person.

ClientError
├── Misuse       wrong input, found before a request was sent
├── Refused      the site refuses: permission, input, quota or rate; `code` and `status` name the cause for programs
└── SiteProblem  no answer, or an answer without meaning
"""

from typing import Any


class ClientError(Exception):
    """Root of the client's errors."""


class Misuse(ClientError):
    """Wrong flag, file or setting, found before sending."""


class Refused(ClientError):
    """The site refuses. docs/http.md lists the codes; `errors` names each wrong field."""

    def __init__(
        self,
        message: str,
        status: int,
        code: str = "",
        errors: list[dict[str, Any]] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.errors = errors or []
        self.retry_after_s = retry_after_s


class SiteProblem(ClientError):
    """No answer, or an answer without meaning."""
