"""The errors in the OpenAPI schema: a hook of drf-spectacular adds them to every call."""

from collections.abc import Mapping
from typing import Any, Final

LATER: Final = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
# Status -> cause, as the table in docs/http.in.md.
OF_ANY_CALL: Final = {
    "400": "A wrong field.",
    "401": "No sign-in, or a token that is unknown or revoked.",
    "403": "A missing permission or scope.",
    "429": "Too many requests.",
    "503": "Busy, or maintenance.",
}
OF_A_NAME: Final = {"404": "Not found, or not visible to the caller."}
OF_AN_ACT: Final = {
    "409": "Not possible in the present state.",
    "413": "Too large.",
    "415": "A body of a type that the call does not read.",
}
# Calls without a name in their address that answer 404: to callers without a role, or for an unknown board.
MAY_HIDE: Final = ("/api/v1/admission", "/api/v1/quota", "/api/v1/review")
SHAPES: Final = {
    "Error": {
        "type": "object",
        "properties": {
            "detail": {"type": "string", "description": "Sentence with field, problem and solution."},
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/WrongField"}},
        },
        "required": ["detail", "errors"],
    },
    "WrongField": {
        "type": "object",
        "properties": {
            "field": {"type": "string"},
            "value": {"nullable": True, "description": "The value as sent, cut to a readable length."},
            "message": {"type": "string"},
        },
        "required": ["field", "value", "message"],
    },
}


def add_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the shape of an error and each call's possible statuses to the schema."""
    for path, methods in result["paths"].items():
        named = OF_A_NAME if "{" in path or path.startswith(MAY_HIDE) else {}
        for method, call in methods.items():
            acts = OF_AN_ACT if method == "post" else {}
            call["responses"].update(_answers(OF_ANY_CALL | named | acts))
    shapes = result["components"]["schemas"]
    result["components"]["schemas"] = dict(sorted((shapes | SHAPES).items()))
    return result


def _answers(causes: Mapping[str, str]) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        status: {"description": cause, "content": content} | ({"headers": LATER} if status in ("429", "503") else {})
        for status, cause in sorted(causes.items())
    }
