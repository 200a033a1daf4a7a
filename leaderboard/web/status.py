"""Public status of the service: machines, queue and expected wait by hardware; incidents and maintenance, by staff."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.errors import UserError
from leaderboard.judging import live, queue
from leaderboard.operations import incidents, maintenance
from leaderboard.operations.models import Incident, IncidentNote, Maintenance
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.api.base import Public
from leaderboard.web.forms import ActForm, add_refusal
from leaderboard.web.organise.gate import restricted_page

PAST: Final = timedelta(days=90)
MOST_INCIDENTS: Final = 50
WORKS: Final = "Everything works"


@dataclass(frozen=True)
class Machines:
    """The runners of one hardware and their queue."""

    hardware: str
    ready: int
    queued: int
    running: int
    wait_s: float | None  # expected, of a submission that arrives now; None: unknown

    @property
    def chip(self) -> tuple[str, str]:
        """Return text and tone."""
        if not self.ready:
            return "no machine", "bad"
        return ("busy", "running") if self.running or self.queued else ("ready", "good")


def machines(hardware: Sequence[str], *, now: datetime) -> list[Machines]:
    return [
        Machines(one.hardware, one.runners, one.queued, one.running, queue.line(one.hardware, now=now).wait_s)
        for one in live.queues(hardware, competition_id=0, now=now)
    ]


def _shown(request: HttpRequest | Request) -> dict[str, Any]:
    now = timezone.now()
    listed = boards_seen_by(request.user, listed=True).order_by().values_list("hardware", flat=True).distinct()
    rows = machines(list(listed), now=now)
    known = Incident.objects.prefetch_related("notes__author")
    current = list(known.filter(ended_at=None))
    without = [row.hardware for row in rows if not row.ready]
    summary, paused = WORKS, maintenance.current()
    if paused:
        summary = f"Maintenance: {paused.text.rstrip('.')}"
    elif current:
        summary = current[0].title
    elif without:
        summary = f"No machine with {' or '.join(without)} is at work. Submissions wait, and nothing is lost"
    return {
        "now": now,
        "machines": rows,
        "maintenance": paused,
        "current": current,
        "past": known.filter(ended_at__gt=now - PAST)[:MOST_INCIDENTS],
        "summary": summary,
        "good": summary == WORKS,
    }


class IncidentForm(ActForm):
    title = forms.CharField(max_length=incidents.MAX_TITLE_CHARS, help_text="Such as “H200 submissions wait”.")
    text = forms.CharField(
        max_length=incidents.MAX_TEXT_CHARS,
        label="Text, for everybody",
        help_text="What is affected, since when, and what happens next.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class MaintenanceForm(ActForm):
    minutes = forms.IntegerField(min_value=1, max_value=maintenance.MAX_MINUTES, help_text="From now.")
    sentence = forms.CharField(
        max_length=maintenance.MAX_SENTENCE_CHARS,
        label="Sentence for everybody",
        help_text="Such as “The database moves to a new machine.”",
    )


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(request: HttpRequest, **sent: ActForm) -> HttpResponse:
    shown = _shown(request)
    first = {"sentence": shown["maintenance"].text} if shown["maintenance"] else None
    drawn = {"form": IncidentForm(), "maintenance_form": MaintenanceForm(initial=first), **sent}
    return render(request, "web/status.html", shown | drawn, status=400 if sent else 200)


@restricted_page("POST")
def begin_maintenance(request: HttpRequest) -> HttpResponse:
    form = MaintenanceForm(request.POST)
    if not form.is_valid():
        return _page(request, maintenance_form=form)
    maintenance.begin(**form.arguments(), actor=user_of(request), now=timezone.now())
    messages.success(request, "Maintenance is on. Judging goes on; drain the runners to stop it.")
    return redirect("/status")


@restricted_page("POST")
def end_maintenance(request: HttpRequest) -> HttpResponse:
    try:
        maintenance.end(actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Maintenance has ended.")
    return redirect("/status")


@restricted_page("POST")
def open_incident(request: HttpRequest) -> HttpResponse:
    form = IncidentForm(request.POST)
    if form.is_valid():
        try:
            incidents.open_incident(**form.arguments(), actor=user_of(request), now=timezone.now())
        except UserError as error:
            add_refusal(form, error)
        else:
            messages.success(request, "Published.")
            return redirect("/status")
    return _page(request, form=form)


@restricted_page("POST")
def add_note(request: HttpRequest, pk: int) -> HttpResponse:
    incident = get_object_or_404(Incident, pk=pk)
    text, ends = request.POST.get("text", ""), "ends" in request.POST
    try:
        incidents.add_note(incident=incident, text=text, ends=ends, actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.error(request, str(error))
        kept = {"form": IncidentForm(), "noted": pk, "text": text}
        return render(request, "web/status.html", _shown(request) | kept, status=error.status)
    messages.success(request, "Published. The incident has ended." if ends else "Published.")
    return redirect("/status")


class MachinesRow(Serializer[Machines]):
    hardware = serializers.CharField()
    ready = serializers.IntegerField(help_text="Runners that can take work now.")
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    wait_s = serializers.FloatField(
        allow_null=True, help_text="Expected wait of a submission that arrives now; null: unknown."
    )


class IncidentNoteRow(Serializer[IncidentNote]):
    text = serializers.CharField()
    at = serializers.DateTimeField(source="created_at")


class IncidentRow(Serializer[Incident]):
    title = serializers.CharField()
    began_at = serializers.DateTimeField()
    notes = IncidentNoteRow(many=True, source="notes.all")


class MaintenanceRow(Serializer[Maintenance]):
    text = serializers.CharField()
    until = serializers.DateTimeField(help_text="Its announced end.")


class ServiceStatus(Serializer[dict[str, Any]]):
    at = serializers.DateTimeField(source="now")
    ok = serializers.BooleanField(source="good")
    summary = serializers.CharField()
    machines = MachinesRow(many=True)
    incidents = IncidentRow(many=True, source="current")
    maintenance = MaintenanceRow(allow_null=True, help_text="While it lasts, changes answer 503; else null.")


class Status(Public):
    @extend_schema(responses=ServiceStatus)
    def get(self, request: Request) -> Response:
        """Return the machines and queues of the listed boards, and the current incidents and maintenance."""
        return Response(ServiceStatus(_shown(request)).data)
