"""Competitions for their organisers over /api/v1, and the intake for administrators; with the scope `review`.

The acts are those of the pages. Further parts of a competition: rules.py, awards.py, problems.py, rejudging.py.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, Q
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS, check_staff
from leaderboard.accounts.tokens import digest_of
from leaderboard.competitions import access, authoring, checks, edit
from leaderboard.competitions.models import (
    DIVISIONS,
    SCORINGS,
    VISIBILITIES,
    Board,
    Competition,
    InviteCode,
    ProblemVersion,
    Role,
)
from leaderboard.competitions.permissions import check_role, competitions_of, versions_seen_by
from leaderboard.entrants import messages
from leaderboard.errors import UserError
from leaderboard.judging.models import DONE, EPOCH_CHARS, UNFINISHED, Attempt
from leaderboard.operations import maintenance
from leaderboard.standings.epochs import move_pin
from leaderboard.submissions.models import Submission
from leaderboard.web.api.base import AS_TABLE, Private, paged, parse
from leaderboard.web.api.serializers import Keyed, optional_text
from leaderboard.web.organise import analytics, exports
from leaderboard.web.organise.pages import changes_of, in_words, pending
from leaderboard.web.organise.state_pages import epochs_of, state_of
from runner.wire import MODES

SCOPE: Final = "review"
STOPPED: Final = "An administrator has stopped the submissions."
STOPPED_MINUTES: Final = 60  # announced; it lasts until the start
MAX_SHIFT_DAYS: Final = 4_000
ROWS: Final = {"type": "array", "items": {"type": "object", "additionalProperties": {}}}  # of an exported file
DAY: Final = timedelta(days=1)
CODE_CHARS: Final = 200
MAX_KEY: Final = 2**63 - 1


def start_intake(actor: User, now: datetime) -> None:
    if maintenance.current() is not None:
        maintenance.end(actor=actor, now=now)


def stop_intake(actor: User, now: datetime, **announced: Any) -> None:
    """Begin maintenance, in which people read and judging goes on. A running one keeps what is not announced anew."""
    if announced or maintenance.current() is None:
        sent: dict[str, Any] = {"sentence": STOPPED, "minutes": STOPPED_MINUTES} | announced
        maintenance.begin(**sent, actor=actor, now=now)


def count_work(since: datetime | None) -> dict[str, int]:
    """Return counts of submissions and runs, of all times for None."""
    sent, attempts = Submission.objects.order_by(), Attempt.objects.in_the_open().order_by()
    if since is not None:
        sent, attempts = sent.filter(created_at__gt=since), attempts.filter(created_at__gt=since)
    submissions = sent.aggregate(
        num_submissions=Count("pk"),
        num_users=Count("owner", distinct=True),
        num_unique_codes=Count("source_digest", distinct=True),
    )
    runs = attempts.aggregate(
        num_runs=Count("pk"),
        runs_passed=Count("pk", filter=Q(outcome="passed")),
        runs_failed=Count("pk", filter=Q(state=DONE) & ~Q(outcome="passed")),
        runs_unfinished=Count("pk", filter=Q(state__in=UNFINISHED)),
    )
    return submissions | runs


@transaction.atomic
def remove_boards(boards: list[Board], *, actor: User, reason: str, force: bool, now: datetime) -> tuple[int, int]:
    """Remove boards without submissions; return the numbers of removed and of closed boards.

    With `force`, boards with submissions are closed, because every submission stays.
    """
    removed = closed = 0
    for board in boards:
        if not (force and board.submissions.exists()):
            edit.remove_board(board=board, actor=actor, now=now)
            removed += 1
        elif board.closes_at is None or board.closes_at > now:
            edit.close_board(board=board, actor=actor, reason=reason, now=now)
            closed += 1
    return removed, closed


def revoke(text: str, *, among: Q, actor: User, reason: str, now: datetime) -> InviteCode:
    """Revoke an owner's code by its text, or by the beginning of it that the list shows. Raises UserError."""
    text = text.replace("\0", "?")
    mine = InviteCode.objects.filter(among, competition__in=competitions_of(actor, Role.OWNER), revoked_at=None)
    found = list(mine.select_related("competition").filter(Q(digest=digest_of(text)) | Q(prefix=text))[:2])
    if len(found) != 1:
        problem = "begins several codes; give the whole code" if found else "is no valid code of your competitions"
        raise UserError("code", text, problem, 409 if found else 404)
    access.revoke_code(code=found[0], actor=actor, reason=reason, now=now)
    return found[0]


class Intake(drf.Serializer[Any]):
    accepting = drf.BooleanField(help_text="Whether the site takes submissions.")


class StopRequest(drf.Serializer[Any]):
    sentence = drf.CharField(
        max_length=maintenance.MAX_SENTENCE_CHARS, required=False, help_text=f"For everybody. Default: “{STOPPED}”"
    )
    minutes = drf.IntegerField(
        min_value=1, max_value=maintenance.MAX_MINUTES, required=False, help_text="To the announced end. Default: 60."
    )


class Stats(drf.Serializer[Any]):
    num_submissions = drf.IntegerField()
    num_users = drf.IntegerField()
    num_unique_codes = drf.IntegerField(help_text="Different sources.")
    num_runs = drf.IntegerField()
    runs_passed = drf.IntegerField()
    runs_failed = drf.IntegerField()
    runs_unfinished = drf.IntegerField()


class StatsQuery(drf.Serializer[Any]):
    last_day = drf.BooleanField(default=False, help_text="Only of the last 24 hours.")


class InviteCodeLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    prefix = drf.CharField(help_text="Beginning of the code; the site keeps no more.")
    note = drf.CharField(allow_blank=True)
    opens_all = drf.BooleanField(help_text="False: only `boards`.")
    boards = drf.SerializerMethodField()
    used_by = drf.CharField(source="used_by.username", default=None, allow_null=True)
    created_at = drf.DateTimeField()

    def get_boards(self, code: InviteCode) -> list[str]:
        return sorted({board.slug for board in code.boards.all()})


class NewCodesRequest(drf.Serializer[Any]):
    count = drf.IntegerField(min_value=1, max_value=access.MAX_AT_ONCE)
    boards = drf.ListField(
        child=drf.CharField(max_length=64),
        default=list,
        max_length=access.MAX_BOARDS,
        help_text="Names of boards; empty: the whole competition.",
    )
    note = optional_text(200, "For the owners.")


class NewCodes(drf.Serializer[Any]):
    codes = drf.ListField(child=drf.CharField(), help_text="Shown only now.")


class RevokeRequest(drf.Serializer[Any]):
    code = drf.CharField(max_length=CODE_CHARS, help_text="The code, or its beginning from the list.")
    reason = optional_text(MAX_REASON_CHARS)


class Revoked(drf.Serializer[Any]):
    prefix = drf.CharField()
    was_used = drf.BooleanField()


class RemoveRequest(drf.Serializer[Any]):
    board = drf.CharField(max_length=64)
    force = drf.BooleanField(default=False, help_text="Close boards with submissions, which cannot be removed.")
    reason = optional_text(MAX_REASON_CHARS)


class DeleteProblemRequest(drf.Serializer[Any]):
    board = drf.CharField(max_length=64, source="name", help_text="Name of its boards in this competition.")
    slug = drf.CharField(max_length=64, help_text="The problem's own name, to confirm.")
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class RemovedBoards(drf.Serializer[Any]):
    removed = drf.IntegerField()
    closed = drf.IntegerField()


class Staff(Private):
    """Base of the views of administrators. `doing` completes “only an organiser of this site may”."""

    scope = SCOPE
    doing = "start, stop and count"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        check_staff(self.caller(request), self.doing)


class StartIntake(Staff):
    @extend_schema(operation_id="admin_start", request=None, responses=Intake)
    def post(self, request: Request) -> Response:
        """End the maintenance, so that the site takes submissions again. Administrators only."""
        start_intake(self.caller(request), timezone.now())
        return Response({"accepting": True})


class StopIntake(Staff):
    @extend_schema(operation_id="admin_stop", request=StopRequest, responses=Intake)
    def post(self, request: Request) -> Response:
        """Stop submissions and other changes, by maintenance. Judging goes on. Administrators only."""
        stop_intake(**self.by(request), **parse(StopRequest, request.data))
        return Response({"accepting": False})


class Counts(Staff):
    @extend_schema(operation_id="admin_stats", parameters=[StatsQuery], responses=Stats)
    def get(self, request: Request) -> Response:
        """Count submissions, people and runs. Administrators only."""
        last_day = parse(StatsQuery, request.query_params)["last_day"]
        return Response(Stats(count_work(timezone.now() - DAY if last_day else None)).data)


class Owners(Private):
    """Base of the views of a competition: every role reads, owners change. People without a role in it get a 404."""

    scope = SCOPE

    def competition(self, request: Request, slug: str, act: str = "", least: str = Role.OWNER) -> Competition:
        """Return the competition. `least`: the lowest role for `act`, if the call changes it; else a 403."""
        user = self.caller(request)
        found = get_object_or_404(competitions_of(user), slug=slug)
        if request.method not in SAFE_METHODS:
            check_role(user, found, least, act)
        return found


def boards_of(competition: Competition, slug: str) -> list[Board]:
    found = list(competition.boards.select_related("competition").filter(slug=slug.replace("\0", "?")))
    if not found:
        raise UserError("board", slug, f"there is none of this name in {competition}", 404)
    return found


class Settings(drf.Serializer[Any]):
    """The settings of a competition, by the names of edit.EDITABLE."""

    name = drf.CharField(max_length=checks.MAX_NAME_CHARS)
    description = drf.CharField(max_length=checks.MAX_TEXT_CHARS, allow_blank=True, help_text="Markdown.")
    rules = drf.CharField(max_length=checks.MAX_TEXT_CHARS, allow_blank=True, help_text="Markdown.")
    visibility = drf.ChoiceField(choices=VISIBILITIES)
    practice_at = drf.DateTimeField(allow_null=True)
    contest_at = drf.DateTimeField(allow_null=True)
    freeze_at = drf.DateTimeField(allow_null=True)
    deadline = drf.DateTimeField(allow_null=True)
    merge_deadline = drf.DateTimeField(allow_null=True)
    stays_open = drf.BooleanField()
    divisions = drf.ListField(child=drf.ChoiceField(choices=DIVISIONS), max_length=len(DIVISIONS))
    max_team_size = drf.IntegerField(min_value=1, max_value=checks.MAX_TEAM_SIZE)
    scoring = drf.ChoiceField(choices=SCORINGS)
    two_person_rule = drf.BooleanField()
    default_licence = drf.ChoiceField(choices=list(checks.LICENCES))


class SettingsRequest(Settings):
    """Any of the settings; the others stay."""

    reason = optional_text(MAX_REASON_CHARS, "Required for changes that affect competitors of a running contest.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in edit.EDITABLE:
            self.fields[name].required = False


class NewCompetition(SettingsRequest):
    slug = drf.CharField(max_length=checks.MAX_SLUG_CHARS, help_text="Address of the competition.")
    reason = None  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = True


class Organised(Settings):
    slug = drf.CharField()
    final_at = drf.DateTimeField(allow_null=True)


class OrganisedSummary(drf.Serializer[Any]):
    slug = drf.CharField()
    name = drf.CharField()
    visibility = drf.CharField()


class NewsRequest(drf.Serializer[Any]):
    title = drf.CharField(max_length=200)
    text = drf.CharField(max_length=access.MAX_TEXT_CHARS, allow_blank=True, default="", help_text="Markdown.")


class NewsLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    title = drf.CharField()
    text = drf.CharField(allow_blank=True)
    created_at = drf.DateTimeField()
    withdrawn_at = drf.DateTimeField(allow_null=True)


class WithdrawNews(drf.Serializer[Any]):
    id = drf.IntegerField(min_value=1, max_value=MAX_KEY)
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class RoleLine(drf.Serializer[Any]):
    username = drf.CharField(source="user.username")
    role = drf.CharField()
    created_at = drf.DateTimeField()


class RoleRequest(drf.Serializer[Any]):
    username = drf.CharField(max_length=150)
    role = drf.ChoiceField(choices=Role.ROLES)


class RevokeRole(drf.Serializer[Any]):
    username = drf.CharField(max_length=150)


class OrganisedBoard(drf.Serializer[Any]):
    slug = drf.CharField()
    hardware = drf.CharField()
    problem = drf.CharField(source="problem.slug")
    digest = drf.CharField(source="version.digest")
    deadline = drf.DateTimeField(allow_null=True, help_text="The board's own.")
    tags = drf.ListField(child=drf.CharField())


class NewBoard(drf.Serializer[Any]):
    digest = drf.CharField(max_length=80, help_text="Digest of the problem's version.")
    hardware = drf.CharField(max_length=64)
    slug = optional_text(checks.MAX_SLUG_CHARS, "Default: the problem's name.")
    deadline = drf.DateTimeField(allow_null=True, default=None)
    tags = drf.ListField(child=drf.CharField(max_length=32), default=list, max_length=checks.MAX_TAGS)


class BoardName(drf.Serializer[Any]):
    board = drf.CharField(max_length=64)
    hardware = drf.CharField(max_length=64)


class CloseRequest(BoardName):
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class BoardRequest(BoardName):
    """Any of the settings; the others stay."""

    digest = drf.CharField(max_length=80, required=False, help_text="Of another version, before the first submission.")
    deadline = drf.DateTimeField(allow_null=True, required=False)
    tags = drf.ListField(child=drf.CharField(max_length=32), required=False, max_length=checks.MAX_TAGS)
    reason = optional_text(MAX_REASON_CHARS, "Required to move a deadline that has passed, or into the past.")


class CloneRequest(drf.Serializer[Any]):
    slug = drf.CharField(max_length=checks.MAX_SLUG_CHARS, help_text="Address of the clone.")
    name = drf.CharField(max_length=checks.MAX_NAME_CHARS)
    shift_days = drf.IntegerField(
        min_value=0,
        max_value=MAX_SHIFT_DAYS,
        allow_null=True,
        default=None,
        help_text="Days by which all times move; null: the clone has no times.",
    )


class DeleteRequest(drf.Serializer[Any]):
    slug = drf.CharField(max_length=checks.MAX_SLUG_CHARS, help_text="Address of the competition, to confirm.")
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class MessageRequest(drf.Serializer[Any]):
    group = drf.ChoiceField(
        choices=messages.GROUPS, default=messages.ALL, help_text="`silent`: entrants without a submission."
    )
    subject = drf.CharField(max_length=messages.MAX_SUBJECT_CHARS)
    text = drf.CharField(max_length=messages.MAX_TEXT_CHARS, help_text="Plain text.")


class SentMessage(drf.Serializer[Any]):
    recipients = drf.IntegerField()


class ChangeLine(drf.Serializer[Any]):
    at = drf.DateTimeField()
    act = drf.CharField()
    who = drf.CharField()
    reason = drf.CharField(allow_blank=True)
    changes = drf.ListField(
        child=drf.ListField(child=drf.CharField()), help_text="Lists of a field, its value before and its value after."
    )


class AnalyticsDay(drf.Serializer[Any]):
    date = drf.DateField()
    submissions = drf.SerializerMethodField(help_text="Number of submissions by mode.")

    @extend_schema_field(drf.DictField(child=drf.IntegerField()))
    def get_submissions(self, day: analytics.Day) -> dict[str, int]:
        return dict(zip(MODES, day.counts, strict=True))


class AnalyticsStep(drf.Serializer[Any]):
    step = drf.CharField()
    count = drf.IntegerField(help_text="Entrants.")


class AnalyticsFailure(drf.Serializer[Any]):
    verdict = drf.CharField(source="title")
    reason = drf.CharField(allow_blank=True)
    count = drf.IntegerField()


class AnalyticsFigures(drf.Serializer[Any]):
    days = AnalyticsDay(many=True, help_text="Last 30 days, oldest first.")
    funnel = AnalyticsStep(many=True, help_text="From entering to a line on a board.")
    failures = AnalyticsFailure(many=True, help_text="Of the last 30 days, most frequent first.")


class QueueState(drf.Serializer[Any]):
    hardware = drf.CharField()
    queued = drf.IntegerField()
    running = drf.IntegerField()
    own_queued = drf.IntegerField(help_text="Of this competition.")
    own_running = drf.IntegerField()
    runners = drf.IntegerField(help_text="Runners that can take work now.")
    oldest = drf.CharField(help_text="Wait of the oldest, in words.")


class HostState(drf.Serializer[Any]):
    name = drf.CharField()
    hardware = drf.CharField()
    state = drf.CharField()
    why = drf.CharField(allow_blank=True)
    epoch = drf.CharField(allow_blank=True)
    doing = drf.CharField()
    submission = drf.IntegerField(allow_null=True, help_text="Of this competition alone.")


class ContestEpoch(drf.Serializer[Any]):
    hardware = drf.CharField()
    epoch = drf.CharField(source="epoch.name", default="", help_text="Timing epoch that the contest ranks.")
    pinned_at = drf.DateTimeField(source="pin.pinned_at", default=None, allow_null=True)
    others = drf.SerializerMethodField(help_text="Epochs that the contest may move to.")

    def get_others(self, row: dict[str, Any]) -> list[str]:
        return [epoch.name for epoch in row["others"]]


class PendingWork(drf.Serializer[Any]):
    what = drf.CharField(source="text")
    count = drf.IntegerField()
    urgent = drf.BooleanField(help_text="An organiser has to act.")


class CompetitionState(drf.Serializer[Any]):
    at = drf.DateTimeField()
    waiting = PendingWork(many=True)
    queues = QueueState(many=True)
    runners = HostState(many=True)
    epochs = ContestEpoch(many=True)


class PinRequest(drf.Serializer[Any]):
    hardware = drf.CharField(max_length=64)
    epoch = drf.CharField(max_length=EPOCH_CHARS)
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class OrganisedCompetitions(Private):
    scope = SCOPE

    @extend_schema(operation_id="organised", parameters=[Keyed], responses=OrganisedSummary(many=True))
    def get(self, request: Request) -> Response:
        """List the competitions in which the caller has a role."""
        found = competitions_of(self.caller(request))
        return paged(request, found, parse(Keyed, request.query_params), OrganisedSummary, ["pk"])

    @extend_schema(operation_id="create_competition", request=NewCompetition, responses={201: Organised})
    def post(self, request: Request) -> Response:
        """Create a competition, which only its organisers see until it is published. Administrators only."""
        check_staff(self.caller(request), "create a competition")
        sent = parse(NewCompetition, request.data)
        slug = sent.pop("slug")
        made = edit.create_competition(actor=self.caller(request), slug=slug, settings=sent, now=timezone.now())
        return Response(Organised(made).data, status=201)


class OrganisedCompetition(Owners):
    @extend_schema(operation_id="competition_settings", responses=Organised)
    def get(self, request: Request, slug: str) -> Response:
        """Return the settings of a competition."""
        return Response(Organised(self.competition(request, slug)).data)

    @extend_schema(operation_id="edit_competition", request=SettingsRequest, responses=Organised)
    def post(self, request: Request, slug: str) -> Response:
        """Change some settings of a competition. Owners only."""
        competition = self.competition(request, slug, "edit it")
        sent = parse(SettingsRequest, request.data)
        told: dict[str, Any] = {"reason": sent.pop("reason"), "actor": self.caller(request), "now": timezone.now()}
        return Response(Organised(edit.edit_competition(competition=competition, settings=sent, **told)).data)


class CloneCompetition(Owners):
    @extend_schema(operation_id="clone_competition", request=CloneRequest, responses={201: Organised})
    def post(self, request: Request, slug: str) -> Response:
        """Clone a competition with its boards, tracks and rules, closed and without people. Owners only."""
        source, sent = self.competition(request, slug, "clone it"), parse(CloneRequest, request.data)
        days = sent.pop("shift_days")
        shift = None if days is None else timedelta(days=days)
        made = edit.clone_competition(source=source, shift=shift, **self.by(request), **sent)
        return Response(Organised(made).data, status=201)


class DeleteCompetition(Owners):
    @extend_schema(operation_id="delete_competition", request=DeleteRequest, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Delete a competition that nobody has entered. Its problems and the record of changes stay. Owners only."""
        competition = self.competition(request, slug, "delete it")
        edit.delete_competition(competition=competition, **self.by(request), **parse(DeleteRequest, request.data))
        return Response(status=204)


class MessageEntrants(Owners):
    @extend_schema(operation_id="message_entrants", request=MessageRequest, responses=SentMessage)
    def post(self, request: Request, slug: str) -> Response:
        """Write a mail to the entrants, at most three times a day. Owners only."""
        competition = self.competition(request, slug, "write to its entrants")
        sent = parse(MessageRequest, request.data)
        number = messages.message_entrants(competition=competition, **self.by(request), **sent)
        return Response({"recipients": number})


class ChangesOf(Owners):
    @extend_schema(operation_id="competition_changes", parameters=[Keyed], responses=ChangeLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the changes of a competition and its parts, newest first."""
        found = changes_of(self.competition(request, slug))
        return paged(request, found, parse(Keyed, request.query_params), ChangeLine, ["-pk"], prepare=in_words)


class AnalyticsOf(Owners):
    @extend_schema(operation_id="competition_analytics", responses=AnalyticsFigures)
    def get(self, request: Request, slug: str) -> Response:
        """Return figures of a competition: submissions a day, the steps that entrants reached, reasons of failures."""
        competition, now = self.competition(request, slug), timezone.now()
        found = {
            "days": analytics.days(competition, now),
            "funnel": analytics.funnel(competition),
            "failures": analytics.failures(competition, now - timedelta(days=analytics.DAYS)),
        }
        return Response(AnalyticsFigures(found).data)


class StateOf(Owners):
    @extend_schema(operation_id="competition_state", responses=CompetitionState)
    def get(self, request: Request, slug: str) -> Response:
        """Return the waiting work of a competition, and queues, runners and timing epochs of its hardware."""
        return _state(self.competition(request, slug))


class MovePin(Owners):
    @extend_schema(operation_id="move_epoch_pin", request=PinRequest, responses=CompetitionState)
    def post(self, request: Request, slug: str) -> Response:
        """Move the contest to another timing epoch on one hardware. Owners only."""
        competition = self.competition(request, slug, "move its contest to another timing epoch")
        sent = parse(PinRequest, request.data)
        move_pin(competition=competition, name=sent.pop("epoch"), **self.by(request), **sent)
        return _state(competition)


def _state(competition: Competition) -> Response:
    found = state_of(competition) | {"epochs": epochs_of(competition), "waiting": pending(competition)}
    return Response(CompetitionState(found).data)


class ExportOf(Owners):
    renderer_classes = AS_TABLE

    @extend_schema(
        operation_id="competition_export", responses={(200, "application/json"): ROWS, (200, "text/csv"): ROWS}
    )
    def get(self, request: Request, slug: str, name: str) -> StreamingHttpResponse:
        """Return all rows of `entrants`, `submissions`, `results`, `standings`, `decisions` or, for owners, `code`."""
        competition, kind = self.competition(request, slug), request.accepted_renderer.format
        return exports.saved(request._request, self.caller(request), competition, name, kind)


class OrganisedNews(Owners):
    @extend_schema(operation_id="organised_news", parameters=[Keyed], responses=NewsLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List all announcements of a competition, withdrawn ones too, newest first."""
        found = self.competition(request, slug).announcements.all()
        return paged(request, found, parse(Keyed, request.query_params), NewsLine, ["-pk"])

    @extend_schema(operation_id="announce", request=NewsRequest, responses={201: NewsLine})
    def post(self, request: Request, slug: str) -> Response:
        """Publish an announcement. Owners only."""
        competition = self.competition(request, slug, "announce something")
        sent, now = parse(NewsRequest, request.data), timezone.now()
        made = access.publish_announcement(competition=competition, actor=self.caller(request), now=now, **sent)
        return Response(NewsLine(made).data, status=201)


class WithdrawAnnouncement(Owners):
    @extend_schema(operation_id="withdraw_announcement", request=WithdrawNews, responses=NewsLine)
    def post(self, request: Request, slug: str) -> Response:
        """Withdraw an announcement. Owners only."""
        competition = self.competition(request, slug, "withdraw an announcement")
        sent = parse(WithdrawNews, request.data)
        found = get_object_or_404(competition.announcements.select_related("competition"), pk=sent["id"])
        told: dict[str, Any] = {"actor": self.caller(request), "reason": sent["reason"], "now": timezone.now()}
        access.withdraw_announcement(announcement=found, **told)
        found.refresh_from_db()
        return Response(NewsLine(found).data)


class Roles(Owners):
    @extend_schema(operation_id="roles", parameters=[Keyed], responses=RoleLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the people with a role in a competition."""
        found = self.competition(request, slug).roles.select_related("user")
        return paged(request, found, parse(Keyed, request.query_params), RoleLine, ["pk"])

    @extend_schema(operation_id="grant_role", request=RoleRequest, responses=RoleLine)
    def post(self, request: Request, slug: str) -> Response:
        """Give a person a role, or change it. Owners only."""
        competition = self.competition(request, slug, "give and take roles")
        sent, now = parse(RoleRequest, request.data), timezone.now()
        given = access.grant_role(competition=competition, actor=self.caller(request), now=now, **sent)
        return Response(RoleLine(given).data)


class RevokeARole(Owners):
    @extend_schema(operation_id="revoke_role", request=RevokeRole, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Take a person's role. The last owner stays. Owners only."""
        competition = self.competition(request, slug, "give and take roles")
        sent = parse(RevokeRole, request.data)
        roles = competition.roles.select_related("competition", "user")
        role = get_object_or_404(roles, user__username__iexact=sent["username"])
        access.revoke_role(role=role, actor=self.caller(request), now=timezone.now())
        return Response(status=204)


class OrganisedBoards(Owners):
    @extend_schema(operation_id="organised_boards", parameters=[Keyed], responses=OrganisedBoard(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the boards of a competition with their problem versions."""
        boards = self.competition(request, slug).boards
        found = boards.select_related("problem", "version").defer("version__bundle")
        return paged(request, found, parse(Keyed, request.query_params), OrganisedBoard, ["pk"])

    @extend_schema(operation_id="add_board", request=NewBoard, responses={201: OrganisedBoard})
    def post(self, request: Request, slug: str) -> Response:
        """Add a board for a known version of a problem. It takes submissions after an admission test. Owners only."""
        competition = self.competition(request, slug, "add a board")
        sent = parse(NewBoard, request.data)
        version = version_of(self.caller(request), sent.pop("digest"))
        board = pipeline.add_board(competition=competition, version=version, **self.by(request), **sent)
        return Response(OrganisedBoard(board).data, status=201)


def version_of(user: User, digest: str) -> ProblemVersion:
    """Return the version with this digest, if the user may choose it for a board. Raise UserError."""
    found = versions_seen_by(user).filter(digest=digest).first()
    if found is None:
        text = "no version of a problem that you see has this digest; a board's problem names it"
        raise UserError("digest", digest, text, 404)
    return found


class EditBoard(Owners):
    @extend_schema(operation_id="edit_board", request=BoardRequest, responses=OrganisedBoard)
    def post(self, request: Request, slug: str) -> Response:
        """Change some settings of a board. Owners only."""
        competition = self.competition(request, slug, "edit a board")
        sent = parse(BoardRequest, request.data)
        board = _board(competition, sent)
        version = version_of(self.caller(request), sent["digest"]) if "digest" in sent else board.version
        kept = {name: sent.get(name, getattr(board, name)) for name in ("deadline", "tags")}
        done = edit.edit_board(board=board, version=version, reason=sent["reason"], **kept, **self.by(request))
        return Response(OrganisedBoard(done).data)


def _board(competition: Competition, sent: dict[str, Any]) -> Board:
    return get_object_or_404(competition.boards.with_parts(), slug=sent["board"], hardware=sent["hardware"])


class CloseBoard(Owners):
    @extend_schema(operation_id="close_board", request=CloseRequest, responses=OrganisedBoard)
    def post(self, request: Request, slug: str) -> Response:
        """Close a board for contest submissions from now on. Earlier submissions stay. Owners only."""
        competition = self.competition(request, slug, "close a board")
        sent = parse(CloseRequest, request.data)
        done = edit.close_board(board=_board(competition, sent), reason=sent["reason"], **self.by(request))
        return Response(OrganisedBoard(done).data)


class Codes(Owners):
    @extend_schema(operation_id="invite_codes", parameters=[Keyed], responses=InviteCodeLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the valid invite codes of a competition, newest first."""
        competition = self.competition(request, slug)
        found = access.codes_of(competition).filter(revoked_at=None)
        return paged(request, found, parse(Keyed, request.query_params), InviteCodeLine, ["-pk"])

    @extend_schema(operation_id="make_invite_codes", request=NewCodesRequest, responses={201: NewCodes})
    def post(self, request: Request, slug: str) -> Response:
        """Create invite codes, each for one account. Owners only."""
        competition = self.competition(request, slug, "create invite codes")
        sent = parse(NewCodesRequest, request.data)
        boards = [board for name in dict.fromkeys(sent.pop("boards")) for board in boards_of(competition, name)]
        issued = access.issue_codes(
            competition=competition, boards=boards, actor=self.caller(request), now=timezone.now(), **sent
        )
        return Response({"codes": [one.text for one in issued]}, status=201)


class RevokeCode(Owners):
    @extend_schema(operation_id="revoke_invite_code", request=RevokeRequest, responses=Revoked)
    def post(self, request: Request, slug: str) -> Response:
        """Revoke an invite code. Its user loses the access, but no submissions. Owners only."""
        competition = self.competition(request, slug, "revoke invite codes")
        sent = parse(RevokeRequest, request.data)
        reason = sent["reason"] or "revoked over the API"
        among = Q(competition=competition)
        code = revoke(sent["code"], among=among, actor=self.caller(request), reason=reason, now=timezone.now())
        return Response({"prefix": code.prefix, "was_used": code.used_by_id is not None})


class RemoveBoard(Owners):
    @extend_schema(operation_id="remove_board", request=RemoveRequest, responses=RemovedBoards)
    def post(self, request: Request, slug: str) -> Response:
        """Remove a board without submissions, on all its hardware. Owners only."""
        competition = self.competition(request, slug, "remove boards")
        sent = parse(RemoveRequest, request.data)
        reason = sent["reason"] or "closed over the API"
        removed, closed = remove_boards(
            boards_of(competition, sent["board"]),
            actor=self.caller(request),
            reason=reason,
            force=sent["force"],
            now=timezone.now(),
        )
        return Response({"removed": removed, "closed": closed})


class DeleteProblem(Owners):
    @extend_schema(operation_id="delete_problem", request=DeleteProblemRequest, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Delete a problem without submissions, with its boards, versions and admission tests. Owners only."""
        competition = self.competition(request, slug, "delete a problem")
        told: dict[str, Any] = {"actor": self.caller(request), "now": timezone.now()}
        authoring.delete_problem(competition=competition, **told, **parse(DeleteProblemRequest, request.data))
        return Response(status=204)
