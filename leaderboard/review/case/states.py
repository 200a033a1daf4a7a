"""Pure: the state of a case from its log. The function `derive` computes it; it is never maintained by hand.

    waiting ─ ask ─► asked ─ answer ─► waiting          half_cleared: one of two people has cleared it
    waiting ─ clear ─► cleared | half_cleared ─ clear by another ─► cleared
    waiting ─ reject ─► rejected ─ appeal ─► appealed ─ uphold ─► rejected
                                             appealed ─ grant ─► waiting
    rejected by itself (impossible, clock mismatch) ─ overturn ─► waiting
    (no case) ─ hold_along ─► waiting, with a run of the same kernel that is rejected; cleared ─ hold_along ─► waiting

An `undo` takes back the last decision with every line about it: the rest is exactly the log before it. Rows are
read in the order of their ids; none is ever deleted. A claim, a note or a label changes no state. Undoing a rejection
also undoes the holding along with it: a result that had no case before is then not held.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

WAITING: Final = "waiting"
ASKED: Final = "asked"
HALF_CLEARED: Final = "half_cleared"
CLEARED: Final = "cleared"
REJECTED: Final = "rejected"
APPEALED: Final = "appealed"
NOT_HELD: Final = "not_held"  # it was held along with another run, and that was undone
STATES: Final = (WAITING, ASKED, HALF_CLEARED, CLEARED, REJECTED, APPEALED, NOT_HELD)
OPEN: Final = (WAITING, ASKED, HALF_CLEARED, APPEALED)  # a person must act
HELD: Final = (WAITING, ASKED, HALF_CLEARED)  # "under review" to its owner
STANDS: Final = (CLEARED, NOT_HELD)  # review lets it rank

CLAIM: Final = "claim"
RELEASE: Final = "release"
ASK: Final = "ask"
ANSWER: Final = "answer"
CLEAR: Final = "clear"
REJECT: Final = "reject"
OVERTURN: Final = "overturn"
APPEAL: Final = "appeal"
UPHOLD: Final = "uphold"
GRANT: Final = "grant"
UNDO: Final = "undo"
NOTE: Final = "note"
LABEL: Final = "label"
UNLABEL: Final = "unlabel"
HOLD: Final = "hold"  # a person opened the case by hand
HOLD_ALONG: Final = "hold_along"  # `about`: the rejection of another run of its kernel
RERUN: Final = "rerun"
ACTS: Final = (
    *(CLAIM, RELEASE, ASK, ANSWER, CLEAR, REJECT, OVERTURN, APPEAL, UPHOLD, GRANT, UNDO),
    *(NOTE, LABEL, UNLABEL, HOLD, HOLD_ALONG, RERUN),
)

UNDOABLE: Final = (ASK, CLEAR, REJECT, OVERTURN, UPHOLD, GRANT)  # decisions of a reviewer
ENDS_CLAIM: Final = (*UNDOABLE, RELEASE)
FROM: Final = {  # states in which an act is possible; acts that are missing here are possible in all
    CLAIM: OPEN,
    ASK: (WAITING, HALF_CLEARED),
    ANSWER: (ASKED,),
    CLEAR: HELD,
    REJECT: HELD,
    OVERTURN: (REJECTED,),
    APPEAL: (REJECTED,),
    UPHOLD: (APPEALED,),
    GRANT: (APPEALED,),
}


@dataclass(frozen=True)
class Row:
    """A line of the log."""

    id: int
    act: str
    actor: int
    at: datetime
    about: int | None = None  # the line that this line undoes, answers or appeals against
    needs_two: bool = False  # of `clear`: on the podium, in a competition that requires two people
    until: datetime | None = None  # of `claim`
    code: str = ""  # of `label` and `unlabel`: its name; of `reject`: the reason code


@dataclass(frozen=True)
class Claim:
    by: int
    until: datetime


@dataclass(frozen=True)
class Standing:
    """The standing of a case. Ids are those of log lines; None: there is no line of this kind."""

    state: str
    since: datetime
    needs_two: bool = False
    cleared_by: tuple[int, ...] = ()
    question: int | None = None  # waits for its answer
    rejection: int | None = None  # still stands; None while rejected: by itself
    appeal: int | None = None  # against this rejection, answered or not
    last: int | None = None  # the line that an undo would take back
    last_by: int | None = None
    claim: Claim | None = None
    labels: frozenset[str] = frozenset()

    @property
    def is_decided(self) -> bool:
        return self.state in (CLEARED, REJECTED)

    @property
    def is_by_itself(self) -> bool:
        """Whether the verdict rejected it, not a person."""
        return self.state in (REJECTED, APPEALED) and self.rejection is None

    def claim_at(self, moment: datetime) -> Claim | None:
        return self.claim if self.claim is not None and moment < self.claim.until else None


def derive(
    rows: Iterable[Row], *, opened_at: datetime, by_itself: bool = False, doubted_at: datetime | None = None
) -> Standing:
    """Derive a case's standing from its log.

    `by_itself`: the verdict rejected it, no rule held it. `doubted_at`: time of a finding that earlier reviewers could
    not know, so that the result must be cleared again.
    """
    ordered = sorted(rows, key=lambda row: row.id)
    standing = Standing(REJECTED if by_itself else WAITING, opened_at)
    if ordered and ordered[0].act == HOLD_ALONG and doubted_at is None:
        standing = Standing(NOT_HELD, opened_at)  # only hold_along opened it
    for row in standing_rows(ordered):
        if row.act == CLEAR and doubted_at is not None and row.at <= doubted_at:
            standing = replace(standing, since=doubted_at)
        else:
            before, standing = standing, _moved(standing, row)
            if row.act in UNDOABLE:
                standing = replace(standing, last=row.id, last_by=row.actor)
            if row.act in ENDS_CLAIM:
                standing = replace(standing, claim=None)
            if standing.state != before.state:
                standing = replace(standing, since=row.at)
    return standing


def standing_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the lines that count: without undone lines, lines about them, and the undoing itself."""
    ordered = sorted(rows, key=lambda row: row.id)
    gone = {row.about for row in ordered if row.act == UNDO}
    kept: list[Row] = []
    for row in ordered:
        if row.act == UNDO or row.id in gone or row.about in gone:
            gone.add(row.id)
        else:
            kept.append(row)
    return kept


def _moved(before: Standing, row: Row) -> Standing:
    if before.state == NOT_HELD and row.act in (ASK, ANSWER):
        return before  # the question dates from the time when it was held
    match row.act:
        case "hold" | "hold_along" if before.state in STANDS:
            return replace(before, state=WAITING, cleared_by=(), needs_two=False)
        case "claim" if row.until is not None:
            return replace(before, claim=Claim(row.actor, row.until))
        case "label":
            return replace(before, labels=before.labels | {row.code})
        case "unlabel":
            return replace(before, labels=before.labels - {row.code})
        case "ask":
            return replace(before, state=ASKED, question=row.id)
        case "answer":
            return replace(before, state=HALF_CLEARED if before.cleared_by else WAITING, question=None)
        case "clear":
            needs_two = before.needs_two or row.needs_two  # two different people, if any clearance required two
            cleared_by = tuple(dict.fromkeys((*before.cleared_by, row.actor)))
            enough = len(cleared_by) >= (2 if needs_two else 1)
            state = CLEARED if enough else NOT_HELD if before.state == NOT_HELD else HALF_CLEARED
            return replace(before, state=state, needs_two=needs_two, cleared_by=cleared_by, question=None)
        case "reject":
            return replace(before, state=REJECTED, rejection=row.id, appeal=None, question=None)
        case "appeal":
            return replace(before, state=APPEALED, appeal=row.id)
        case "uphold":
            return replace(before, state=REJECTED)
        case "overturn" | "grant":
            return replace(before, state=WAITING, rejection=None, appeal=None, cleared_by=(), needs_two=False)
    return before


def problem(standing: Standing, act: str, *, actor: int, at: datetime) -> str:
    """Return why this act is not possible now; "": it is."""
    if act in FROM and standing.state not in FROM[act]:
        if standing.is_decided and act in (CLEAR, REJECT, ASK, CLAIM):
            by = " by itself; overturn that first" if standing.is_by_itself else " already; undo that first"
            return f"is {standing.state}{by}"
        return f"is {standing.state.replace('_', ' ')}, so there is nothing to {act}"
    if act == OVERTURN and not standing.is_by_itself:
        return "was rejected by a person; undo that decision instead"
    if act == APPEAL and standing.appeal is not None:
        return "was appealed already; there is one appeal a decision"
    if act == CLEAR and actor in standing.cleared_by:
        return "was cleared by you already; another person must clear it too"
    if act == UNDO and standing.last is None:
        return "has no decision that could be undone"
    claim = standing.claim_at(at)
    if act in UNDOABLE and claim is not None and claim.by != actor:
        return "is claimed by another reviewer; take it over first, with a reason"
    if act == RELEASE and (claim is None or claim.by != actor):
        return "is not claimed by you"
    return ""
