"""Admission tests over /api/v1, for organisers."""

from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.admissions.ask import ask_test
from leaderboard.admissions.door import refusal
from leaderboard.admissions.models import AdmissionTest
from leaderboard.admissions.permissions import boards_of, tests_of
from leaderboard.competitions.permissions import competitions_of
from leaderboard.web.api.base import Private, parse

MAX_MARK_CHARS: Final = 64
MAX_ROWS: Final = 200


class AdmissionLine(drf.Serializer[Any]):
    name = drf.CharField()
    expected = drf.CharField()
    got = drf.CharField()
    good = drf.BooleanField(allow_null=True)
    explained = drf.CharField(allow_blank=True)
    figures = drf.DictField()


class AdmissionSummary(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    problem = drf.CharField(source="version.problem.slug")
    digest = drf.CharField(source="version.digest")
    hardware = drf.CharField()
    state = drf.CharField()
    outcome = drf.CharField(allow_blank=True)
    marks = drf.ListField(child=drf.CharField())
    margin = drf.SerializerMethodField()
    overridden = drf.BooleanField(source="is_overridden")
    open = drf.SerializerMethodField(help_text="Whether this version accepts submissions on this hardware.")
    created_at = drf.DateTimeField()
    finished_at = drf.DateTimeField(allow_null=True)

    def get_margin(self, test: AdmissionTest) -> float | None:
        margin: float | None = test.told.get("margin")
        return margin

    def get_open(self, test: AdmissionTest) -> bool:
        return not refusal(version_id=test.version_id, hardware=test.hardware)


class AdmissionDetail(AdmissionSummary):
    message = drf.CharField(allow_blank=True)
    override_reason = drf.CharField(allow_blank=True)
    lines = AdmissionLine(many=True)


class AskForTest(drf.Serializer[Any]):
    board = drf.SlugField()
    hardware = drf.CharField(max_length=64)


class Organisers(Private):
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        caller = self.caller(request)
        if not caller.is_staff and not competitions_of(caller).exists():
            raise Http404


class Tests(Organisers):
    @extend_schema(
        parameters=[OpenApiParameter("mark", description="Only tests with this mark, such as near_constant.")],
        responses=AdmissionSummary(many=True),
    )
    def get(self, request: Request) -> Response:
        """List admission tests, newest first. Organisers only."""
        tests = tests_of(self.caller(request))
        if mark := request.query_params.get("mark", ""):
            tests = tests.filter(told__marks__contains=[mark[:MAX_MARK_CHARS].replace("\0", "?")])
        return Response(AdmissionSummary(tests[:MAX_ROWS], many=True).data)

    @extend_schema(request=AskForTest, responses={201: AdmissionDetail})
    def post(self, request: Request) -> Response:
        """Have the current version of a board's problem tested. Organisers only."""
        sent = parse(AskForTest, request.data)
        board = get_object_or_404(boards_of(self.caller(request)), slug=sent["board"], hardware=sent["hardware"])
        test = ask_test(version=board.version, hardware=board.hardware, actor=self.caller(request), now=timezone.now())
        return Response(AdmissionDetail(test).data, status=201)


class Test(Organisers):
    @extend_schema(responses=AdmissionDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return an admission test: the test answers, their outcomes and the margin. Organisers only."""
        found = get_object_or_404(tests_of(self.caller(request)), pk=pk)
        return Response(AdmissionDetail(found).data)
