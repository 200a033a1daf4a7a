"""Errors of this package.

ProblemError    a problem folder, set or bundle is faulty: its author's fault, shown to its author as text.
"""

from __future__ import annotations


class ProblemError(ValueError):
    """`field` is the place of the fault; the message gives the value found there and the remedy."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
