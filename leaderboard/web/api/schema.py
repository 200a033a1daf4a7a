"""Hooks of drf-spectacular that complete the OpenAPI schema: areas, summaries, examples, errors and rate headers."""

from collections.abc import Mapping
from typing import Any, Final

from leaderboard.errors import CODES
from runner.evidence.feedback import Feedback

Node = dict[str, Any]  # of the schema

LATER: Final = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
RATE: Final = {
    "RateLimit-Limit": "Calls in a window.",
    "RateLimit-Remaining": "Calls left in this window.",
    "RateLimit-Reset": "Seconds until the next window.",
}
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
MAY_HIDE: Final = tuple(
    f"/api/v1/{part}"
    for part in ("admission", "compare", "datasets", "epochs", "quota", "rejudge", "review", "rewards", "shares")
)
SHAPES: Final = {
    "Error": {
        "type": "object",
        "properties": {
            "detail": {"type": "string", "description": "Sentence with field, problem and solution."},
            "code": {"type": "string", "enum": list(CODES), "description": "Stable name of the cause."},
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/WrongField"}},
        },
        "required": ["detail", "code", "errors"],
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
FEEDBACK: Final[Node] = {"$ref": "#/components/schemas/Feedback"}
AREAS: Final = {  # tag → meaning
    "Account": "The caller, and signing in from a command line.",
    "Boards": "Boards, rankings, published entries, and problems.",
    "Competitions": "Competitions, their standings, awards and news.",
    "Teams": "The caller's entries, teams and invites.",
    "Submissions": "Sending kernels, their verdicts and quotas.",
    "Batches": "Many candidates under one budget, for programs, with feedback on each.",
    "Matches": "A person against a model on a board, and the worklog.",
    "Classes": "Rosters, assignments, the grid and the start-up check of a class.",
    "People": "Profiles, comparison of entries, and search.",
    "Notifications": "The caller's messages, their channels, and a webhook.",
    "Discussion": "Write-ups and comments of a board.",
    "Review": "Held results: the reviewers' queue and the owner's side.",
    "Organising": "Competitions for their organisers: settings, boards, people, news, rules, figures, exports.",
    "Awards": "The standing as a whole, tracks with prizes, awards and confirmations, for organisers.",
    "Problems": "Drafts of problems, problem sets and admission tests, for organisers.",
    "Rejudging": "Sets of submissions that are judged again, for organisers.",
    "Operating": "Intake, runners, timing epochs, incidents, people and bans, for administrators.",
    "Site": "Machines, queues and incidents; data sets.",
}
_AREA_OF: Final = (  # beginning of a path below /api/v1 → tag; the first that fits
    ("/submissions/{id}/review", "Review"),
    ("/submissions/{id}/answer", "Review"),
    ("/submissions/{id}/appeal", "Review"),
    ("/competitions/{slug}/team", "Teams"),
    ("/competitions/{slug}/entrants", "People"),
    ("/competitions", "Competitions"),
    ("/entrants", "Teams"),
    ("/invites", "Teams"),
    ("/boards/{slug}/{hardware}/posts", "Discussion"),
    ("/boards/{slug}/{hardware}/matches", "Matches"),
    ("/boards", "Boards"),
    ("/entries", "Boards"),
    ("/problems", "Boards"),
    ("/people", "People"),
    ("/compare", "People"),
    ("/search", "People"),
    ("/notifications", "Notifications"),
    ("/keys", "Boards"),
    ("/submissions", "Submissions"),
    ("/batches", "Batches"),
    ("/matches", "Matches"),
    ("/classes", "Classes"),
    ("/quota", "Submissions"),
    ("/rewards", "Submissions"),
    ("/review", "Review"),
    ("/admission", "Problems"),
    ("/sets", "Problems"),
    *((f"/organise/{{slug}}/{part}", "Problems") for part in ("drafts", "problems")),
    *((f"/organise/{{slug}}/{part}", "Awards") for part in ("standing", "tracks", "awards", "confirmations")),
    ("/organise", "Organising"),
    ("/rejudge", "Rejudging"),
    *(
        (f"/{part}", "Operating")
        for part in ("admin", "epochs", "runners", "enrolments", "shares", "incidents", "desk")
    ),
    ("/status", "Site"),
    ("/datasets", "Site"),
    ("/", "Account"),
)
EXAMPLES: Final[dict[str, Any]] = {  # field → value
    "affiliation": "Example University",
    "board": "softmax",
    "code": "def custom_kernel(data):\n    return data.softmax(dim=-1)\n",
    "competition": "kernels-101",
    "cost_usd": "12.50",
    "cursor": "",
    "division": "human",
    "entrant": "grace",
    "epoch": "sha256:48267b9e88719dfb",
    "events": "/api/v1/submissions/26/events",
    "filename": "kernel.py",
    "forgeable": 0.01,
    "formula": "reward/1",
    "half_width": 0.004,
    "hardware": "cpu",
    "id": 26,
    "idea": "keep each row in registers",
    "jws": "eyJhbGciOiJFZERTQSJ9.eyJyYW5rIjoxfQ.c2lnbmF0dXJl",  # pragma: allowlist secret
    "licence": "MIT",
    "mode": "ranked",
    "model": "qwen3-coder",
    "model_name": "",
    "name": "Kernels 101",
    "outcome": "passed",
    "place": 1,
    "problem": "softmax",
    "prompt_sha256": f"{26:064x}",
    "rank": 1,
    "ratio": 0.5,
    "run": "nov-26",
    "score_us": 1234.5,
    "slug": "softmax",
    "status": "done",
    "strategy": "beam",
    "submission": 26,
    "team": "the fast team",
    "title": "Row softmax",
    "url": "/submissions/26",
    "user": "grace",
    "username": "grace",
}
_PLAIN: Final[dict[str, Any]] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}
_FORMATS: Final = {"date-time": "2026-11-24T12:00:00Z", "date": "2026-11-24", "decimal": "100.00", "binary": "…"}
MAX_DEPTH: Final = 6


def describe_areas(result: Node, **_: Any) -> Node:
    """Give each call the tag of its area, a summary and an example of its body and of its answer."""
    shapes = result["components"]["schemas"]
    shapes.update(feedback_shapes())
    for path, methods in result["paths"].items():
        for call in methods.values():
            call["tags"] = [area_of(path.removeprefix("/api/v1"))]
            call["summary"] = call["description"].partition(". ")[0].rstrip(".")
            contents = [answer.get("content", {}) for answer in call["responses"].values()]
            for content in (call.get("requestBody", {}).get("content", {}), *contents):
                for kind in content.keys() & {"application/json", "multipart/form-data"}:
                    content[kind]["example"] = example(content[kind]["schema"], shapes)
            for status, answer in call["responses"].items():
                if status < "300":
                    answer["headers"] = answer.get("headers", {}) | rate_headers()
    result["tags"] = [{"name": name, "description": meaning} for name, meaning in AREAS.items()]
    return result


def feedback_shapes() -> Node:
    """Return the model of `feedback/1` and its parts as OpenAPI 3.0 writes them."""
    whole = Feedback.model_json_schema(mode="serialization")
    parts = whole.pop("$defs")
    return {"Feedback": _as_openapi(whole), **{f"Feedback{name}": _as_openapi(part) for name, part in parts.items()}}


def _as_openapi(node: Any) -> Any:
    if isinstance(node, list):
        return [_as_openapi(one) for one in node]
    if not isinstance(node, dict):
        return node
    if isinstance(given := node.get("properties"), dict):
        parts = {name: _as_openapi(part) for name, part in given.items()}
        return {"type": "object", "properties": parts, "required": list(node["required"])}
    if reference := node.get("$ref"):
        return {"$ref": f"#/components/schemas/Feedback{reference.rpartition('/')[2]}"}
    if choices := node.get("anyOf"):
        (kept,) = (_as_openapi(one) for one in choices if one != {"type": "null"})
        about = {"description": node["description"]} if "description" in node else {}
        return {"allOf": [kept], "nullable": True} | about if "$ref" in kept else kept | about | {"nullable": True}
    plain = {name: _as_openapi(value) for name, value in node.items() if name not in ("title", "default")}
    if plain.get("additionalProperties") is True:
        plain["additionalProperties"] = {}
    return {"enum": [plain.pop("const")]} | plain if "const" in plain else plain


def area_of(path: str) -> str:
    return next(tag for start, tag in _AREA_OF if path.startswith(start))


def rate_headers() -> Node:
    return {name: {"schema": {"type": "integer"}, "description": meaning} for name, meaning in RATE.items()}


def example(node: Node, shapes: Node, name: str = "", depth: int = 0) -> Any:
    """Return a value that fits a part of the schema."""
    if reference := node.get("$ref"):
        node = shapes[reference.rpartition("/")[2]]
    if parts := node.get("allOf") or node.get("oneOf"):
        return example(parts[0], shapes, name, depth)
    if values := node.get("enum"):
        known = EXAMPLES.get(name)
        return known if known in values else values[0]
    match node.get("type"):
        case "object" if "properties" in node:
            if depth > MAX_DEPTH:
                return {}
            return {field: example(part, shapes, field, depth + 1) for field, part in node["properties"].items()}
        case "object":
            inner = node.get("additionalProperties")
            return {"cpu": example(inner, shapes, name, depth + 1)} if isinstance(inner, dict) and inner else {}
        case "array":
            return [example(node["items"], shapes, name, depth + 1)]
        case "string" if node.get("format") in _FORMATS:
            return _FORMATS[node["format"]]
        case str(kind):
            value = EXAMPLES.get(name, node.get("default", _PLAIN.get(kind)))
            fits = {"string": str, "integer": int, "number": int | float, "boolean": bool}[kind]
            return value if isinstance(value, fits) else _PLAIN[kind]
    return None


def add_errors(result: Node, **_: Any) -> Node:
    """Add the shape of an error and each call's possible statuses to the schema."""
    for path, methods in result["paths"].items():
        named = OF_A_NAME if "{" in path or path.startswith(MAY_HIDE) else {}
        for method, call in methods.items():
            acts = OF_AN_ACT if method == "post" else {}
            call["responses"].update(_answers(OF_ANY_CALL | named | acts))
    shapes = result["components"]["schemas"]
    result["components"]["schemas"] = dict(sorted((shapes | SHAPES).items()))
    return result


def _answers(causes: Mapping[str, str]) -> Node:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        status: {"description": cause, "content": content} | ({"headers": LATER} if status in ("429", "503") else {})
        for status, cause in sorted(causes.items())
    }
