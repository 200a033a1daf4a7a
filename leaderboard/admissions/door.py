"""May a version of a problem take submissions on a hardware, as far as its admission tests go?

Never asked for: yes. Asked on import (`gate`): once a test passed. Else: until one failed. An organiser's override of
the newest finished test opens it, with a reason.
"""

from __future__ import annotations

from leaderboard.admissions.models import DONE, ERROR, PASSED, AdmissionTest
from leaderboard.competitions.models import Board
from leaderboard.errors import UserError


def refusal(*, version_id: int, hardware: str) -> str:
    """Why no submission is taken, for a competitor; "" where one is."""
    tests = AdmissionTest.objects.filter(version=version_id, hardware=hardware)
    known = tests.filter(state=DONE).exclude(outcome=ERROR).first()
    if known is not None:
        if known.outcome == PASSED or known.is_overridden:
            return ""
        return "this version of the problem failed its admission test; its organiser can see why"
    last = tests.filter(gate=True).first()
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
