"""Competitions over /api/v1, for their organisers: settings, news, changes, figures, waiting work, exports.

The acts are those of the pages. Further parts of a competition: access.py, organised_boards.py, rules.py, awards.py,
problems.py, rejudging.py.
"""

from datetime import timedelta
from typing import Any, Final

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.permissions import MAX_REASON_CHARS, check_staff
from leaderboard.competitions import access, checks, edit
from leaderboard.competitions.models import AGENT_RANKINGS, DIVISIONS, SCORINGS, VISIBILITIES, Competition
from leaderboard.competitions.permissions import competitions_of
from leaderboard.entrants import messages
from leaderboard.judging.models import EPOCH_CHARS
from leaderboard.standings.epochs import move_pin
from leaderboard.web.api.base import AS_TABLE, SCOPE, Owners, Private, ShortList, paged, parse
from leaderboard.web.api.serializers import Keyed, optional_text
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.organise import analytics, exports
from leaderboard.web.organise.pages import changes_of, in_words, pending
from leaderboard.web.organise.state_pages import epochs_of, state_of
from runner.wire import MODES

MAX_SHIFT_DAYS: Final = 4_000
ROWS: Final = {"type": "array", "items": {"type": "object", "additionalProperties": {}}}  # of an exported file


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
    divisions = ShortList(child=drf.ChoiceField(choices=DIVISIONS), max_length=len(DIVISIONS))
    agents_rank = drf.ChoiceField(
        choices=AGENT_RANKINGS, help_text="In the ranking of people, or apart. Fixed by the first line on a board."
    )
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
    requested_queued = drf.IntegerField(help_text="Admission tests, compiled timings and confirmations.")
    requested_running = drf.IntegerField()
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
        made = edit.create_competition(slug=sent.pop("slug"), settings=sent, **self.by(request))
        return Response(Organised(made).data, status=201)


class OrganisedCompetition(Owners):
    @extend_schema(operation_id="competition_settings", responses=Organised)
    def get(self, request: Request, slug: str) -> Response:
        """Return the settings of a competition."""
        return Response(Organised(self.competition(request, slug)).data)

    @extend_schema(operation_id="edit_competition", request=SettingsRequest, responses=Organised)
    def post(self, request: Request, slug: str) -> Response:
        """Change some settings of a competition. Owners only."""
        competition, sent = self.competition(request, slug, "edit it"), parse(SettingsRequest, request.data)
        told = {"reason": sent.pop("reason"), **self.by(request)}
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


class OrganisedNews(Owners):
    @extend_schema(operation_id="organised_news", parameters=[Keyed], responses=NewsLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List all announcements of a competition, withdrawn ones too, newest first."""
        found = self.competition(request, slug).announcements.all()
        return paged(request, found, parse(Keyed, request.query_params), NewsLine, ["-pk"])

    @extend_schema(operation_id="announce", request=NewsRequest, responses={201: NewsLine})
    def post(self, request: Request, slug: str) -> Response:
        """Publish an announcement. Owners only."""
        competition, sent = self.competition(request, slug, "announce something"), parse(NewsRequest, request.data)
        made = access.publish_announcement(competition=competition, **sent, **self.by(request))
        return Response(NewsLine(made).data, status=201)


class WithdrawAnnouncement(Owners):
    @extend_schema(operation_id="withdraw_announcement", request=WithdrawNews, responses=NewsLine)
    def post(self, request: Request, slug: str) -> Response:
        """Withdraw an announcement. Owners only."""
        competition = self.competition(request, slug, "withdraw an announcement")
        sent = parse(WithdrawNews, request.data)
        found = get_object_or_404(competition.announcements.select_related("competition"), pk=sent["id"])
        access.withdraw_announcement(announcement=found, reason=sent["reason"], **self.by(request))
        found.refresh_from_db()
        return Response(NewsLine(found).data)


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


URLS: Final[list[URLPattern]] = [
    path("organise", OrganisedCompetitions.as_view()),
    path("organise/<slug:slug>", OrganisedCompetition.as_view()),
    path("organise/<slug:slug>/announcements", OrganisedNews.as_view()),
    path("organise/<slug:slug>/announcements/withdraw", WithdrawAnnouncement.as_view()),
    path("organise/<slug:slug>/clone", CloneCompetition.as_view()),
    path("organise/<slug:slug>/delete", DeleteCompetition.as_view()),
    path("organise/<slug:slug>/message", MessageEntrants.as_view()),
    path("organise/<slug:slug>/changes", ChangesOf.as_view()),
    path("organise/<slug:slug>/analytics", AnalyticsOf.as_view()),
    path("organise/<slug:slug>/state", StateOf.as_view()),
    path("organise/<slug:slug>/epochs", MovePin.as_view()),
    path("organise/<slug:slug>/exports/<slug:name>", ExportOf.as_view()),
]
