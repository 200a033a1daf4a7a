"""Lists of the API as Parquet files."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers as drf
from rest_framework.renderers import BaseRenderer

from leaderboard.dataset.parquet import MEDIA_TYPE, REAL, TEXT, TIME, TRUTH, WHOLE, Writer


def kind_of(field: drf.Field[Any, Any, Any, Any]) -> str:
    kinds: dict[type, str] = {
        drf.BooleanField: TRUTH,
        drf.IntegerField: WHOLE,
        drf.FloatField: REAL,
        drf.DateTimeField: TIME,
    }
    return next((kind for shape, kind in kinds.items() if isinstance(field, shape)), TEXT)


class ParquetRenderer(BaseRenderer):
    """A list as Parquet, for `?format=parquet`. Lists and objects in a cell are JSON."""

    media_type = MEDIA_TYPE
    format = "parquet"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        fields = data.serializer.child.fields
        meanings = {name: str(field.help_text or "") for name, field in fields.items()}
        writer = Writer({name: kind_of(field) for name, field in fields.items()}, meanings)
        rows = [[row[name] for name in fields] for row in data]
        return (writer.group(rows) if rows else b"") + writer.end()
