"""Checks of a submission before it is stored. Every detectable error is reported by field before a row exists.

`check` writes nothing. leaderboard/pipeline.py stores the submission with its quota and its first attempt.
"""

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Phase, phase_at
from leaderboard.competitions.checks import check_licence
from leaderboard.competitions.models import Board, BoardQuerySet
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.errors import UserError
from leaderboard.source import SourceError, read_source
from leaderboard.submissions.models import Submission
from problems.directives import DirectiveError, Directives, read_directives
from runner.wire import MODES

QUOTED_CHARS: Final = 60  # characters of a wrong value in a sentence

MAX_FILENAME_CHARS: Final = 100
LANGUAGES: Final = {".py": "Python", ".cu": "CUDA C++"}
_FILENAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. +-]*\.(py|cu)")


@dataclass(frozen=True)
class Upload:
    """A sent file with the choices of its sender.

    `board` and `hardware` may be empty if the file's first lines name them.
    """

    board: str
    hardware: str
    mode: str
    filename: str  # "": the problem's submission name
    data: bytes
    licence: str = ""  # "": named by the file's first lines, or the competition's default
    remixed_from: int | None = None  # the submission whose code it began with
    parents: tuple[int, ...] = ()  # submissions that it descends from
    lineage: Mapping[str, Any] = field(default_factory=dict)  # fields of a Lineage


Boards = dict[tuple[str, str, Directives], Board]  # by the names that an upload and its file give


def check(upload: Upload, *, owner: User, now: datetime, known: Boards | None = None) -> Submission:
    """Return the checked submission without its owner, entrant and code digest. Raise UserError on an error.

    A board that is invisible to the owner does not exist. `known`: boards of the uploads before, within a batch.
    """
    if upload.filename:
        check_filename(upload.filename)
    try:
        source = read_source(upload.data)
        directives = read_directives(source)
    except SourceError as error:
        raise UserError("code", error.value, error.message, error.status) from None
    except DirectiveError as error:
        raise UserError("code", error.line[:QUOTED_CHARS], error.message) from None
    known = {} if known is None else known
    names = (upload.board, upload.hardware, directives)
    board = known[names] = known.get(names) or _board(owner, upload, directives)
    wanted = board.version.part("submission_name", "submission.py")
    filename = upload.filename or wanted
    suffix = next((one for one in LANGUAGES if wanted.endswith(one)), ".py")
    if not filename.endswith(suffix):
        text = f"this problem takes {LANGUAGES[suffix]}: the file's name must end in {suffix}"
        raise UserError("filename", filename, text)
    if upload.mode not in MODES:
        raise UserError("mode", upload.mode, f"no such mode: {_quoted(upload.mode)}; there are {', '.join(MODES)}")
    licence = check_licence(upload.licence, default=board.competition.default_licence)
    if directives.licence and not upload.licence:
        licence = check_licence(directives.licence, default="", field="code")
    unsupported = board.version.part("unsupported", "")
    if unsupported:
        text = f"this problem cannot be judged here: {unsupported}"
        raise UserError("board", board.slug, text, 409, "board_unsupported")
    if not board.is_open_at(now):
        schedule = board.competition.schedule
        why, code = f"closed: its deadline was {board.closes_at:%Y-%m-%d %H:%M} UTC", "board_closed"
        if phase_at(schedule, now) is Phase.BEFORE:
            opens_at = schedule.practice_at or schedule.contest_at
            why, code = f"not open yet: it opens at {opens_at:%Y-%m-%d %H:%M} UTC", "board_not_open"
        raise UserError("board", board.slug, why, 409, code)
    encoded = source.encode()
    digest = "sha256:" + hashlib.sha256(encoded).hexdigest()
    told = {"source": source, "source_digest": digest, "size_bytes": len(encoded), "licence": licence}
    return Submission(board=board, mode=upload.mode, filename=filename, created_at=now, **told)


def _slugs(boards: BoardQuerySet) -> list[str]:
    return sorted(set(boards.order_by().values_list("slug", flat=True)))


def _board(owner: User, upload: Upload, directives: Directives) -> Board:
    """Return the chosen board. Answers name listed boards only: unlisted boards stay unnamed."""
    seen, given, directive = _slugs(boards_seen_by(owner)), upload.board, directives.board
    if directive and _spelt(directive, seen) is None:
        text = f"the file's directive {_quoted(directive)} names no board ({_chosen(given)})"
        raise UserError("code", directive, text + _suggested(directive, owner))
    wanted = given or directive
    if not wanted:
        raise UserError("board", "", f"missing; name one of {_list(_slugs(boards_seen_by(owner, listed=True)))}")
    slug = _spelt(wanted, seen)
    if slug is None:
        raise UserError("board", wanted, f"no such board: {_quoted(wanted)}{_suggested(wanted, owner)}", status=404)
    boards = {board.hardware: board for board in boards_seen_by(owner).with_parts().filter(slug=slug)}
    known = sorted(boards)
    given = upload.hardware
    for name in directives.hardware:
        if _spelt(name, known) is None:
            text = f"the file's directive {_quoted(name)} names no hardware of {slug} ({_chosen(given)})"
            raise UserError("code", name, f"{text}; it has {_list(known)}")
    choices = (given,) if given else directives.hardware or tuple(known)
    if len(choices) > 1:
        raise UserError("hardware", ", ".join(choices), f"choose one of {_list(choices)}")
    hardware = _spelt(choices[0], known)
    if hardware is None:
        raise UserError("hardware", choices[0], f"{slug} is not judged on {_quoted(choices[0])}; it has {_list(known)}")
    return boards[hardware]


def _spelt(name: str, known: list[str]) -> str | None:
    """Return the known name that equals `name`, else the first that differs from it in upper and lower case only."""
    if name in known:
        return name
    return next((spelling for spelling in known if spelling.lower() == name.lower()), None)


def _quoted(value: str) -> str:
    """Return a sent value in quotes, shortened to a readable length."""
    return repr(value if len(value) <= QUOTED_CHARS else value[:QUOTED_CHARS] + "…")


def _chosen(given: str) -> str:
    return f"you chose {_quoted(given)}" if given else "you chose none"


def _suggested(name: str, owner: User) -> str:
    known = _slugs(boards_seen_by(owner, listed=True))
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; there are {_list(known)}" if known else "; there are none yet"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def check_filename(name: str) -> str:
    if len(name) > MAX_FILENAME_CHARS:
        raise UserError("filename", name, f"too long: a file name has at most {MAX_FILENAME_CHARS} characters")
    if "/" in name or "\\" in name:
        raise UserError("filename", name, "give the plain name of the file, without folders")
    if not name.endswith(tuple(LANGUAGES)):
        raise UserError("filename", name, "expected a source file: its name must end in .py, or in .cu")
    if not _FILENAME.fullmatch(name):
        raise UserError("filename", name, "use letters, digits and _ . + - only, starting with a letter, digit or _")
    return name
