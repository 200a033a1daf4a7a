"""The OpenAPI schema, and the page /api/docs: a reference of /api/v1 drawn from it. Both are made once per process."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.errors import CODES
from leaderboard.web.limits import ApiThrottle
from runner.evidence.feedback import schema_text

Node = dict[str, Any]  # of the schema

PREFIX: Final = "/api/v1"
ERROR: Final = "Error"


@dataclass(frozen=True)
class Kind:
    """The type of a value in words; `shape` names the table that describes its object, or is empty."""

    words: str
    shape: str = ""


@dataclass(frozen=True)
class Field:
    name: str
    kind: Kind
    meaning: str
    note: str = ""  # "optional", or the place of a parameter


@dataclass(frozen=True)
class CallView:
    anchor: str
    method: str
    path: str
    summary: str
    meaning: str  # what the summary leaves out
    parameters: list[Field]
    body: Kind | None
    body_example: str
    answers: list[tuple[str, str]]
    answer: Kind | None
    answer_example: str


@dataclass(frozen=True)
class Area:
    name: str
    anchor: str
    meaning: str
    calls: list[CallView] = field(default_factory=list)


class Schema(SpectacularJSONAPIView):
    permission_classes, authentication_classes, throttle_classes = [], [], [ApiThrottle]

    def _get_schema_response(self, request: Request) -> Response:
        """Answer without the library's name of a file, into which a caller can write."""
        return Response(_schema())


@cache
def _schema() -> Node:
    schema: Node = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return schema


@require_safe
def feedback_schema(request: HttpRequest) -> HttpResponse:
    """GET /api/feedback.schema.json: the JSON schema of `feedback/1`."""
    return HttpResponse(schema_text(), content_type="application/schema+json")


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    areas, shapes = _content()
    return render(request, "web/api_docs.html", {"areas": areas, "shapes": shapes, "codes": CODES})


@cache
def _content() -> tuple[list[Area], list[tuple[str, list[Field]]]]:
    return list(_areas(_schema())), list(_shapes(_schema()["components"]["schemas"]))


def _areas(schema: Node) -> Iterator[Area]:
    shapes: Node = schema["components"]["schemas"]
    areas = {
        tag["name"]: Area(tag["name"], f"area-{tag['name'].lower()}", tag["description"]) for tag in schema["tags"]
    }
    for path, methods in sorted(schema["paths"].items()):
        for method, call in methods.items():
            areas[call["tags"][0]].calls.append(_call(path, method, call, shapes))
    yield from (area for area in areas.values() if area.calls)


def _call(path: str, method: str, call: Node, shapes: Node) -> CallView:
    sent: Node = next(iter(call.get("requestBody", {}).get("content", {}).values()), {})
    good = next(answer for status, answer in call["responses"].items() if status < "300")
    answer = good.get("content", {}).get("application/json", {})
    parameters = [
        Field(one["name"], kind(one["schema"], shapes), one.get("description", ""), one["in"])
        for one in call.get("parameters", ())
    ]
    return CallView(
        anchor=call["operationId"],
        method=method.upper(),
        path=path.removeprefix(PREFIX),
        summary=call["summary"],
        meaning=call["description"].partition(". ")[2],
        parameters=parameters,
        body=kind(sent["schema"], shapes) if sent else None,
        body_example=_pretty(sent),
        answers=[(status, one.get("description", "")) for status, one in sorted(call["responses"].items())],
        answer=kind(answer["schema"], shapes) if answer else None,
        answer_example=_pretty(answer),
    )


def _shapes(shapes: Node) -> Iterator[tuple[str, list[Field]]]:
    for name, shape in shapes.items():
        if "properties" in shape:
            required = shape.get("required", ())
            yield (
                name,
                [
                    Field(one, kind(node, shapes), node.get("description", ""), "" if one in required else "optional")
                    for one, node in shape["properties"].items()
                ],
            )


def _pretty(media: Node) -> str:
    return json.dumps(media["example"], indent=2, ensure_ascii=False) if "example" in media else ""


def kind(node: Node, shapes: Node) -> Kind:
    if node.get("enum") == list(CODES):
        return Kind("one of the codes above")
    if reference := node.get("$ref"):
        name = reference.rpartition("/")[2]
        return Kind(name, name) if "properties" in shapes[name] else kind(shapes[name], shapes)
    if parts := node.get("allOf") or node.get("oneOf"):
        found = [one for one in (kind(part, shapes) for part in parts) if one.words]
        return _or_null(Kind(" or ".join(one.words for one in found), found[0].shape if found else ""), node)
    if values := node.get("enum"):
        words = ("null" if value is None else f"“{value}”" if value else "empty" for value in values)
        return _or_null(Kind(", ".join(words)), node)
    if node.get("type") == "array":
        inner = kind(node["items"], shapes)
        return _or_null(Kind(f"list of {inner.words}", inner.shape), node)
    if isinstance(inside := node.get("additionalProperties"), dict) and inside:
        inner = kind(inside, shapes)
        return _or_null(Kind(f"object of {inner.words}", inner.shape), node)
    plain = str(node.get("type", "any value"))
    return _or_null(Kind({"date-time": "time", "double": "number"}.get(node.get("format", ""), plain)), node)


def _or_null(found: Kind, node: Node) -> Kind:
    return Kind(f"{found.words} or null", found.shape) if node.get("nullable") else found
