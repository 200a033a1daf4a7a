"""`http_document`: print docs/http.md, which is docs/http.in.md with the reference of /api/v1 from the schema."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator

from leaderboard.errors import CODES

DOCS: Final = Path(__file__).resolve().parents[4] / "docs"
PREFIX: Final = "/api/v1"
PLACE: Final = "<!-- reference -->\n"
CODES_PLACE: Final = "<!-- codes -->\n"
NOTICE: Final = (
    "<!-- Made by `python -m leaderboard.manage http_document` from http.in.md and the schema. Do not edit. -->\n\n"
)

Node = dict[str, Any]  # of the schema


class Command(BaseCommand):
    help = "Print docs/http.md, with the reference of /api/v1 from its OpenAPI schema."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(document(), ending="")


def document() -> str:
    written = (DOCS / "http.in.md").read_text()
    schema: Node = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    known = [f"| `{code}` | {cause} |" for code, cause in CODES.items()]
    written = written.replace(CODES_PLACE, "\n".join(["| code | cause |", "| --- | --- |", *known]) + "\n")
    return NOTICE + written.replace(PLACE, "\n".join(reference(schema)) + "\n")


def reference(schema: Node) -> Iterator[str]:
    """Yield the lines of the reference: a table of calls for each resource, then a table of fields for each shape."""
    shapes: Node = schema["components"]["schemas"]
    calls = [
        (path.removeprefix(PREFIX), method.upper(), call)
        for path, methods in schema["paths"].items()
        for method, call in methods.items()
    ]
    for resource, same in groupby(sorted(calls, key=lambda call: call[:2]), key=lambda call: call[0].split("/")[1]):
        yield f"\n### Calls below /{resource}\n\n| call | takes | answers |\n| --- | --- | --- |"
        for path, method, call in same:
            takes = [
                f"`{one['name']}`: {kind(one['schema'], shapes)}. {one.get('description', '')}".rstrip()
                for one in call.get("parameters", ())
                if one["in"] != "path"
            ]
            if body := call.get("requestBody"):
                takes.insert(0, kind(next(iter(body["content"].values()))["schema"], shapes))
            ((status, answer),) = ((status, one) for status, one in call["responses"].items() if status < "300")
            content = answer.get("content", {}).get("application/json")
            answers = f"{status} {kind(content['schema'], shapes) if content else ''}".strip()
            yield f"| `{method} {path}`<br>{call['description']} | {'<br>'.join(takes)} | {answers} |"
    yield "\n## Shapes"
    for name, shape in shapes.items():
        if "properties" in shape:
            required = shape.get("required", ())
            yield f"\n### {name}\n\n| field | type | meaning |\n| --- | --- | --- |"
            for field, node in shape["properties"].items():
                optional = "" if field in required or node.get("readOnly") else ", optional"
                yield f"| `{field}` | {kind(node, shapes)}{optional} | {node.get('description', '')} |"


def kind(node: Node, shapes: Node) -> str:
    """Return the type of a value in words, with a link to the table of a shape."""
    if node.get("enum") == list(CODES):  # listed once, at the top
        return "[code](#http-interface)"
    if reference := node.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if "properties" in shapes[name] else kind(shapes[name], shapes)
    if parts := node.get("allOf") or node.get("oneOf"):
        found = " or ".join(filter(None, dict.fromkeys(kind(part, shapes) for part in parts)))
    elif values := node.get("enum"):
        found = ", ".join("null" if value is None else f"`{value}`" if value else "empty" for value in values)
    elif node.get("type") == "array":
        found = f"list of {kind(node['items'], shapes)}"
    elif node.get("additionalProperties"):
        found = f"object of {kind(node['additionalProperties'], shapes)}"
    else:
        plain = str(node.get("type", "any value"))
        found = {"date-time": "time", "double": "number"}.get(node.get("format", ""), plain)
    return f"{found} or null" if node.get("nullable") else found
