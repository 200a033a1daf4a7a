"""The newest data set for everybody: its page, its description over /api/v1, and its files."""

from collections.abc import AsyncIterator
from io import FileIO
from pathlib import Path
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.dataset.likeness import SPLITS
from leaderboard.web.api.base import FirstAlways, Octets, Public
from leaderboard.web.dataset.releases import Release, newest

PIECE_BYTES: Final = 1 << 18


class DataSetFile(drf.Serializer[Any]):
    path = drf.CharField(help_text="Below the data set's folder.")
    bytes = drf.IntegerField()
    sha256 = drf.CharField()


class DataSet(drf.Serializer[Any]):
    name = drf.CharField(help_text="The day of the export.")
    made_at = drf.DateTimeField()
    bytes = drf.IntegerField(help_text="Of all files.")
    rows = drf.DictField(child=drf.DictField(child=drf.IntegerField()), help_text="By table and split.")
    left_out = drf.DictField(child=drf.DictField(child=drf.IntegerField()), help_text="By table and reason.")
    card = drf.CharField(help_text="YAML, then Markdown.")
    files = DataSetFile(many=True)


class NewestDataSet(Public):
    @extend_schema(operation_id="newest_data_set", responses=DataSet)
    def get(self, request: Request) -> Response:
        """Return the newest data set with its files. 404 if this site publishes none."""
        return Response(DataSet(_found()).data)


class FileOfDataSet(Public):
    renderer_classes = [Octets]
    content_negotiation_class = FirstAlways

    @extend_schema(
        operation_id="data_set_file",
        parameters=[OpenApiParameter("format", exclude=True)],
        responses={(200, Octets.media_type): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, name: str, file: str) -> HttpResponseBase:
        """Return a file of the newest data set. Its ETag is its SHA-256."""
        release = _found()
        found = release.place_of(file) if release.name == name else None
        if found is None:
            raise Http404
        place, known = found
        headers = {
            "ETag": f'"{known.sha256}"',
            "Content-Length": str(known.bytes),
            "Content-Disposition": f'attachment; filename="{place.name}"',
        }
        current = get_conditional_response(request._request, etag=headers["ETag"])
        return current or StreamingHttpResponse(_pieces(place), content_type=Octets.media_type, headers=headers)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    release = newest()
    shown: dict[str, Any] = {"release": release, "splits": SPLITS}
    if release is not None:
        text = release.card.split("---\n", 2)[-1]  # without the head, which is for the hub
        shown["card"] = text.partition("\n# ")[2].partition("\n")[2].partition("\n## ")[0].strip()
        shown["tables"] = [
            (table, [(split, rows.get(split, 0)) for split in SPLITS]) for table, rows in release.rows.items()
        ]
    return render(request, "web/data_sets.html", shown)


def _found() -> Release:
    release = newest()
    if release is None:
        raise Http404
    return release


async def _pieces(place: Path) -> AsyncIterator[bytes]:
    with await sync_to_async(FileIO)(place) as file:
        while piece := await sync_to_async(file.read)(PIECE_BYTES):
            yield piece


URLS: Final[list[URLPattern]] = [
    path("datasets", NewestDataSet.as_view()),
    path("datasets/<str:name>/<path:file>", FileOfDataSet.as_view()),
]
