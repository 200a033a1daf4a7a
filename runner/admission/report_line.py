"""Line of the table that `runner verify` prints and an organiser's page shows: for a sample, or for the admission."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Line:
    """Line of the table. `good` None: it does not apply to this problem. Not `judged`: this machine failed."""

    name: str
    expected: str
    got: str
    good: bool | None
    explained: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    judged: bool = True

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
