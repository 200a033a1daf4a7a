"""Import problem sets, or do a dry run, and report each problem's outcome. Command and pages both use this module.

Imports run one at a time. Each set has its own transaction within a common transaction: a refused set does not affect
the rest, and a dry run does everything and keeps nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db import transaction

from leaderboard.competitions.models import Board
from leaderboard.competitions.naming import lock_names
from leaderboard.competitions.origin import slug_of
from leaderboard.competitions.sync import REFUSED, STATUSES, UNCHANGED, Import, Line, Synced, sync_set
from leaderboard.errors import UserError
from problems.formats.folders import SetFile

SKIPPED: Final = "skipped"


@dataclass(frozen=True)
class SetReport:
    """Outcome of one YAML file: created, updated, unchanged, refused or skipped.

    An updated set has the changes of the competition itself in `reason`, a refused set has `field` and `reason`.
    `visibility` is its competition's, after the import.
    """

    file: str
    name: str
    status: str
    competition: str = ""
    visibility: str = ""
    field: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    problems: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Report:
    dry_run: bool
    sets: tuple[SetReport, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Problems by status, in the order of STATUSES; a set that was refused whole counts as one refused problem."""
        found = Counter(line.status for one in self.sets for line in one.problems)
        found[REFUSED] += sum(one.status == REFUSED and not one.problems for one in self.sets)
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def has_changes(self) -> bool:
        return any(
            change not in (UNCHANGED, REFUSED, SKIPPED, "")
            for one in self.sets
            for change in (one.status, *(line.change for line in one.problems))
        )

    def to_json(self) -> dict[str, Any]:
        return {"dry_run": self.dry_run, "counts": self.counts, "sets": [asdict(one) for one in self.sets]}


def import_sets(files: Iterable[SetFile], act: Import, *, dry_run: bool) -> Report:
    """Import the sets. A faulty set or problem raises nothing: it is a line of the report."""
    with transaction.atomic():
        lock_names()
        taken: dict[str, str] = {}
        report = Report(dry_run, tuple(_import(file, act, taken) for file in files))
        if dry_run:
            transaction.set_rollback(True)
    return report


def _import(file: SetFile, act: Import, taken: dict[str, str]) -> SetReport:
    """Import one file. `taken` maps a competition's slug to its file in this import."""
    if file.found is None:
        status = SKIPPED if file.is_foreign else REFUSED
        field, reason = (file.fault.field, file.fault.message) if file.fault else ("", "")
        return SetReport(
            file.label, "", status, field=field, reason="it lists no problems" if file.is_foreign else reason
        )
    try:
        with transaction.atomic():
            if (other := taken.get(slug := slug_of(file.name))) is not None:
                raise UserError(
                    "name",
                    file.name,
                    f"{other} is a set of this name already, or of one that comes to the same address ({slug}); rename "
                    "one of them",
                )
            synced = sync_set(file.found, act)
            if not any(line.change for line in synced.lines):
                transaction.set_rollback(True)  # refused problems alone create no competition
            else:
                taken[slug] = file.label
    except UserError as error:
        return SetReport(file.label, file.name, REFUSED, field=error.field, reason=error.message)
    return _report(file, synced)


def _report(file: SetFile, synced: Synced) -> SetReport:
    assert file.found is not None
    came_in = any(line.change for line in synced.lines)
    own = tuple(warning for warning in file.found.warnings if warning.startswith(f"{file.label.split('/')[-1]}: "))
    return SetReport(
        file=file.label,
        name=file.name,
        status=synced.change if came_in else REFUSED if synced.lines else SKIPPED,
        competition=synced.competition.slug if came_in else "",
        visibility=synced.competition.visibility if came_in else "",
        reason="; ".join(synced.changes) if came_in else _why_nothing(synced),
        field="" if came_in else "problems",
        warnings=(*own, *(_left(synced) if came_in else ())),
        problems=synced.lines,
    )


def _why_nothing(synced: Synced) -> str:
    return "none of its problems could be read" if synced.lines else "it lists no problems"


def _left(synced: Synced) -> list[str]:
    """Return warnings for differences that stay: boards that the set does not name any more, and fields edited here."""
    named = {(line.problem, hardware) for line in synced.lines for hardware in line.hardware}
    refused = {line.problem for line in synced.lines if line.status == REFUSED}
    boards = Board.objects.filter(competition=synced.competition).exclude(slug__in=refused)
    gone = [board for board in boards if (board.slug, board.hardware) not in named]
    return [
        *(f"{board} is not in the set any more; it stays" for board in gone),
        *(f"the {key} of the competition was edited here; it stays" for key in synced.kept),
    ]
