"""Checks of a submission before it is stored. Every detectable error is reported by field before a row exists.

`check` writes nothing; `store` writes a checked submission. leaderboard/pipeline.py puts the quota and the first
attempt into the same transaction.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Phase, phase_at
from leaderboard.competitions.licences import check_licence
from leaderboard.competitions.models import Board, BoardQuerySet
from leaderboard.competitions.visible import boards_seen_by
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.submissions.models import Submission
from leaderboard.submissions.source import check_filename, check_language, read_source
from problems.directives import DirectiveError, read_directives
from runner.wire import MODES

SAID_CHARS: Final = 60  # characters of a wrong value in a sentence


@dataclass(frozen=True)
class Upload:
    """A submission as a page or the API received it. Texts may be empty if the file's first lines give them."""

    owner: User
    board_slug: str
    hardware: str
    mode: str
    filename: str
    data: bytes
    sent_at: datetime
    licence: str = ""


@dataclass(frozen=True)
class Checked:
    """A checked upload, ready to store."""

    board: Board
    mode: str
    filename: str
    source: str
    licence: str
    created_at: datetime


def check(upload: Upload) -> Checked:
    """Return the checked upload. Raise UserError on an error.

    A board that is invisible to the owner does not exist.
    """
    if upload.filename:
        check_filename(upload.filename)
    source = read_source(upload.data)
    try:
        directives = read_directives(source)
    except DirectiveError as error:
        raise UserError("code", error.line[:SAID_CHARS], error.message) from None
    slug = _board_slug(upload.owner, upload.board_slug, directives.board)
    board = _board(upload.owner, slug, upload.hardware, directives.hardware)
    wanted = board.version.part("submission_name", "submission.py")
    filename = upload.filename or wanted
    check_language(filename, wanted)
    if upload.mode not in MODES:
        raise UserError("mode", upload.mode, f"no such mode: {_said(upload.mode)}; there are {', '.join(MODES)}")
    licence = check_licence(upload.licence or directives.licence, default=board.competition.default_licence)
    unsupported = board.version.part("unsupported", "")
    if unsupported:
        raise UserError("board", slug, f"this problem cannot be judged here: {unsupported}", status=409)
    if not board.is_open_at(upload.sent_at):
        raise UserError("board", slug, _closed(board, upload.sent_at), status=409)
    return Checked(board, upload.mode, filename, source, licence, created_at=upload.sent_at)


def store(checked: Checked, *, owner: User, entrant: Entrant, code_digest: str) -> Submission:
    encoded = checked.source.encode()
    return Submission.objects.create(
        owner=owner,
        entrant=entrant,
        board=checked.board,
        mode=checked.mode,
        filename=checked.filename,
        source=checked.source,
        code_digest=code_digest,
        licence=checked.licence,
        source_digest="sha256:" + hashlib.sha256(encoded).hexdigest(),
        size_bytes=len(encoded),
        created_at=checked.created_at,
    )


def _closed(board: Board, now: datetime) -> str:
    """Return the reason why a board is closed now, with its time of opening if it is not open yet."""
    schedule = board.competition.schedule
    if phase_at(schedule, now) is Phase.BEFORE:
        return f"not open yet: it opens at {schedule.practice_at or schedule.contest_at:%Y-%m-%d %H:%M} UTC"
    return f"closed: its deadline was {board.closes_at:%Y-%m-%d %H:%M} UTC"


def _board_slug(owner: User, given: str, directive: str) -> str:
    seen = _slugs(boards_seen_by(owner))
    if directive and _spelt(directive, seen) is None:
        told = f"the file's directive {_said(directive)} names no board ({_chose(given)})"
        raise UserError("board", directive, told + _near(directive, _listed(owner)))
    wanted = given or directive
    if not wanted:
        raise UserError("board", "", f"missing; name one of {_list(_listed(owner))}")
    slug = _spelt(wanted, seen)
    if slug is None:
        raise UserError("board", wanted, f"no such board: {_said(wanted)}{_near(wanted, _listed(owner))}", status=404)
    return slug


def _listed(owner: User) -> list[str]:
    """Return the boards that an answer may name: unlisted boards stay unnamed."""
    return _slugs(boards_seen_by(owner, listed=True))


def _slugs(boards: BoardQuerySet) -> list[str]:
    return sorted(set(boards.order_by().values_list("slug", flat=True)))


def _board(owner: User, slug: str, given: str, directive: tuple[str, ...]) -> Board:
    boards = {board.hardware: board for board in boards_seen_by(owner).with_parts().filter(slug=slug)}
    known = sorted(boards)
    for name in directive:
        if _spelt(name, known) is None:
            told = f"the file's directive {_said(name)} names no hardware of {slug} ({_chose(given)})"
            raise UserError("hardware", name, f"{told}; it has {_list(known)}")
    choices = (given,) if given else directive or tuple(known)
    if len(choices) > 1:
        raise UserError("hardware", ", ".join(choices), f"choose one of {_list(choices)}")
    hardware = _spelt(choices[0], known)
    if hardware is None:
        raise UserError("hardware", choices[0], f"{slug} is not judged on {_said(choices[0])}; it has {_list(known)}")
    return boards[hardware]


def _spelt(name: str, known: list[str]) -> str | None:
    """Return the known name that equals `name`, else the first that differs from it in upper and lower case only."""
    if name in known:
        return name
    return next((spelling for spelling in known if spelling.lower() == name.lower()), None)


def _said(value: str) -> str:
    """Return a sent value in quotes, shortened to a readable length."""
    return repr(value if len(value) <= SAID_CHARS else value[:SAID_CHARS] + "…")


def _chose(given: str) -> str:
    return f"you chose {_said(given)}" if given else "you chose none"


def _near(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; there are {_list(known)}" if known else "; there are none yet"


def _list(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
