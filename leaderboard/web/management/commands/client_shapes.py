"""`client_shapes`: print leaderboard/client/shapes.py, the types of the client's answers, from the OpenAPI schema."""

from collections.abc import Iterator
from typing import Any, Final

from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator

Node = dict[str, Any]  # of the schema

HEAD: Final = '''"""The shapes of /api/v1 as types. Made by `python -m leaderboard.manage client_shapes`; do not edit.

Choices are plain text here, because a newer site may have more of them.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict
'''
PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


class Command(BaseCommand):
    help = "Print leaderboard/client/shapes.py from the OpenAPI schema."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(module(), ending="")


def module() -> str:
    schema: Node = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return HEAD + "".join(types(schema["components"]["schemas"]))


def types(shapes: Node) -> Iterator[str]:
    for name, shape in shapes.items():
        if "properties" in shape:
            required = shape.get("required", ())
            yield f"\n\nclass {name}(TypedDict):\n"
            for field, node in shape["properties"].items():
                kind = annotation(node, shapes)
                optional = field not in required and not node.get("readOnly")
                yield f"    {field}: {f'NotRequired[{kind}]' if optional else kind}\n"


def annotation(node: Node, shapes: Node) -> str:
    if reference := node.get("$ref"):
        name = reference.rpartition("/")[2]
        return name if "properties" in shapes[name] else annotation(shapes[name], shapes)
    if parts := node.get("allOf") or node.get("oneOf"):
        found = annotation(parts[0], shapes)
    elif node.get("type") == "array":
        found = f"list[{annotation(node['items'], shapes)}]"
    elif node.get("type") == "object":
        inner = node.get("additionalProperties")
        found = f"dict[str, {annotation(inner, shapes)}]" if isinstance(inner, dict) and inner else "dict[str, Any]"
    else:
        found = PLAIN.get(str(node.get("type")), "Any")
    is_nullable = node.get("nullable") or any(part.get("enum") == [None] for part in node.get("oneOf", ()))
    return f"{found} | None" if is_nullable and found != "Any" else found
