"""How a submission's progress and cases are drawn: stations of the lane, rows of the table of cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.judging.models import AttemptEvent
from leaderboard.web.shape import Shown

STATIONS: Final = ("queued", "claimed", "building", "checking", "timing", "done")


def stations(item: Shown, events: Sequence[AttemptEvent]) -> list[dict[str, str]]:
    """The lane: which stations are behind, where it is now, and when it passed each."""
    began: dict[str, datetime] = {}
    for event in events:
        began.setdefault(event.state, event.created_at)
    wanted = [name for name in STATIONS if name != "timing" or item.mode != "test"]
    end = "done" if item.is_finished else item.status
    reached = wanted.index(end) if end in wanted else 0
    return [_one(item, name, index - reached, began) for index, name in enumerate(wanted)]


def _one(item: Shown, name: str, distance: int, began: dict[str, datetime]) -> dict[str, str]:
    at = began.get(item.status if name == "done" and item.is_finished else name)
    behind = "past" if at or not item.is_finished else "skipped"  # it ended before it came there
    css = behind if distance < 0 else "" if distance > 0 else "end" if item.is_finished else "now"
    since = f"+{(at - item.created_at).total_seconds():.1f} s" if at else ""
    title = "Verdict" if name == "done" else name.capitalize()
    return {"state": name, "title": title, "css": css, "at": since if distance <= 0 else ""}


@dataclass(frozen=True)
class Cases:
    """What deserves a row (failed ones first, then timed ones), and the rest, which only agreed."""

    rows: list[dict[str, Any]]
    quiet: list[dict[str, Any]]

    @property
    def quiet_secret(self) -> int:
        return sum(row["kind"] == "secret" for row in self.quiet)

    @property
    def is_timed(self) -> bool:
        return any(row["measured_us"] for row in self.rows)


def cases_shown(item: Shown) -> Cases:
    rows = sorted((_case(case, item) for case in item.cases), key=lambda row: not row["failed"])
    loud = [row for row in rows if row["failed"] or row["measured_us"]]
    return Cases(loud, [row for row in rows if row not in loud])


def _case(case: dict[str, Any], item: Shown) -> dict[str, Any]:
    """A case of a report; what the verdict says already is not said again."""
    outcome = "passed" if case.get("good", True) else str(case.get("outcome") or item.outcome)
    message = str(case.get("message") or "")
    times = {name: _positive(case.get(name)) for name in ("measured_us", "baseline_us", "ratio", "half_width")}
    if times["ratio"] is None and times["measured_us"] and times["baseline_us"]:
        times["ratio"] = times["measured_us"] / times["baseline_us"]
    return {
        "name": str(case.get("name", "")),
        "kind": "public" if case.get("public", True) else "secret",
        "outcome": outcome.replace("_", " "),
        "tone": "good" if outcome == "passed" else "bad",
        "failed": outcome != "passed",
        "reason": str(case.get("reason") or ""),
        "message": "" if message in item.message else message,
        **times,
    }


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None
