"""A submission's progress and cases as drawn: stations of the lane, rows of the table of cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.judging.models import Attempt, AttemptEvent, Result
from leaderboard.web.submissions.view import Shown

NOT_RANKED: Final = "not ranked"  # of a case that was timed while the machine was too disturbed

STATIONS: Final = ("queued", "claimed", "building", "checking", "timing", "done")


def stations(item: Shown, events: Sequence[AttemptEvent]) -> list[dict[str, str]]:
    """Return the lane's stations: passed, skipped, current or coming, with the time of reaching each."""
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
    """Cases with a row of their own (failed cases first, then timed cases), and the rest, which only passed."""

    rows: list[dict[str, Any]]
    quiet: list[dict[str, Any]]

    @property
    def quiet_secret(self) -> int:
        return sum(row["kind"] == "secret" for row in self.quiet)

    @property
    def is_timed(self) -> bool:
        return any(row["measured_us"] for row in self.rows)

    @property
    def is_unranked(self) -> bool:
        return any(row["outcome"] == NOT_RANKED for row in self.rows)


def cases_shown(item: Shown) -> Cases:
    rows = sorted((_case(case, item.outcome, item.message) for case in item.cases), key=lambda row: not row["failed"])
    loud = [row for row in rows if row["failed"] or row["measured_us"]]
    return Cases(loud, [row for row in rows if row not in loud])


def measured_so_far(tried: Sequence[Attempt]) -> Cases:
    """Return the timed cases of the newest of these attempts with any: the figures of a disturbed machine."""
    for result in Result.objects.filter(attempt__in=tried).order_by("-attempt__number"):
        rows = [_case(case, result.outcome, "") for case in result.report.get("cases", [])]
        if timed := [row for row in rows if row["measured_us"]]:
            return Cases(timed, [])
    return Cases([], [])


def _case(case: dict[str, Any], verdict: str, said: str) -> dict[str, Any]:
    """Return the row of one case of a report with this verdict; a sentence of the verdict itself is not repeated."""
    outcome = "passed" if case.get("good", True) else str(case.get("outcome") or verdict)
    message = str(case.get("message") or "")
    times = {name: _positive(case.get(name)) for name in ("measured_us", "baseline_us", "ratio", "half_width")}
    if times["ratio"] is None and times["measured_us"] and times["baseline_us"]:
        times["ratio"] = times["measured_us"] / times["baseline_us"]
    if verdict == "unmeasurable" and times["measured_us"]:
        outcome = NOT_RANKED
    return {
        "name": str(case.get("name", "")),
        "kind": "public" if case.get("public", True) else "secret",
        "outcome": outcome.replace("_", " "),
        "tone": {"passed": "good", NOT_RANKED: "warn"}.get(outcome, "bad"),
        "failed": outcome not in ("passed", NOT_RANKED),
        "reason": str(case.get("reason") or ""),
        "message": "" if message in said else message,
        **times,
    }


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None
