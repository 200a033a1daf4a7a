"""Bring a problem set from its folder into the tables: competition, problems, versions, boards. Safe to run again.

A problem whose text changed gets a new version and its boards point at it; attempts keep the version they had.
Boards that the set no longer names stay, with what was submitted to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.text import slugify

from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion
from leaderboard.errors import UserError
from problems.formats.gpumode import ProblemSet, SetEntry
from problems.spec import Problem as Specification


@dataclass(frozen=True)
class Synced:
    competition: Competition
    boards: tuple[Board, ...]
    new_versions: int


@transaction.atomic
def sync_set(problem_set: ProblemSet, *, now: datetime) -> Synced:
    competition = _competition(problem_set, now)
    versions_before = ProblemVersion.objects.count()
    boards = tuple(board for entry in problem_set.entries for board in _boards(competition, entry, now))
    return Synced(competition, boards, ProblemVersion.objects.count() - versions_before)


def _competition(problem_set: ProblemSet, now: datetime) -> Competition:
    slug = slugify(problem_set.name)[:64]
    if not slug:
        raise UserError("name", problem_set.name, "a set's name needs a letter or a digit")
    told = {"name": problem_set.name, "description": problem_set.description, "deadline": problem_set.deadline}
    competition, _ = Competition.objects.update_or_create(
        slug=slug, defaults=told, create_defaults=told | {"created_at": now}
    )
    return competition


def _boards(competition: Competition, entry: SetEntry, now: datetime) -> list[Board]:
    gpus = entry.gpus or entry.problem.gpus
    if not gpus:
        raise UserError("gpus", entry.slug, "the set names no hardware for this problem; add `gpus: [cpu]`")
    version = _version(entry.problem, now)
    return [_board(competition, entry, hardware, version, now) for hardware in gpus]


def _version(specification: Specification, now: datetime) -> ProblemVersion:
    problem, _ = Problem.objects.update_or_create(slug=specification.slug, defaults={"title": specification.title})
    version, _ = ProblemVersion.objects.get_or_create(
        digest=specification.digest,
        defaults={"problem": problem, "bundle": specification.to_bundle(), "created_at": now},
    )
    return version


def _board(competition: Competition, entry: SetEntry, hardware: str, version: ProblemVersion, now: datetime) -> Board:
    board = Board.objects.select_for_update().filter(slug=entry.slug, hardware=hardware).first()
    if board is None:
        return Board.objects.create(
            competition=competition,
            problem=version.problem,
            version=version,
            slug=entry.slug,
            hardware=hardware,
            deadline=entry.deadline,
            created_at=now,
        )
    if board.competition_id != competition.pk:
        raise UserError("name", entry.slug, f"a board of this name belongs to competition {board.competition}")
    before = _told(board)
    board.problem, board.version, board.deadline = version.problem, version, entry.deadline
    if _told(board) != before:
        board.save(update_fields=["problem", "version", "deadline"])
        record(
            act="sync_board",
            target=board,
            actor=None,
            reason="the set changed",
            now=now,
            before=before,
            after=_told(board),
        )
    return board


def _told(board: Board) -> dict[str, str | None]:
    deadline = None if board.deadline is None else board.deadline.isoformat()
    return {"version": board.version.digest, "deadline": deadline}
