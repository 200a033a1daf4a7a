"""Acts of a worklog: the human side saves texts of its sections and hands the worklog in.

A save names the revision that it began from. If two members write at once, the second save is refused and shows both
texts. A hand-in keeps texts and facts as they are at that moment.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import Q

from leaderboard.accounts.models import User
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError
from leaderboard.matches.document import MOST_DIFFS, TITLES, document_of
from leaderboard.matches.models import MACHINE, MOST_SECTION_CHARS, SECTIONS, HandIn, Match, SectionText
from leaderboard.matches.permissions import check_human
from leaderboard.matches.read import Report, report_on
from leaderboard.submissions.diff import MOST_DIFF_CHARS
from leaderboard.submissions.models import Submission

MOST_HAND_INS: Final = 100  # of a match


class Conflict(UserError):
    """The section was saved meanwhile. `stored` has that text."""

    def __init__(self, stored: SectionText, began_from: int) -> None:
        text = (
            f"{stored.saved_by.get_username()} saved revision {stored.revision} meanwhile; read it, merge both texts, "
            f"and save with revision {stored.revision}"
        )
        super().__init__("revision", began_from, text, status=409)
        self.stored = stored


@transaction.atomic
def save_section(*, match: Match, section: str, text: str, revision: int, author: User, now: datetime) -> SectionText:
    """Save the text of a section. `revision`: the one that the author began from, 0 for the first.

    The text that is stored already counts as saved. Raises Conflict if another revision is stored.
    """
    if section not in SECTIONS:
        raise UserError("section", section, f"expected one of {', '.join(SECTIONS)}", status=404)
    text = _checked(text)
    check_human(author, match)
    Match.objects.select_for_update().get(pk=match.pk)  # of two first saves, the second waits
    stored = SectionText.objects.filter(match=match, section=section).select_related("saved_by").first()
    if stored is None:
        if revision != 0:
            raise UserError("revision", revision, "nothing is saved in this section yet; send 0", status=409)
        stored = SectionText(match=match, section=section, revision=0)
    elif stored.text == text:
        return stored
    elif stored.revision != revision:
        raise Conflict(stored, revision)
    stored.text, stored.saved_by, stored.saved_at = text, author.account, now
    stored.revision += 1
    stored.save()
    return stored


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").rstrip()
    if "\x00" in text:
        raise UserError("text", None, "NUL character; it is not saved: remove it")
    if len(text) > MOST_SECTION_CHARS:
        told = f"{len(text):,} characters; a section has at most {MOST_SECTION_CHARS:,}. It is not saved: shorten it"
        raise UserError("text", None, told, status=413)
    return text


@transaction.atomic
def hand_in(*, match: Match, author: User, now: datetime) -> HandIn:
    """Keep the worklog as it is now. The last hand-in counts.

    It is handed in once until its content or the members of its team change: the members at a hand-in are its authors.
    """
    check_human(author, match)
    match = Match.objects.select_for_update(of=("self",)).select_related("board", "human").get(pk=match.pk)
    if match.graded_from is not None:
        text = f"its grading has begun {match.graded_from:%Y-%m-%d %H:%M} UTC, so it takes no hand-in; ask your teacher"
        raise UserError("match", match.pk, text, status=409)
    document = worklog_of(match, now)
    if len(document["missing"]) == len(SECTIONS):
        raise UserError("texts", "", f"every section is empty; write at least “{TITLES['plan']}” first", status=409)
    digest = digest_of(document)
    last = match.hand_ins.first()
    if last is not None and last.digest == digest:
        moved = Q(joined_at__gt=last.at) | Q(left_at__gt=last.at)
        if not Membership.objects.filter(moved, entrant=match.human, entrant__is_team=True).exists():
            return last
    if match.hand_ins.count() >= MOST_HAND_INS:
        text = f"this worklog was handed in {MOST_HAND_INS} times, which is the most; the last one counts"
        raise UserError("match", match.pk, text, status=409)
    return HandIn.objects.create(match=match, by=author.account, at=now, document=document, digest=digest)


def digest_of(document: dict[str, Any]) -> str:
    """Return the digest of a document, over its JSON with sorted keys and without spaces."""
    packed = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(packed.encode('utf-8', 'surrogatepass')).hexdigest()}"


def texts_of(match: Match) -> dict[str, SectionText]:
    """Return the saved texts by section."""
    return {one.section: one for one in SectionText.objects.filter(match=match).select_related("saved_by")}


def public_texts(match: Match) -> HandIn | None:
    """Return the hand-in whose texts everybody reads who reads the match; None: they are private."""
    return match.hand_ins.first() if match.shows_texts else None


def worklog_of(match: Match, now: datetime) -> dict[str, Any]:
    """Return the worklog as it is now."""
    report = report_on(match, now)
    texts = {name: one.text for name, one in texts_of(match).items()}
    return document_of(report, texts, _codes(report), _first_run_at(match))


def _first_run_at(match: Match) -> datetime | None:
    """Return the time of the human side's first submission on the board, of any mode, without kernels of models."""
    sent = Submission.objects.filter(entrant=match.human_id, board=match.board_id)
    by_hand = sent.exclude(version__side=MACHINE).exclude(lineage__model__gt="")
    return by_hand.order_by("pk").values_list("created_at", flat=True).first()


def _codes(report: Report) -> dict[int, str]:
    """Return the readable sources that the diffs compare."""
    compared: Sequence[Any] = report.human.versions[-MOST_DIFFS - 1 :]
    sources = Submission.objects.filter(
        pk__in=[one.version.submission_id for one in compared], takedown=None, size_bytes__lte=MOST_DIFF_CHARS
    )
    return dict(sources.values_list("pk", "source"))
