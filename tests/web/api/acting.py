"""Calls of organisers in tests of /api/v1, and the field that a refusal names."""

from __future__ import annotations

from typing import Any


def send(client: Any, path: str, **sent: Any) -> Any:
    return client.post(f"/api/v1/{path}", sent, content_type="application/json")


def field_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["field"]
