"""The client's types are generated: they agree with the OpenAPI schema."""

import io

from django.core.management import call_command

from leaderboard.client import shapes
from leaderboard.web.management.commands.client_shapes import annotation


def test_the_committed_types_of_the_client_are_up_to_date() -> None:
    made = io.StringIO()
    call_command("client_shapes", stdout=made)
    with open(shapes.__file__) as file:
        assert file.read() == made.getvalue(), "run `python -m leaderboard.manage client_shapes`"


def test_types_are_annotations() -> None:
    named = {"Entry": {"properties": {}}, "Mode": {"enum": ["test"], "type": "string"}}
    of = {"$ref": "#/components/schemas/Entry"}
    assert annotation({"type": "array", "items": of}, named) == "list[Entry]"
    assert annotation({"$ref": "#/components/schemas/Mode"}, named) == "str"
    assert annotation({"type": "number", "format": "double", "nullable": True}, named) == "float | None"
    assert annotation({"oneOf": [of, {"enum": [None]}]}, named) == "Entry | None"
    assert annotation({"type": "object", "additionalProperties": {"type": "integer"}}, named) == "dict[str, int]"
