"""Published code: whether it is public, which code a person may remix or build on, and the origins that a viewer sees.

A submission keeps the number of the submission that it is a remix of, and those of its parents. A viewer learns of one
only if they see both: the board's shown entry of the original, or an original of their own. The sender of a submission
always sees the numbers.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import is_code_public
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.errors import UserError
from leaderboard.standings.models import Entry
from leaderboard.standings.read.table import is_shown
from leaderboard.submissions.models import Lineage, Parent, Submission
from leaderboard.submissions.permissions import is_own

PARTS: Final = ("board__competition", "entrant", "submission__code_release", "submission__takedown")
MOST_REMIXES: Final = 100  # newest, of a submission
LINEAGE: Final = ("idea", "model", "prompt_sha256", "sampling", "cost_usd", "strategy", "run")


@dataclass(frozen=True)
class Origin:
    """The submission that another is a remix of, as a viewer sees it."""

    pk: int
    name: str = ""  # of its entrant; "": not for this viewer
    url: str = ""


def is_public(entry: Entry, now: datetime) -> bool:
    """Return whether everybody who sees the board may read the code of this entry, which comes with its PARTS."""
    board, submission = entry.board, entry.submission
    return (
        not hasattr(submission, "takedown")
        and is_shown(board, entry.submitted_at, now)
        and is_code_public(
            board.competition.schedule,
            board.deadline,
            entry.submitted_at,
            is_released=hasattr(submission, "code_release"),
            now=now,
        )
    )


def readable_among(keys: Collection[int], viewer: Viewer, now: datetime) -> set[int]:
    """Return the submissions whose code is public, or the viewer's, their agents' or teams'. Two queries at most."""
    if not keys:
        return set()
    entries = Entry.objects.filter(submission__in=keys, board__in=boards_seen_by(viewer)).select_related(*PARTS)
    found = {entry.submission_id for entry in entries.defer("submission__source") if is_public(entry, now)}
    if isinstance(viewer, User):
        found |= set(Submission.objects.filter(is_own(viewer), pk__in=keys, takedown=None).values_list("pk", flat=True))
    return found


def origin_for(user: User, pk: int, now: datetime) -> Submission:
    """Return the submission that this person may send a remix of: its code is readable, or they remixed it before.

    Raises UserError, with the same words for an absent and a private submission.
    """
    remixed = Submission.objects.filter(owner__in=logins_of(user), remixed_from=pk)
    found = Submission.objects.filter(pk=pk).first()
    if found is None or not (readable_among([pk], user, now) or remixed.exists()):
        text = f"there is no code of a submission {pk} that you may read"
        way_out = "take the number from an entry's page, or send the code as no remix"
        raise UserError("remixed_from", pk, f"{text}; {way_out}")
    return found


def check_parents(keys: Iterable[int], readable: Collection[int]) -> None:
    """Raise UserError unless all of these are in `readable`, with the same words for absent and private ones."""
    if absent := next((pk for pk in keys if pk not in readable), None):
        text = f"there is no code of a submission {absent} that you may read; name submissions of yours, or entries"
        raise UserError("lineage.parents", absent, text)


def origins_seen(keys: Collection[int], viewer: Viewer, now: datetime) -> dict[int, Origin]:
    """Map those submissions that this viewer sees, on a board or as their own, to name and page. Two queries."""
    entries = Entry.objects.filter(submission__in=keys, board__in=boards_seen_by(viewer))
    found = {
        entry.submission_id: Origin(entry.submission_id, entry.entrant.shown_name, f"/entries/{entry.submission_id}")
        for entry in entries.select_related("board__competition", "entrant")
        if is_shown(entry.board, entry.submitted_at, now)
    }
    if isinstance(viewer, User) and (rest := [pk for pk in keys if pk not in found]):
        own = Submission.objects.filter(is_own(viewer), pk__in=rest).select_related("entrant").defer("source")
        found |= {one.pk: Origin(one.pk, one.entrant.shown_name, f"/submissions/{one.pk}") for one in own}
    return found


def origin_seen(submission: Submission, viewer: Viewer, now: datetime) -> Origin | None:
    """Return the original of a remix; None: it is no remix, or not for this viewer. Three queries at most."""
    pk = submission.remixed_from_id
    if pk is None:
        return None
    return origins_seen([pk], viewer, now).get(pk) or (Origin(pk) if _sent(submission, viewer) else None)


def _sent(submission: Submission, viewer: Viewer) -> bool:
    return isinstance(viewer, User) and submission.owner.account_id == viewer.account_id


def lineage_seen(submission: Submission, viewer: Viewer, now: datetime) -> dict[str, Any] | None:
    """Return the fields of a submission's lineage, for a viewer who may read its code; None: its sender named none.

    Of the parents it has those that the viewer sees, each as an Origin.
    """
    lineage = Lineage.objects.filter(pk=submission.pk).first()
    if lineage is None:
        return None
    keys = list(Parent.objects.filter(child=submission.pk).values_list("parent", flat=True))
    seen, is_sender = origins_seen(keys, viewer, now), _sent(submission, viewer)
    parents = [seen.get(pk) or Origin(pk) for pk in keys if pk in seen or is_sender]
    return {name: getattr(lineage, name) for name in LINEAGE} | {"parents": parents}


def remixes_seen(pk: int, viewer: Viewer, now: datetime) -> list[Entry]:
    """Return the shown entries that are remixes of this submission, newest first."""
    entries = Entry.objects.filter(submission__remixed_from=pk, board__in=boards_seen_by(viewer))
    newest = entries.select_related("board__competition", "entrant").order_by("-submission_id")[:MOST_REMIXES]
    return [entry for entry in newest if is_shown(entry.board, entry.submitted_at, now)]
