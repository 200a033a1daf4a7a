"""Errors of the site, by the party at fault.

SiteError
├── UserError        the sender can fix it: names field, value, problem and way out
│   ├── RateLimited  the sender can retry, after a number of seconds that it names
│   └── StoreAway    the store of reports does not answer; the sender can retry
├── StaleLease       a runner reports on an attempt that it no longer holds: it must stop working on it
└── IllegalMove      a state change that the table in judging/models.py does not contain: a bug, never shown

Only UserError's text reaches a person.
"""

import math
from typing import Any, Final

# code of an error answer → cause. A code never changes its meaning; docs/http.md and the schema list all of them.
BY_STATUS: Final = {
    400: "invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}
CODES: Final = {
    "invalid": "A wrong field or body; `errors` names it.",
    "unauthenticated": "No sign-in.",
    "token_invalid": "A token that is unknown, expired or revoked.",
    "forbidden": "A missing permission.",
    "agents_not_admitted": "The competition is without the division agent.",
    "scope_missing": "The token lacks the scope of the call.",
    "second_factor_missing": "An administrator without a second factor.",
    "network_banned": "The caller's network is banned for a while.",
    "not_found": "Not found, or not visible to the caller.",
    "unknown_call": "No call has this address.",
    "method_not_allowed": "The address has no such method.",
    "not_acceptable": "An `Accept` that the call does not serve.",
    "conflict": "Not possible in the present state.",
    "already_finished": "The submission is finished already.",
    "board_closed": "The board's deadline has passed.",
    "board_not_open": "The board is not open yet.",
    "board_unsupported": "This site cannot judge the problem.",
    "not_admitted": "The problem has not passed its admission test.",
    "rules_not_accepted": "The competition's current rules are not accepted yet.",
    "discussion_closed": "The board takes no posts now.",
    "already_reported": "The caller reported the post before.",
    "no_webhook": "The caller has no webhook, or none with a secret.",
    "webhook_failed": "The webhook's server did not take the test message.",
    "key_reused": "The `Idempotency-Key` belongs to another submission.",
    "stale": "A runner's lease is lost.",
    "too_large": "A body or file over its limit.",
    "unsupported_media_type": "A body of a type that the call does not read.",
    "rate_limited": "Too many requests.",
    "quota_used_up": "No submission of this mode is left for now.",
    "too_many_unfinished": "Too many submissions of the caller wait or run.",
    "authorization_pending": "The sign-in by code waits for its person.",
    "slow_down": "The sign-in by code is asked for too often.",
    "access_denied": "The person refused the sign-in by code.",
    "expired_code": "The code of a sign-in is unknown, used or too old.",
    "internal": "An error of the site, which its log has.",
    "unavailable": "The site is busy.",
    "maintenance": "Maintenance; `detail` gives its end.",
}

_SHOWN_CHARS: Final = 200  # of a wrong value, in an answer


class SiteError(Exception):
    """Root of everything that the site raises on purpose."""


class UserError(SiteError):
    def __init__(self, field: str, value: object, message: str, status: int = 400, code: str = "") -> None:
        super().__init__(f"{field}: {message}")
        self.code = code or BY_STATUS.get(status, BY_STATUS[400])
        self.field = field
        self.value = shown(value)
        self.message = message
        self.status = status

    def as_json(self) -> dict[str, Any]:
        """Return the body that docs/http.md defines for every error."""
        return {
            "detail": f"{self.field}: {self.message}",
            "code": self.code,
            "errors": [{"field": self.field, "value": self.value, "message": self.message}],
        }


class RateLimited(UserError):
    def __init__(self, field: str, value: object, message: str, *, retry_after_s: int, code: str = "") -> None:
        super().__init__(field, value, message, status=429, code=code)
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


def error_body(status: int, detail: str, code: str = "") -> dict[str, Any]:
    """Return the body of an error without wrong fields, for answers outside of DRF.

    It stands here, because asgi.py needs it before the settings are read.
    """
    return {"detail": detail, "code": code or BY_STATUS.get(status, BY_STATUS[400]), "errors": []}


def shown(value: object) -> str | int | float | bool | None:
    """Return a wrong value for an answer: a long text is cut."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = str(value).encode("utf-8", "replace").decode()  # half a surrogate pair cannot be sent back
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
