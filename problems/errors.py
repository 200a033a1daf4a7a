"""Errors of this room.

ProblemError    a problem folder, set or bundle is not as it must be: its author's fault, shown to its author as text.
"""

from __future__ import annotations


class ProblemError(ValueError):
    """`field` says where, the message what was found there and what to write instead."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
