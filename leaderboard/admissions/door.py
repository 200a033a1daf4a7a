"""May a version of a problem take submissions on a hardware, as far as its admission tests go?

Never asked for: yes. Asked on import (`gate`): once a test passed. Else: until one failed. An organiser's override of
the newest finished test opens it, with a reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from leaderboard.admissions.models import DONE, ERROR, PASSED, AdmissionTest
from leaderboard.competitions.models import Board
from leaderboard.errors import UserError


def refusal(*, version_id: int, hardware: str) -> str:
    """Why no submission is taken, for a competitor; "" where one is."""
    return _refusal(list(AdmissionTest.objects.filter(version=version_id, hardware=hardware).defer("told")))


def refusals(boards: Iterable[Board]) -> dict[int, str]:
    """The same by the ids of many boards, in one query."""
    boards = list(boards)
    found: dict[tuple[int, str], list[AdmissionTest]] = defaultdict(list)
    for test in AdmissionTest.objects.filter(version__in={board.version_id for board in boards}).defer("told"):
        found[test.version_id, test.hardware].append(test)
    return {board.pk: _refusal(found[board.version_id, board.hardware]) for board in boards}


def _refusal(tests: list[AdmissionTest]) -> str:
    """`tests` of one version and hardware, newest first."""
    known = next((test for test in tests if test.state == DONE and test.outcome != ERROR), None)
    if known is not None:
        if known.outcome == PASSED or known.is_overridden:
            return ""
        return "this version of the problem failed its admission test; its organiser can see why"
    last = next((test for test in tests if test.gate), None)
    if last is None or last.is_overridden:
        return ""
    if last.state == DONE:
        return "this version of the problem could not be tested yet; its organiser can see why"
    return "this version of the problem has to pass its admission test first; try again in some minutes"


def check_admitted(board: Board) -> None:
    """Raises UserError."""
    why = refusal(version_id=board.version_id, hardware=board.hardware)
    if why:
        raise UserError("board", board.slug, why, status=409)
