"""docs/http.md is generated: its reference agrees with the OpenAPI schema."""

import io

from django.core.management import call_command

from leaderboard.web.management.commands.http_document import DOCS, kind


def test_the_committed_http_document_is_up_to_date() -> None:
    made = io.StringIO()
    call_command("http_document", stdout=made)
    committed = (DOCS / "http.md").read_text()
    assert committed == made.getvalue(), "run `python -m leaderboard.manage http_document > docs/http.md`"


def test_every_call_of_the_http_document_is_described() -> None:
    committed = (DOCS / "http.md").read_text()
    assert committed.count("| `GET /") + committed.count("| `POST /") >= 58 + 7, "calls of people and of runners"
    assert "<br> |" not in committed


def test_types_are_words() -> None:
    shapes = {"Entry": {"properties": {}}, "Mode": {"enum": ["test", "ranked"]}}
    of = {"$ref": "#/components/schemas/Entry"}
    assert kind({"type": "array", "items": of}, shapes) == "list of [Entry](#entry)"
    assert (
        kind({"oneOf": [{"$ref": "#/components/schemas/Mode"}, {"enum": [None]}]}, shapes) == "`test`, `ranked` or null"
    )
    assert kind({"type": "string", "format": "date-time", "nullable": True}, shapes) == "time or null"
    assert kind({"type": "object", "additionalProperties": {"type": "integer"}}, shapes) == "object of integer"
