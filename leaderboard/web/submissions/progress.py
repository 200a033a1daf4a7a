"""A submission's progress as drawn: stations of the lane, cases, retries after a disturbed machine, earlier results."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.competitions.calendar import is_over_at, over_at
from leaderboard.judging.archive import look
from leaderboard.judging.models import QUEUED, REMEASURE, UNFINISHED, Attempt, AttemptEvent, Result
from leaderboard.judging.verdicts import IS_SPOILED, next_try, spoiled_tries
from leaderboard.standings.read.status import without_text
from leaderboard.submissions.models import Submission
from leaderboard.web.review.evidence import SeedRow, seed_rows
from leaderboard.web.submissions.view import Opened, Shown
from leaderboard.wording.figures import caution, times_alone
from runner.evidence.schema import Evidence
from runner.wire import TIMED_MODES

NOT_RANKED: Final = "not ranked"  # of a case that was timed while the machine was too disturbed
TONES: Final = {"passed": "good", NOT_RANKED: "warn"}
STATIONS: Final = ("queued", "claimed", "building", "checking", "timing", "done")


def stations(item: Shown, events: Sequence[AttemptEvent]) -> list[dict[str, str]]:
    """Return the lane's stations: passed, skipped, current or coming, with the time of reaching each."""
    began: dict[str, datetime] = {}
    for event in events:
        began.setdefault(event.state, event.created_at)
    wanted = [name for name in STATIONS if name != "timing" or item.mode in TIMED_MODES]
    end = "done" if item.is_finished else item.status
    reached = wanted.index(end) if end in wanted else 0
    lane = []
    for place, name in enumerate(wanted):
        at = began.get(item.status if name == "done" and item.is_finished else name)
        if place < reached:
            css = "past" if at or not item.is_finished else "skipped"  # it ended before it came there
        elif place == reached:
            css = "end" if item.is_finished else "now"
        else:
            css, at = "", None
        since = f"+{(at - item.created_at).total_seconds():.1f} s" if at else ""
        title = "Verdict" if name == "done" else name.capitalize()
        lane.append({"state": name, "title": title, "css": css, "at": since})
    return lane


@dataclass(frozen=True)
class Seeds:
    """The inputs of the judged cases. Rows stay hidden until the contest is over: secret cases share their shapes."""

    public_at: datetime | None  # None: the board has no end
    is_public: bool
    rows: list[SeedRow]


def seeds_shown(submission: Submission, evidence: Evidence | None, now: datetime) -> Seeds:
    schedule, deadline = submission.board.competition.schedule, submission.board.deadline
    is_public = is_over_at(schedule, now, board_deadline=deadline)
    return Seeds(over_at(schedule, deadline), is_public, seed_rows(evidence) if is_public else [])


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


def _case(case: dict[str, Any], verdict: str, said: str) -> dict[str, Any]:
    """Return the row of one case of a report with this verdict; a sentence of the verdict itself is not repeated."""
    names = ("measured_us", "baseline_us", "ratio", "half_width")
    times = {
        name: float(value) if isinstance(value := case.get(name), int | float) and value > 0 else None for name in names
    }
    if times["ratio"] is None and times["measured_us"] and times["baseline_us"]:
        times["ratio"] = times["measured_us"] / times["baseline_us"]
    outcome = "passed" if case.get("good", True) else str(case.get("outcome") or verdict)
    if verdict == "unmeasurable" and times["measured_us"]:
        outcome = NOT_RANKED
    message = str(case.get("message") or "")
    return {
        "name": str(case.get("name", "")),
        "kind": "public" if case.get("public", True) else "secret",
        "outcome": outcome.replace("_", " "),
        "tone": TONES.get(outcome, "bad"),
        "failed": outcome not in TONES,
        "reason": str(case.get("reason") or ""),
        "message": "" if message in said else message,
        "caution": caution(times_alone(times["ratio"], times["measured_us"], times["baseline_us"])),
        **times,
    }


def tries_of(item: Opened, now: datetime) -> dict[str, Any]:
    """Return the retries of a submission that a disturbed machine could not judge. Omits shadow attempts.

    `spoiled`: number of spoiled tries. `next`: a sentence about the next try, "" if there is none. `measured`: timed
    cases of the newest spoiled try with any; after the last try they stand with its verdict.
    """
    opened = Attempt.objects.in_the_open().filter(submission=item.submission)
    spoiled = opened.filter(IS_SPOILED).count()
    current = opened.filter(is_current=True, cause=REMEASURE, state__in=UNFINISHED).first() if spoiled else None
    if current is None:
        return {"spoiled": spoiled, "next": "", "not_before": None, "measured": []}
    tried = list(spoiled_tries(current).order_by("number"))
    is_queued = current.state == QUEUED
    is_later = is_queued and current.not_before is not None and current.not_before > now
    measured: list[dict[str, Any]] = []
    for result in Result.objects.filter(attempt__in=tried).defer("inline").order_by("-attempt__number"):
        cases = look(result).report.get("cases", [])
        rows = [_case(case if item.code is not None else without_text(case), result.outcome, "") for case in cases]
        measured = [row for row in rows if row["measured_us"]]
        if measured:
            break
    return {
        "spoiled": spoiled,
        "next": f"Judged again {'soon' if is_queued else 'now'}: {next_try(tried[-1].reason, len(tried))}",
        "not_before": current.not_before if is_later else None,
        "measured": measured,
    }


def judged_again(submission: Submission) -> list[Attempt]:
    """Return a submission's attempts with a result, newest first; empty if there is only one. Omits shadow attempts."""
    attempts = Attempt.objects.in_the_open().filter(submission=submission, result__isnull=False)
    found = attempts.select_related("result", "version").defer("result__inline", "version__bundle").order_by("-number")
    return list(found) if len(found) > 1 else []
