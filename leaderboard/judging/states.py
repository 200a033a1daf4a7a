"""Pure: the states of an attempt and the moves between them. No other module decides on moves.

queued → claimed → building → checking → timing → done
        any of the middle four may also end as done, lost or cancelled; queued as cancelled
        a runner that hands any of the middle four back makes it queued again
"""

from __future__ import annotations

from typing import Final

from leaderboard.errors import IllegalMove
from runner.wire import STATES as ANNOUNCED

QUEUED: Final = "queued"
CLAIMED: Final = "claimed"
DONE: Final = "done"
LOST: Final = "lost"
CANCELLED: Final = "cancelled"

RUNNING: Final = (CLAIMED, *ANNOUNCED)  # a runner holds a lease
UNFINISHED: Final = (QUEUED, *RUNNING)
FINISHED: Final = (DONE, LOST, CANCELLED)
STATES: Final = UNFINISHED + FINISHED

_ENDS: Final = frozenset(FINISHED)
NEXT: Final[dict[str, frozenset[str]]] = {
    QUEUED: frozenset({CLAIMED, CANCELLED}),
    # A runner's stages go forward only; a mode may skip a stage (test mode has no timing).
    **{state: frozenset(RUNNING[index + 1 :]) | _ENDS | {QUEUED} for index, state in enumerate(RUNNING)},
    **{state: frozenset() for state in FINISHED},
}


def check_move(old: str, new: str) -> None:
    if new not in NEXT[old]:
        raise IllegalMove(f"an attempt that is {old} cannot become {new}")
