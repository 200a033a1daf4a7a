"""Pages of a list, cut by `limit` and `offset`. X-Total-Count gives the length of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.web.api.serializers import Paging

PAGING: Final = [
    OpenApiParameter("limit", OpenApiTypes.INT, description="At most 200."),
    OpenApiParameter("offset", OpenApiTypes.INT),
]


def paged(request: Request, found: QuerySet[Any] | Sequence[Any], shape: type[serializers.Serializer[Any]]) -> Response:
    query = Paging(data=request.query_params)
    query.is_valid(raise_exception=True)
    start = query.validated_data["offset"]
    total = found.count() if isinstance(found, QuerySet) else len(found)
    items = found[start : start + query.validated_data["limit"]]
    return Response(shape(items, many=True).data, headers={"X-Total-Count": str(total)})
