"""A submission for display: one value for page and API, gathered from the apps below, and its visibility."""

from base64 import b64decode
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import Viewer
from leaderboard.judging.models import CANCELLED, FINISHED, QUEUED
from leaderboard.judging.queue import Place, place_of
from leaderboard.standings.read.code import lineage_seen, origin_seen
from leaderboard.standings.read.status import SubmissionStatus, status_of, statuses_of
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import code_for, is_own
from leaderboard.wording.outcomes import Verdict, verdict
from runner.evidence import profiled

NEWEST_FIRST: Final = ("-created_at", "-pk")  # as in the index of an owner's submissions
PARTS: Final = ("owner", "entrant", "board__problem", "board__competition")


def visible_to(user: User) -> QuerySet[Submission]:
    """Return the submissions that this person may see; strangers get a 404.

    Staff see all submissions. A person with a role in a competition sees all submissions to it. Everybody sees
    their own submissions, their agents', and those of the teams that they are in now, whoever sent them and whenever.
    """
    every = Submission.objects.select_related(*PARTS)
    if user.is_staff or user.is_superuser:
        return every
    organised = Role.objects.filter(user=user).values("competition")
    return every.filter(is_own(user) | Q(board__competition__in=organised))


def own_of(user: User) -> QuerySet[Submission]:
    """Return the submissions of this person, their agents and the teams that they are in now."""
    return Submission.objects.filter(is_own(user))


def sent_by(user: User) -> QuerySet[Submission]:
    """Return this person's own submissions, by any of their logins.

    An equality lets the index of owner and time order them. For several logins PostgreSQL sorts all of them.
    """
    every = Submission.objects.select_related(*PARTS)
    logins = [login["pk"] for login in logins_of(user)]
    return every.filter(owner=logins[0]) if len(logins) == 1 else every.filter(owner__in=logins)


class Shown:
    """A submission without its code, as templates and serializers read it, with all attributes of its status."""

    def __init__(self, submission: Submission, status: SubmissionStatus) -> None:
        self.submission = submission
        self.state = status
        self.id = submission.pk
        self.board = submission.board.slug
        self.title = submission.board.title
        self.hardware = submission.board.hardware
        self.mode = submission.mode
        self.note = ""  # of the viewer, in their own list
        self.filename = submission.filename
        self.owner = submission.owner.get_username()
        self.team = submission.entrant.name if submission.entrant.is_team else ""
        self.created_at = submission.created_at
        self.url = f"/submissions/{submission.pk}"
        self.events = f"/api/v1/submissions/{submission.pk}/events"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    @property
    def runs(self) -> int:
        """The number of runs in the value that ranks; 0 if this submission does not rank."""
        return len(self.state.standing.value.submissions) if self.state.standing else 0

    @property
    def is_finished(self) -> bool:
        return self.state.status in FINISHED

    @property
    def passed(self) -> bool:
        return self.state.outcome == "passed"

    @property
    def verdict(self) -> Verdict | None:
        if not self.is_finished:
            return None
        return verdict(CANCELLED if self.state.status == CANCELLED else self.state.outcome, self.state.reason)

    @property
    def chip(self) -> str:
        """The colour of the status in a list."""
        if self.verdict is None:
            return "" if self.state.status == "queued" else "running"
        return "warn" if self.standing_said else self.verdict.tone

    @property
    def chip_text(self) -> str:
        return self.standing_said or (self.state.outcome or self.state.status).replace("_", " ")

    @property
    def standing_said(self) -> str:
        """Why a passing result is not on its board, in a word or two; "": it may be there."""
        if self.state.review:
            return str(self.state.review).replace("_", " ")
        return "withdrawn" if self.state.withdrawn else "not ranked" if self.state.unranked else ""


class Opened(Shown):
    """A submission with its code and logs, unless the code is taken down and not for this viewer."""

    def __init__(self, submission: Submission, viewer: Viewer) -> None:
        now = timezone.now()
        self.code, self.taken_down = code_for(viewer, submission)
        self.origin = origin_seen(submission, viewer, now)
        self.lineage = None if self.code is None else lineage_seen(submission, viewer, now)
        super().__init__(submission, status_of(submission, now=now, covered=self.code is None))

    @property
    def files(self) -> list[dict[str, Any]]:
        """Return the files of its profile: name, meaning, size and address."""
        names = self.state.profile.files if self.state.profile else {}
        return [
            {"name": name, "about": about, "bytes": len(names[name]) * 3 // 4, "url": f"/api/v1{self.url}/files/{name}"}
            for name, about in profiled.FILES.items()
            if name in names
        ]

    def file(self, name: str) -> bytes | None:
        """Return a file of its profile, as the sandbox wrote it."""
        text = self.state.profile.files.get(name) if self.state.profile else None
        return None if text is None else b64decode(text)

    @cached_property
    def queue(self) -> Place | None:
        """Its place while it waits for a runner."""
        return place_of(self.submission, now=timezone.now()) if self.state.status == QUEUED else None


def shown_list(submissions: Iterable[Submission]) -> list[Shown]:
    found = list(submissions)
    statuses = statuses_of(found)
    return [Shown(submission, statuses[submission.pk]) for submission in found]
