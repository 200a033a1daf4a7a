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
from leaderboard.judging.models import Runner


def refusal(*, version_id: int, hardware: str) -> str:
    """Why no submission is taken, for a competitor; "" where one is."""
    tests = AdmissionTest.objects.filter(version=version_id, hardware=hardware).defer("told")
    return _refusal(list(tests), seen_hardware(), hardware)


def refusals(boards: Iterable[Board]) -> dict[int, str]:
    """The same by the ids of many boards, in two queries."""
    boards = list(boards)
    found: dict[tuple[int, str], list[AdmissionTest]] = defaultdict(list)
    for test in AdmissionTest.objects.filter(version__in={board.version_id for board in boards}).defer("told"):
        found[test.version_id, test.hardware].append(test)
    seen = seen_hardware()
    return {board.pk: _refusal(found[board.version_id, board.hardware], seen, board.hardware) for board in boards}


def seen_hardware() -> set[str]:
    """Return the hardware of every runner that ever reached this site."""
    return set(Runner.objects.exclude(last_seen_at=None).values_list("hardware", flat=True))


def _refusal(tests: list[AdmissionTest], seen: set[str], hardware: str) -> str:
    """`tests`: of one version and hardware, newest first. `seen`: of seen_hardware."""
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
    if hardware not in seen:
        return f"no machine with {hardware} has joined this site yet; its admission test waits for the first"
    return "this version of the problem has to pass its admission test first; try again in some minutes"


def check_admitted(board: Board) -> None:
    """Raises UserError."""
    why = refusal(version_id=board.version_id, hardware=board.hardware)
    if why:
        raise UserError("board", board.slug, why, status=409)
