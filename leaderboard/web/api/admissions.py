"""Admission tests over /api/v1, for organisers."""

from __future__ import annotations

from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
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


class AdmissionLine(serializers.Serializer[Any]):
    name = serializers.CharField()
    expected = serializers.CharField()
    got = serializers.CharField()
    good = serializers.BooleanField(allow_null=True)
    explained = serializers.CharField(allow_blank=True)
    figures = serializers.DictField()


class AdmissionSummary(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    problem = serializers.CharField(source="version.problem.slug")
    digest = serializers.CharField(source="version.digest")
    hardware = serializers.CharField()
    state = serializers.CharField()
    outcome = serializers.CharField(allow_blank=True)
    marks = serializers.ListField(child=serializers.CharField())
    margin = serializers.SerializerMethodField()
    overridden = serializers.BooleanField(source="is_overridden")
    open = serializers.SerializerMethodField(help_text="Whether this version accepts submissions on this hardware.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_margin(self, test: AdmissionTest) -> float | None:
        margin: float | None = test.told.get("margin")
        return margin

    def get_open(self, test: AdmissionTest) -> bool:
        return not refusal(version_id=test.version_id, hardware=test.hardware)


class AdmissionDetail(AdmissionSummary):
    message = serializers.CharField(allow_blank=True)
    override_reason = serializers.CharField(allow_blank=True)
    lines = AdmissionLine(many=True)


class AskForTest(serializers.Serializer[Any]):
    board = serializers.SlugField()
    hardware = serializers.CharField(max_length=64)


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
