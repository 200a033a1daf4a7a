"""Select the submissions of a re-judging set: by properties of their current attempts, or by a list. At most MOST."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import F

from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError
from leaderboard.judging.models import DONE, Attempt
from leaderboard.standings.models import Entry

MOST: Final = 5_000  # submissions per set
NAMED: Final = 10  # wrong ids that an error names

PUBLISHED: Final = "published"  # every line
VERSION: Final = "version"  # ranked, judged by a given version of the problem; "": by any but today's
RUNNER: Final = "runner"  # ranked, with a verdict of a given runner between two times
LIST: Final = "list"  # the listed submissions
KINDS: Final = (PUBLISHED, VERSION, RUNNER, LIST)


@dataclass(frozen=True)
class Selection:
    kind: str
    version: str = ""  # digest
    runner: str = ""  # name
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        since, until = (moment and moment.isoformat() for moment in (self.since, self.until))
        criteria: dict[str, dict[str, Any]] = {
            VERSION: {"version": self.version},
            RUNNER: {"runner": self.runner, "since": since, "until": until},
            LIST: {"ids": list(self.ids)},
        }
        return {"kind": self.kind} | criteria.get(self.kind, {})


def select(*, selection: Selection, competition: Competition, board: Board | None) -> list[Attempt]:
    """Return the current attempts of the submissions, by submission; all are judged.

    Raises UserError if there are no submissions or too many, or if a list names a submission that is outside the
    competition or board, or is not judged.
    """
    found = Attempt.objects.current().filter(state=DONE, submission__board__competition=competition)
    if board is not None:
        found = found.filter(submission__board=board)
    if selection.kind == PUBLISHED:
        lines = Entry.objects.filter(board__competition=competition)
        found = found.filter(submission__in=lines.values("submission_id"))
    elif selection.kind == VERSION:
        found = found.filter(submission__mode="ranked")
        today = F("submission__board__version")
        found = found.filter(version__digest=selection.version) if selection.version else found.exclude(version=today)
    elif selection.kind == RUNNER:
        found = found.filter(submission__mode="ranked", runner__name=selection.runner)
        found = found.filter(finished_at__gte=selection.since) if selection.since else found
        found = found.filter(finished_at__lt=selection.until) if selection.until else found
    elif selection.kind == LIST:
        found = found.filter(submission__in=selection.ids[: MOST + 1])
    else:
        raise UserError("kind", selection.kind, f"choose one of {', '.join(KINDS)}")
    rows = found.select_related("submission__board").defer("submission__source").order_by("submission_id")
    attempts = list(rows[: MOST + 1])
    if len(attempts) > MOST:
        raise UserError("selection", selection.kind, f"more than {MOST:,} submissions; make several sets of fewer")
    if missing := sorted(set(selection.ids) - {attempt.submission_id for attempt in attempts}):
        named = ", ".join(map(str, missing[:NAMED])) + (" …" if len(missing) > NAMED else "")
        raise UserError("ids", named, f"no judged submission here: {named}; leave them out, or wait for their verdict")
    if not attempts:
        raise UserError("selection", selection.kind, "chooses no judged submission; look at what it asks for")
    return attempts


def estimate_s(attempts: Sequence[Attempt]) -> float:
    """Return the machine time in seconds that these attempts took, without waiting."""
    spans = (one.finished_at - one.claimed_at for one in attempts if one.finished_at and one.claimed_at)
    return sum(spans, timedelta()).total_seconds()
