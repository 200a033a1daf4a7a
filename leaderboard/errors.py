"""Errors of the site, by the party at fault.

SiteError
├── UserError        the sender can fix it: names field, value, problem and way out
│   ├── RateLimited  the sender can retry, after a number of seconds that it names
│   └── StoreAway    the store of reports does not answer; the sender can retry
├── StaleLease       a runner reports on an attempt that it no longer holds: it must stop working on it
└── IllegalMove      a state change that the table in judging/models.py does not contain: a bug, never shown

Only UserError's text reaches a person.
"""

from typing import Any, Final

_SHOWN_CHARS: Final = 200  # of a wrong value, in an answer


class SiteError(Exception):
    """Root of everything that the site raises on purpose."""


class UserError(SiteError):
    def __init__(self, field: str, value: object, message: str, status: int = 400) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.value = shown(value)
        self.message = message
        self.status = status

    def as_json(self) -> dict[str, Any]:
        """Return the body that docs/http.md defines for every error."""
        return {
            "detail": f"{self.field}: {self.message}",
            "errors": [{"field": self.field, "value": self.value, "message": self.message}],
        }


class RateLimited(UserError):
    def __init__(self, field: str, value: object, message: str, *, retry_after_s: int) -> None:
        super().__init__(field, value, message, status=429)
        self.retry_after_s = retry_after_s


class StoreAway(UserError):
    """The store of reports does not answer or is full. `why` is for operators."""

    retry_after_s = 5

    def __init__(self, why: str) -> None:
        super().__init__("reports", None, "their store does not answer; try again in a moment", status=503)
        self.why = why


class StaleLease(SiteError):
    """The lease on this attempt expired, was given to another runner, or the attempt is finished."""


class IllegalMove(SiteError):
    """A state change that is not in the table."""


def shown(value: object) -> str | int | float | bool | None:
    """Return a wrong value for an answer: a long text is cut."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value).encode("utf-8", "replace").decode()  # half a surrogate pair cannot be sent back
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
