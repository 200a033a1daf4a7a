"""The code that the submit page opens with: an own submission, starter code, the draft, or the last sent code."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import HttpRequest
from django.utils import timezone

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.judging.models import Result
from leaderboard.standings.read.code import readable_among
from leaderboard.submissions.models import Draft, Submission
from leaderboard.submissions.permissions import code_for
from leaderboard.submissions.workspace import draft_of
from leaderboard.web.boards.cards import Card
from leaderboard.web.submissions import starter_code, view
from leaderboard.web.submissions.syntax import marked_lines

SENT, FROM, REMIX, STARTER, DRAFT, EMPTY = "sent", "from", "remix", "starter", "draft", ""  # the kinds of a prefill
LONGEST_KEY: Final = 18  # digits of a submission's number


@dataclass(frozen=True)
class Prefill:
    """`draft` exists beside another kind of code, too: typing then replaces it."""

    kind: str = EMPTY
    code: str = ""
    filename: str = ""
    mode: str = ""
    hardware: str = ""
    licence: str = ""
    title: str = ""  # of the starter
    sent: Submission | None = None  # whose code it is, or the last that was sent
    remixed_from: int | None = None
    draft: Draft | None = None
    marks: list[tuple[int, str]] = field(default_factory=list)

    @property
    def marks_json(self) -> str:
        return json.dumps(self.marks)


def prefill(request: HttpRequest, user: User, card: Card, starters: dict[str, list[starter_code.Tab]]) -> Prefill:
    """Choose the code.

    `?from=` names a submission to this board by this person or team, `?remix=` code that they may read, `?start=` a
    language.
    """
    boards = [place.board.pk for place in card.places]
    sent = Submission.objects.select_related("board").filter(owner__in=logins_of(user), board__in=boards)
    draft, last = draft_of(user, card.slug), sent.order_by("-created_at", "-pk").first()
    if (named := _named(request.GET.get("from", ""), user, card)) is not None:
        return _of(named, user, FROM, draft)
    if (origin := _original(number_of(request.GET.get("remix", "")), user)) is not None:
        hardware, licence = origin.board.hardware, origin.licence
        return Prefill(
            REMIX, origin.source, origin.filename, "", hardware, licence, draft=draft, remixed_from=origin.pk
        )
    if language := request.GET.get("start", ""):
        here = starters.get(request.GET.get("hardware", ""), [])
        tabs = [*here, *(tab for found in starters.values() for tab in found)]
        tab = next((tab for tab in tabs if tab.language == language), tabs[0] if tabs else None)
        if tab is not None:
            return Prefill(STARTER, tab.text, title=tab.title, draft=draft, sent=last)
    if draft is not None:
        chosen: dict[str, Any] = {
            name: getattr(draft, name) for name in ("filename", "mode", "hardware", "remixed_from")
        }
        return Prefill(DRAFT, draft.source, **chosen, draft=draft, sent=last)
    return _of(last, user, SENT, None) if last is not None else Prefill()


def _of(submission: Submission, user: User, kind: str, draft: Draft | None) -> Prefill:
    code, _ = code_for(user, submission)
    if code is None:
        return Prefill(draft=draft)
    verdict = Result.objects.defer("inline").filter(attempt__submission=submission, attempt__is_current=True).first()
    return Prefill(
        kind,
        code,
        submission.filename,
        submission.mode,
        submission.board.hardware,
        submission.licence,
        sent=submission,
        remixed_from=submission.remixed_from_id,
        draft=draft,
        marks=marked_lines(verdict.message, submission.filename) if verdict else [],
    )


def _named(text: str, user: User, card: Card) -> Submission | None:
    """Return the named submission of this person or team to this board; None: show the rest, as for a missing name."""
    own = view.own_of(user).filter(pk=number_of(text) or 0, board__slug=card.slug)
    return own.select_related("board").first()


def _original(pk: int | None, user: User) -> Submission | None:
    if pk is None or not readable_among([pk], user, timezone.now()):
        return None
    return Submission.objects.select_related("board").get(pk=pk)


def number_of(text: str) -> int | None:
    """Return a submission's number, or None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_KEY else None
