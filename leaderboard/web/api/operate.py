"""Acts of administrators over /api/v1: intake, timing epochs, runners, enrolment, shares, incidents, suspensions.

The acts are those of the pages.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS, check_staff
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import competitions_of
from leaderboard.judging.device_time import set_share
from leaderboard.judging.enrolment import MOST_LASTS, make_code, open_codes, withdraw_code
from leaderboard.judging.live import hosts
from leaderboard.judging.models import DONE, EPOCH_CHARS, UNFINISHED, Attempt, Enrolment, Epoch, Runner, Share
from leaderboard.operations import incidents, maintenance
from leaderboard.operations.models import Incident
from leaderboard.review.models import Suspension
from leaderboard.review.permissions import may_suspend_somewhere
from leaderboard.review.suspension import standing_suspensions
from leaderboard.submissions.models import Submission
from leaderboard.web.api.base import SCOPE, Private, Staff, act_view, paged, parse
from leaderboard.web.api.serializers import Keyed, ReasonRequest, optional_text
from leaderboard.web.organise.state_pages import ACTS as EPOCH_ACTS
from leaderboard.web.organise.state_pages import waiting_decisions
from leaderboard.web.review.pages import suspend_by_name
from leaderboard.web.runners.pages import ACTS
from leaderboard.web.status import IncidentRow

STOPPED: Final = "An administrator has stopped the submissions."
STOPPED_MINUTES: Final = 60  # announced; it lasts until the start
DAY: Final = timedelta(days=1)


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


class EpochRequest(ReasonRequest):
    hardware = drf.CharField(max_length=64)
    epoch = drf.CharField(max_length=EPOCH_CHARS)


class DecidedEpoch(drf.Serializer[Any]):
    hardware = drf.CharField()
    epoch = drf.CharField(source="name")
    state = drf.ChoiceField(choices=Epoch.STATES)


class ProposedEpoch(drf.Serializer[Any]):
    hardware = drf.CharField(source="epoch.hardware")
    epoch = drf.CharField(source="epoch.name")
    title = drf.CharField()
    current = drf.CharField(source="current.name", default="", help_text="Present epoch of the hardware.")
    differences = drf.ListField(child=drf.CharField())
    runners = drf.ListField(child=drf.CharField(), help_text="Runners that measure in it.")
    current_runners = drf.IntegerField(help_text="Number of runners that measure in the present epoch.")


class RunnerLine(drf.Serializer[Any]):
    name = drf.CharField()
    hardware = drf.CharField()
    state = drf.CharField()
    why = drf.CharField(allow_blank=True)
    epoch = drf.CharField(allow_blank=True)
    seen_at = drf.DateTimeField(allow_null=True)
    submission = drf.IntegerField(allow_null=True, help_text="That it judges.")
    stage = drf.CharField(allow_blank=True)
    host = drf.CharField(source="place.host", allow_blank=True, help_text="Runners of one host share it.")
    device = drf.IntegerField(source="place.device", help_text="Number of its GPU in the host, or of its lane on cpu.")
    cores = drf.CharField(source="place.cores", allow_blank=True, help_text="Numbers of its cores, such as 0-3,8.")
    node = drf.IntegerField(source="place.node", allow_null=True, help_text="NUMA node of its cores; null: several.")


class RunnerChanged(drf.Serializer[Any]):
    name = drf.CharField()
    token = drf.CharField(allow_blank=True, help_text="The new token, shown only now, of `rotate`; else empty.")


class ReasonIfAny(drf.Serializer[Any]):
    reason = optional_text(MAX_REASON_CHARS)


class EnrolmentLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    prefix = drf.CharField(source="code_prefix")
    name = drf.CharField()
    hardware = drf.CharField()
    expires_at = drf.DateTimeField()


class NewEnrolment(drf.Serializer[Any]):
    name = drf.CharField(max_length=64, help_text="Of the runner.")
    hardware = drf.CharField(max_length=64)
    minutes = drf.IntegerField(
        default=60, min_value=1, max_value=MOST_LASTS // timedelta(minutes=1), help_text="Life of the code."
    )


class MadeEnrolment(EnrolmentLine):
    code = drf.CharField(help_text="Shown only now.")


class ShareLine(drf.Serializer[Any]):
    competition = drf.CharField(source="competition.slug")
    hardware = drf.CharField()
    percent = drf.IntegerField()


class ShareRequest(ReasonRequest):
    competition = drf.CharField(max_length=64)
    hardware = drf.CharField(max_length=64)
    percent = drf.IntegerField(allow_null=True, help_text="1 to 99; null: no share.")


class IncidentRequest(drf.Serializer[Any]):
    title = drf.CharField(max_length=incidents.MAX_TITLE_CHARS)
    text = drf.CharField(max_length=incidents.MAX_TEXT_CHARS)


class IncidentNoteRequest(drf.Serializer[Any]):
    text = drf.CharField(max_length=incidents.MAX_TEXT_CHARS)
    ends = drf.BooleanField(default=False, help_text="The incident is over.")


class OpenedIncident(IncidentRow):
    id = drf.IntegerField(source="pk")
    ended_at = drf.DateTimeField(allow_null=True)


class SuspensionLine(drf.Serializer[Any]):
    username = drf.CharField(source="user.username")
    competition = drf.CharField(source="competition.slug", default="", help_text="Empty: everywhere.")
    reason = drf.CharField()
    by = drf.CharField(source="actor.username")
    since = drf.DateTimeField(source="created_at")


class SuspensionRequest(ReasonRequest):
    username = drf.CharField(source="name", max_length=150)
    competition = optional_text(64, "Empty: everywhere, for administrators.")


class AboutIntake(Staff):
    doing = "start, stop and count"


class StartIntake(AboutIntake):
    @extend_schema(operation_id="admin_start", request=None, responses=Intake)
    def post(self, request: Request) -> Response:
        """End the maintenance, so that the site takes submissions again. Administrators only."""
        start_intake(**self.by(request))
        return Response({"accepting": True})


class StopIntake(AboutIntake):
    @extend_schema(operation_id="admin_stop", request=StopRequest, responses=Intake)
    def post(self, request: Request) -> Response:
        """Stop submissions and other changes, by maintenance. Judging goes on. Administrators only."""
        stop_intake(**self.by(request), **parse(StopRequest, request.data))
        return Response({"accepting": False})


class Counts(AboutIntake):
    @extend_schema(operation_id="admin_stats", parameters=[StatsQuery], responses=Stats)
    def get(self, request: Request) -> Response:
        """Count submissions, people and runs. Administrators only."""
        last_day = parse(StatsQuery, request.query_params)["last_day"]
        return Response(Stats(count_work(timezone.now() - DAY if last_day else None)).data)


class Epochs(Private):
    scope = SCOPE

    @extend_schema(operation_id="proposed_epochs", responses=ProposedEpoch(many=True))
    def get(self, request: Request) -> Response:
        """List the timing epochs that wait for a decision, on the hardware of the caller's competitions."""
        return Response(ProposedEpoch(waiting_decisions(self.caller(request)), many=True).data)


class EpochAct(Staff):
    doing = "decide on timing epochs"
    name: str

    def post(self, request: Request) -> Response:
        sent = parse(EpochRequest, request.data)
        name = sent.pop("epoch")
        act, _ = EPOCH_ACTS[self.name]
        act(name=name, **sent, **self.by(request))
        return Response(DecidedEpoch(Epoch.objects.get(hardware=sent["hardware"], name=name)).data)


class Fleet(Staff):
    doing = "manage runners"


class Runners(Fleet):
    @extend_schema(operation_id="runners", responses=RunnerLine(many=True))
    def get(self, request: Request) -> Response:
        """List the runners that are not retired. Administrators only."""
        kinds = set(Runner.objects.values_list("hardware", flat=True))
        found = sorted(hosts(kinds, now=timezone.now()), key=lambda host: host.name)
        return Response(RunnerLine(found, many=True).data)


class RunnerAct(Fleet):
    name: str

    def post(self, request: Request, runner: str) -> Response:
        found = get_object_or_404(Runner, name=runner)
        act, _ = ACTS[self.name]
        result = act(runner=found, **self.by(request), **parse(ReasonIfAny, request.data))
        return Response({"name": found.name, "token": result if self.name == "rotate" else ""})


class Enrolments(Fleet):
    @extend_schema(operation_id="enrolments", responses=EnrolmentLine(many=True))
    def get(self, request: Request) -> Response:
        """List the open enrolment codes of runners. Administrators only."""
        return Response(EnrolmentLine(open_codes(timezone.now()), many=True).data)

    @extend_schema(operation_id="make_enrolment", request=NewEnrolment, responses={201: MadeEnrolment})
    def post(self, request: Request) -> Response:
        """Make a one-time code with which a host enrols a runner. Administrators only."""
        sent = parse(NewEnrolment, request.data)
        made, text = make_code(lasts=timedelta(minutes=sent.pop("minutes")), **sent, **self.by(request))
        return Response(EnrolmentLine(made).data | {"code": text}, status=201)


class WithdrawEnrolment(Fleet):
    @extend_schema(operation_id="withdraw_enrolment", request=None, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Withdraw an enrolment code. Administrators only."""
        withdraw_code(code=get_object_or_404(Enrolment, pk=pk), **self.by(request))
        return Response(status=204)


class Shares(Fleet):
    @extend_schema(operation_id="shares", parameters=[Keyed], responses=ShareLine(many=True))
    def get(self, request: Request) -> Response:
        """List the shares of competitions in the device time of hardware. Administrators only."""
        found = Share.objects.select_related("competition")
        return paged(request, found, parse(Keyed, request.query_params), ShareLine, ["pk"])

    @extend_schema(operation_id="set_share", request=ShareRequest, responses={204: None})
    def post(self, request: Request) -> Response:
        """Set or end a competition's share of a hardware. Administrators only."""
        sent = parse(ShareRequest, request.data)
        competition = get_object_or_404(Competition, slug=sent.pop("competition"))
        set_share(competition=competition, **sent, **self.by(request))
        return Response(status=204)


class Incidents(Staff):
    doing = "write about incidents"

    @extend_schema(operation_id="open_incident", request=IncidentRequest, responses={201: OpenedIncident})
    def post(self, request: Request) -> Response:
        """Publish an incident on the status page. Administrators only."""
        made = incidents.open_incident(**parse(IncidentRequest, request.data), **self.by(request))
        return Response(OpenedIncident(made).data, status=201)


class OneIncident(Staff):
    doing = "write about incidents"

    @extend_schema(operation_id="add_incident_note", request=IncidentNoteRequest, responses=OpenedIncident)
    def post(self, request: Request, pk: int) -> Response:
        """Add a note to an incident, or end it. Administrators only."""
        incident = get_object_or_404(Incident, pk=pk)
        incidents.add_note(incident=incident, **parse(IncidentNoteRequest, request.data), **self.by(request))
        incident.refresh_from_db()
        return Response(OpenedIncident(incident).data)


class Suspending(Private):
    """Base of the calls on suspended accounts. Like the page, they answer 404 to a caller who owns no competition."""

    scope = SCOPE

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not may_suspend_somewhere(self.caller(request)):
            raise Http404

    def answer(self, request: Request) -> Response:
        user = self.caller(request)
        rows: list[Suspension] = standing_suspensions(competitions_of(user, Role.OWNER), everywhere=user.is_staff)
        return Response(SuspensionLine(rows, many=True).data)


class Suspensions(Suspending):
    @extend_schema(operation_id="suspensions", responses=SuspensionLine(many=True))
    def get(self, request: Request) -> Response:
        """List the suspended accounts in the caller's competitions. Owners only."""
        return self.answer(request)


class SuspensionAct(Suspending):
    name: str

    def post(self, request: Request) -> Response:
        sent = parse(SuspensionRequest, request.data)
        slug = sent.pop("competition")
        if not slug:
            check_staff(self.caller(request), f"{self.name} an account everywhere")
        owned = competitions_of(self.caller(request), Role.OWNER)
        where = get_object_or_404(owned, slug=slug) if slug else None
        suspend_by_name(act=self.name, where=where, **sent, **self.by(request))
        return self.answer(request)


DECIDE: Final = {
    "choose": "Make a timing epoch current: boards without a pin rank it. Administrators only.",
    "dismiss": "Dismiss a proposed timing epoch: its runners get no timed work. Administrators only.",
}
MANAGE: Final = {  # the page calls the same acts
    "drain": "Let a runner finish its work and claim nothing more. Administrators only.",
    "resume": "Let a drained runner claim work again. Administrators only.",
    "suspend": "Suspend a runner: it may finish its work. Administrators only.",
    "reinstate": "Reinstate a suspended runner. Administrators only.",
    "rotate": "Give a runner a new token. Administrators only.",
    "revoke": "Revoke the token of a runner: its work is queued again. Administrators only.",
    "retire": "Retire a runner for good. Administrators only.",
}
SUSPEND: Final = {
    "suspend": "Suspend an account in a competition: its lines leave the boards. Owners only.",
    "reinstate": "Reinstate a suspended account. Owners only.",
}
URLS: Final[list[URLPattern]] = [
    path("admin/start", StartIntake.as_view()),
    path("admin/stop", StopIntake.as_view()),
    path("admin/stats", Counts.as_view()),
    path("epochs", Epochs.as_view()),
    *(
        path(
            f"epochs/{name}", act_view(EpochAct, f"{name}_epoch", text, EpochRequest, DecidedEpoch, name=name).as_view()
        )
        for name, text in DECIDE.items()
    ),
    path("runners", Runners.as_view()),
    *(
        path(
            f"runners/<slug:runner>/{name}",
            act_view(RunnerAct, f"{name}_runner", text, ReasonIfAny, RunnerChanged, name=name).as_view(),
        )
        for name, text in MANAGE.items()
    ),
    path("enrolments", Enrolments.as_view()),
    path("enrolments/<int:pk>/withdraw", WithdrawEnrolment.as_view()),
    path("shares", Shares.as_view()),
    path("incidents", Incidents.as_view()),
    path("incidents/<int:pk>", OneIncident.as_view()),
    path("review/accounts", Suspensions.as_view()),
    *(
        path(
            f"review/accounts/{name}",
            act_view(
                SuspensionAct, f"{name}_account", text, SuspensionRequest, SuspensionLine(many=True), name=name
            ).as_view(),
        )
        for name, text in SUSPEND.items()
    ),
]
