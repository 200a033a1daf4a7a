"""JSON bodies within a size limit. DRF's own parser reads bodies of any size and dies of deep nesting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any, Final, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from leaderboard.errors import UserError

LIMIT_BYTES: Final = 3_000_000  # 1 MB of source, with every quote and newline escaped, and some air


class BoundedJSON(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = stream.read(LIMIT_BYTES + 1)
        if len(raw) > LIMIT_BYTES:
            raise UserError("body", None, "too large; a source file may have 1,000,000 bytes", status=413)
        try:
            return json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"not JSON: {str(error)[:200]}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
