"""Pure: which passing ranked results can have a line at all, whatever a person thinks of them."""

from __future__ import annotations

from typing import Final

NO_TELEMETRY: Final = "no_telemetry"  # nobody watched clocks and temperatures, so nobody knows what was measured


def refusal(*, telemetry: str) -> str:
    """Why a result cannot rank; empty: it can. A runner that says nothing of its telemetry is one of before."""
    return NO_TELEMETRY if telemetry == "none" else ""
