"""A submission for display: one value for page and API, gathered from the apps below, and its visibility."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import Viewer
from leaderboard.entrants.models import Membership
from leaderboard.judging.models import CANCELLED, FINISHED, QUEUED
from leaderboard.judging.queue import Place, place_of
from leaderboard.standings.read.status import SubmissionStatus, status_of, statuses_of
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import code_for
from leaderboard.wording.outcomes import Verdict, verdict

NEWEST_FIRST: Final = ("-created_at", "-pk")  # as in the index of an owner's submissions
PARTS: Final = ("owner", "entrant", "board__problem", "board__competition")


def visible_to(user: User) -> QuerySet[Submission]:
    """Return the submissions that this person may see; strangers get a 404.

    Staff see all submissions. A person with a role in a competition sees all submissions to it. Everybody sees their
    own submissions and those of the teams that they are in now, whoever sent them and whenever.
    """
    every = Submission.objects.select_related(*PARTS)
    if user.is_staff or user.is_superuser:
        return every
    organised = Role.objects.filter(user=user).values("competition")
    return every.filter(_is_own(user) | Q(board__competition__in=organised))


def own_of(user: User) -> QuerySet[Submission]:
    """Return the submissions of this person and of the teams that they are in now."""
    return Submission.objects.filter(_is_own(user))


def _is_own(user: User) -> Q:
    mine = Membership.objects.filter(user__in=logins_of(user), left_at=None).values("entrant")
    return Q(owner__in=logins_of(user)) | Q(entrant__in=mine)


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
        return "warn" if self.state.review or self.state.unranked else self.verdict.tone

    @property
    def chip_text(self) -> str:
        unranked = "not ranked" if self.state.unranked else ""
        return (self.state.review or unranked or self.state.outcome or self.state.status).replace("_", " ")


class Opened(Shown):
    """A submission with its code and logs, unless the code is taken down and not for this viewer."""

    def __init__(self, submission: Submission, viewer: Viewer) -> None:
        self.code, self.taken_down = code_for(viewer, submission)
        super().__init__(submission, status_of(submission, now=timezone.now(), covered=self.code is None))

    @cached_property
    def queue(self) -> Place | None:
        """Its place while it waits for a runner."""
        return place_of(self.submission, now=timezone.now()) if self.state.status == QUEUED else None


def shown_list(submissions: Iterable[Submission]) -> list[Shown]:
    found = list(submissions)
    statuses = statuses_of(found)
    return [Shown(submission, statuses[submission.pk]) for submission in found]
