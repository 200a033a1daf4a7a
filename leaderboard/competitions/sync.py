"""Bring one problem set into the tables: competition, problems, versions, boards. Safe to run again.

A problem with changed text or cases gets a new version and its boards point at it; attempts keep the version they had.
Each problem is brought in separately: a refused problem does not affect the rest. Boards that the set no longer names
stay, with their submissions. Fields that an organiser edited on the site (`edited`) stay as they are, and the import
reports them. No set touches a competition that came from another set (origin.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.models import CLOSED, PUBLIC, Board, Competition, Problem, ProblemVersion, Role
from leaderboard.competitions.naming import free_slug
from leaderboard.competitions.origin import check_is_of, slug_of
from leaderboard.competitions.plain import plain
from leaderboard.errors import UserError
from problems.formats.gpumode import ProblemSet, SetEntry
from problems.sizes import too_large
from problems.spec import Problem as Specification

CREATED: Final = "created"
UPDATED: Final = "updated"
UNCHANGED: Final = "unchanged"
UNSUPPORTED: Final = "unsupported"
REFUSED: Final = "refused"
STATUSES: Final = (CREATED, UPDATED, UNCHANGED, UNSUPPORTED, REFUSED)


@dataclass(frozen=True)
class Line:
    """Outcome of one problem: `reason` explains why it is unsupported, the error in `field`, or the change."""

    problem: str
    status: str
    change: str = ""  # created, updated or unchanged; "" if refused
    field: str = ""
    reason: str = ""
    hardware: tuple[str, ...] = ()
    digest: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Import:
    """An import of sets: the person, the source (the audit's reason), the time, and how new competitions start."""

    actor: User | None  # None: the site's own console
    source: str
    now: datetime
    publish: bool = False  # a new competition is public at once; else closed: only its organisers see it


@dataclass(frozen=True)
class Synced:
    competition: Competition
    change: str
    lines: tuple[Line, ...]
    kept: tuple[str, ...] = ()  # fields edited here, for which the set has different values
    changes: tuple[str, ...] = ()  # to the competition's own fields, in words


@dataclass(frozen=True)
class _Filled:
    """A competition as the set leaves it: changed fields before and after, and fields that were kept."""

    competition: Competition
    change: str
    before: dict[str, Any]
    after: dict[str, Any]
    kept: tuple[str, ...] = ()


def sync_set(problem_set: ProblemSet, act: Import) -> Synced:
    """Bring in a set within the caller's transaction. Raise UserError if the set itself cannot be brought in."""
    filled = _competition(problem_set, act)
    competition, change = filled.competition, filled.change
    lines = tuple(_line(competition, entry, act) for entry in problem_set.entries)
    refused = tuple(Line(fault.name, REFUSED, "", fault.field, fault.message) for fault in problem_set.faults)
    synced = Synced(competition, change, (*lines, *refused), filled.kept, tuple(_in_words(filled)))
    if {change, *(line.change for line in lines)} - {UNCHANGED, ""}:
        told = [asdict(line) for line in synced.lines if line.change != UNCHANGED]
        record(
            act="import_set",
            target=competition,
            actor=act.actor,
            reason=act.source,
            now=act.now,
            before=plain(filled.before),
            after={**plain(filled.after), "name": problem_set.name, "set": change, "problems": told},
        )
    return synced


def _competition(problem_set: ProblemSet, act: Import) -> _Filled:
    slug = slug_of(problem_set.name)
    told: dict[str, Any] = {
        "name": problem_set.name,
        "description": problem_set.description,
        "deadline": problem_set.deadline,
    }
    if problem_set.scoring:
        told["scoring"] = problem_set.scoring
    known = Competition.objects.select_for_update().filter(slug=slug).first()
    if known is None:
        visibility = PUBLIC if act.publish else CLOSED
        new_one = Competition.objects.create(slug=slug, created_at=act.now, visibility=visibility, **told)
        if act.actor is not None:
            Role.objects.create(competition=new_one, user=act.actor, role=Role.OWNER, created_at=act.now)
        return _Filled(new_one, CREATED, {}, {})
    check_is_of(known, problem_set.name)
    new = {key: value for key, value in told.items() if getattr(known, key) != value}
    kept = tuple(key for key in new if key in known.edited)
    new = {key: value for key, value in new.items() if key not in kept}
    if not new:
        return _Filled(known, UNCHANGED, {}, {}, kept)
    old = {key: getattr(known, key) for key in new}
    for key, value in new.items():
        setattr(known, key, value)
    known.save(update_fields=list(new))
    return _Filled(known, UPDATED, old, new, kept)


def _in_words(filled: _Filled) -> Iterator[str]:
    """Describe the changed fields: a name and a time with their values, a description without, because it is long."""
    for key, new in filled.after.items():
        yield f"new {key}" + ("" if key == "description" else f" {_shown(new)}, before {_shown(filled.before[key])}")


def _shown(value: str | datetime | None) -> str:
    if value is None:
        return "none"
    return repr(value) if isinstance(value, str) else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _line(competition: Competition, entry: SetEntry, act: Import) -> Line:
    asked = entry.slug
    try:
        with transaction.atomic():
            entry = _named(competition, entry)
            changes, kept = _boards(competition, entry, act)
    except UserError as error:
        return Line(asked, REFUSED, "", error.field, error.message)
    is_new = set(changes.values()) == {CREATED} and not _older_boards(competition, entry)
    said = [f"{hardware}: {what}" for hardware, what in changes.items() if what != UNCHANGED]
    change = CREATED if is_new else UPDATED if said else UNCHANGED
    unsupported = entry.problem.unsupported
    renamed = () if entry.slug == asked else (f"another competition has a board {asked}; here it is {entry.slug}",)
    return Line(
        problem=entry.slug,
        status=UNSUPPORTED if unsupported else change,
        change=change,
        reason=unsupported or ("; ".join(said) if change == UPDATED else ""),
        hardware=tuple(changes),
        digest=entry.problem.on(entry.gpus[0]).digest,
        warnings=(*renamed, *kept, *_sizes(entry), *entry.problem.warnings),
    )


def _sizes(entry: SetEntry) -> Iterator[str]:
    """Warn of hardware without room for the problem's inputs, before a runner finds out."""
    if not entry.problem.unsupported:
        yield from (sentence for hardware in entry.gpus if (sentence := too_large(entry.problem, hardware)))


def _named(competition: Competition, entry: SetEntry) -> SetEntry:
    """Return the entry under a name that no other competition has; the same set gets the same name each time."""
    slug = free_slug(competition, entry.slug)
    return entry if slug == entry.slug else replace(entry, slug=slug, problem=replace(entry.problem, slug=slug))


def _older_boards(competition: Competition, entry: SetEntry) -> bool:
    """Return whether boards of this name exist on hardware that the set does not name now."""
    boards = Board.objects.filter(competition=competition, slug=entry.slug)
    return boards.exclude(hardware__in=entry.gpus).exists()


def _boards(competition: Competition, entry: SetEntry, act: Import) -> tuple[dict[str, str], list[str]]:
    """Return the change of each board by hardware, and warnings about fields kept because they were edited here."""
    if not entry.gpus:
        raise UserError("gpus", entry.slug, "no hardware is named for this problem; add `gpus: [cpu]`")
    done = {
        hardware: _board(competition, entry, hardware, _version(entry.problem.on(hardware), act.now), act)
        for hardware in entry.gpus
    }
    kept = [f"{hardware}: its {key} was edited here; it stays" for hardware, (_, keys) in done.items() for key in keys]
    return {hardware: change for hardware, (change, _) in done.items()}, kept


def _version(specification: Specification, now: datetime) -> ProblemVersion:
    problem, _ = Problem.objects.update_or_create(slug=specification.slug, defaults={"title": specification.title})
    version, _ = ProblemVersion.objects.get_or_create(
        digest=specification.digest,
        defaults={"problem": problem, "bundle": specification.to_bundle(), "created_at": now},
    )
    return version


def _board(
    competition: Competition, entry: SetEntry, hardware: str, version: ProblemVersion, act: Import
) -> tuple[str, list[str]]:
    board = Board.objects.select_for_update().filter(slug=entry.slug, hardware=hardware).first()
    if board is None:
        Board.objects.create(
            competition=competition,
            problem=version.problem,
            version=version,
            slug=entry.slug,
            hardware=hardware,
            deadline=entry.deadline,
            created_at=act.now,
        )
        return CREATED, []
    before = _told(board)
    kept = _set(board, {"version": version, "deadline": entry.deadline})
    after = _told(board)
    if after == before:
        return UNCHANGED, kept
    board.save(update_fields=["problem", "version", "deadline"])
    record(
        act="update_board", target=board, actor=act.actor, reason=act.source, now=act.now, before=before, after=after
    )
    return " and ".join(f"new {key}" for key in after if after[key] != before[key]), kept


def _set(board: Board, told: dict[str, Any]) -> list[str]:
    """Set fields of a board from the set; return the fields that were kept because they were edited here."""
    kept = []
    for key, value in told.items():
        if key not in board.edited:
            setattr(board, key, value)
        elif getattr(board, key) != value:
            kept.append(key)
    board.problem = board.version.problem
    return kept


def _told(board: Board) -> dict[str, str | None]:
    deadline = None if board.deadline is None else board.deadline.isoformat()
    return {"version": board.version.digest, "deadline": deadline}
