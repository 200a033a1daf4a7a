"""Pure: which passing ranked results can have a line, before any review."""

from __future__ import annotations

from typing import Final

NO_TELEMETRY: Final = "no_telemetry"  # clocks and temperatures were not watched, so the measurement is unreliable


def refusal(*, telemetry: str) -> str:
    """Return why a result cannot rank; "": it can. Older runners do not report telemetry at all, and can rank."""
    return NO_TELEMETRY if telemetry == "none" else ""
