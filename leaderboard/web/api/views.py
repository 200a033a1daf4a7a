"""The calls of /api/v1, with admission tests for organisers. Each looks up, validates, makes one call and answers.

web/errors.py forms the errors.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import SCOPES, ApiToken
from leaderboard.accounts.permissions import choose_data_sets, data_set_choice
from leaderboard.admissions.ask import ask_test, override
from leaderboard.admissions.compiled import ask_compiled
from leaderboard.admissions.door import refusal
from leaderboard.admissions.models import AdmissionTest
from leaderboard.admissions.permissions import boards_of, tests_of, timings_of
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import boards_seen_by, competitions_of, has_role
from leaderboard.errors import UserError
from leaderboard.judging.archive import look
from leaderboard.judging.attempts import cancel
from leaderboard.judging.lease import clock
from leaderboard.judging.models import Result
from leaderboard.standings.publish import retract
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.ledger import boards_spent_on
from leaderboard.submissions.permissions import release_code
from leaderboard.web.api import serializers
from leaderboard.web.api.base import (
    AS_TABLE,
    BoundedJSON,
    FirstAlways,
    Octets,
    Private,
    Public,
    links,
    paged,
    parse,
)
from leaderboard.web.boards import cards, standing
from leaderboard.web.boards.entries import published
from leaderboard.web.errors import body
from leaderboard.web.models import KeyedAnswer
from leaderboard.web.review.evidence import evidence_of
from leaderboard.web.submissions import view
from leaderboard.web.submissions.mine import what_is_left
from leaderboard.web.submissions.progress import seeds_shown
from leaderboard.web.submissions.starter_code import problem_of
from problems.directives import overruled_directives

HEADER: Final = "Idempotency-Key"
KEPT: Final = timedelta(hours=24)
KEYED: Final = OpenApiParameter(
    HEADER, str, "header", description="Repetitions with the same key within 24 hours get the first answer."
)
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
MAX_MARK_CHARS: Final = 64  # of an admission test


class Me(Private):
    @extend_schema(responses=serializers.Me)
    def get(self, request: Request) -> Response:
        """Return the caller's name, and the scopes of the token."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        said = {"name": token.name, "scopes": token.scopes} if token else {"name": "session", "scopes": list(SCOPES)}
        return Response({"username": self.caller(request).get_username(), "token": said})


class DataSets(Private):
    @extend_schema(operation_id="data_set_choice", responses=serializers.DataSetChoice)
    def get(self, request: Request) -> Response:
        """Return which kernels of the caller's account data sets may contain."""
        return Response({"choice": data_set_choice(self.caller(request))})

    @extend_schema(
        operation_id="choose_data_sets", request=serializers.DataSetChoice, responses=serializers.DataSetChoice
    )
    def post(self, request: Request) -> Response:
        """Choose which kernels of the caller's account data sets may contain, from the next export on."""
        sent = parse(serializers.DataSetChoice, request.data)
        return Response({"choice": choose_data_sets(user=self.caller(request), now=timezone.now(), **sent)})


class Boards(Public):
    renderer_classes = AS_TABLE

    @extend_schema(parameters=[serializers.BoardsQuery], responses=serializers.Board(many=True))
    def get(self, request: Request) -> Response:
        """List the boards that are listed for the caller, by name."""
        query = parse(serializers.BoardsQuery, request.query_params)
        place = {"cursor": query.pop("cursor"), "size": query.pop("most"), "name": request.path}
        page = cards.page_of_cards(request.user, cards.Wanted(**query), timezone.now(), **place)
        return Response(serializers.Board(page.rows, many=True).data, headers=links(request, page))


class Board(Public):
    @extend_schema(responses=serializers.BoardDetail)
    def get(self, request: Request, slug: str) -> Response:
        """Return a board with its problem."""
        return Response(serializers.BoardDetail(cards.card(slug, request.user, timezone.now())).data)


class ProblemOfBoard(Public):
    @extend_schema(
        operation_id="board_problem", parameters=[serializers.ProblemQuery], responses=serializers.ProblemFolder
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the public files and cases of a board's problem, for a judge at home."""
        hardware = parse(serializers.ProblemQuery, request.query_params)["hardware"]
        card = cards.card(slug, request.user, timezone.now())
        place = card.place(hardware or card.hardware[0])
        problem = replace(problem_of(place.board.version, card.slug).on(place.hardware), baseline=None)
        answer = {
            "board": card.slug,
            "hardware": place.hardware,
            "digest": place.board.version.digest,
            "problem": problem.to_bundle(),
        }
        return Response(serializers.ProblemFolder(answer).data)


class Entries(Public):
    renderer_classes = AS_TABLE

    @extend_schema(parameters=[serializers.EntriesQuery], responses=serializers.Entry(many=True))
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """Return a ranking, best first, with the best kernel of each entrant."""
        query = parse(serializers.EntriesQuery, request.query_params)
        place = cards.card(slug, request.user, timezone.now()).place(hardware)
        asked = standing.Asked(name=request.path, **query)
        shown = standing.show(place.board, asked, request.user, timezone.now(), known=place.look)
        if shown.in_full and not has_role(request.user, place.board.competition, Role.VIEWER):
            raise serializers.in_full_refused(place.board.competition)
        headers = links(request, shown.page, shown.total)
        return Response(serializers.Entry(shown.rows, many=True).data, headers=headers)


class Submissions(Private):
    parser_classes = [BoundedJSON, MultiPartParser, FormParser]
    renderer_classes = AS_TABLE

    @extend_schema(parameters=[serializers.Page], responses=serializers.SubmissionSummary(many=True))
    def get(self, request: Request) -> Response:
        """List the submissions of all logins of the caller, newest first, without code, cases, logs, rank and value."""
        query, mine = parse(serializers.Page, request.query_params), view.sent_by(self.caller(request))
        if query["board"]:
            mine = mine.filter(board__slug=query["board"])
        return paged(request, mine, query, serializers.SubmissionSummary, view.NEWEST_FIRST, prepare=view.shown_list)

    @extend_schema(request=serializers.NewSubmission, responses={201: serializers.Accepted}, parameters=[KEYED])
    def post(self, request: Request) -> Response:
        """Send a submission, as JSON with `code` or as multipart with `file`."""
        sent = parse(serializers.NewSubmission, request.data)
        owner, now = self.caller(request), clock()

        def take() -> dict[str, Any]:
            upload = Upload(**sent | serializers.lineage_of(sent))
            item = view.Opened(pipeline.submit(upload, owner=owner, now=now, token=self.token(request)), owner)
            notes = overruled_directives(item.code or "", board=item.board, hardware=item.hardware)
            return {**serializers.Sent(item).data, "notes": notes}

        key, was_kept = request.headers.get(HEADER), False
        if key is None:
            answer = take()
        else:
            answer, was_kept = answer_once(account_id=owner.account_id, key=key, sent=sent, now=now, act=take)
        headers = {"Location": f"/api/v1/submissions/{answer['id']}"}
        return Response(answer, status=201, headers=headers | ({"Idempotent-Replayed": "true"} if was_kept else {}))


@transaction.atomic
def answer_once(
    *, account_id: int, key: str, sent: dict[str, Any], now: datetime, act: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], bool]:
    """Return the answer for this key, and whether it is a repeated answer.

    The answer is that of `act`, or the answer that this key had within a day. The key and the submission commit
    together. Of two requests at once, the second waits for the first at the unique index. A refused submission leaves
    no key and may be sent again. Raises UserError for a key that is malformed or was used for another submission.
    """
    if not _KEY.fullmatch(key):
        raise UserError(HEADER, key, "expected 1 to 255 visible ASCII characters, such as a UUID")
    KeyedAnswer.objects.filter(account=account_id, key=key, created_at__lt=now - KEPT).delete()
    plain = {name: sha256(value).hexdigest() if isinstance(value, bytes) else value for name, value in sent.items()}
    digest = sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    row = KeyedAnswer(account_id=account_id, key=key, digest=digest, created_at=now)
    KeyedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    kept = KeyedAnswer.objects.select_for_update().get(account_id=account_id, key=key)
    if kept.digest != digest:
        problem = "was used for another submission within the last 24 hours; send a new key with each submission"
        raise UserError(HEADER, key, problem, 409, "key_reused")
    if kept.answer:
        return kept.answer, True
    kept.answer = act()
    kept.save(update_fields=["answer"])
    return kept.answer, False


class Submission(Private):
    @extend_schema(responses=serializers.Submission)
    def get(self, request: Request, pk: int) -> Response:
        """Return a submission to its owner, present team mates, people with a role in the competition, or staff."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        return Response(serializers.Submission(view.Opened(found, self.caller(request))).data)


class Seeds(Private):
    @extend_schema(operation_id="submission_seeds", responses=serializers.Seeds)
    def get(self, request: Request, pk: int) -> Response:
        """Return the inputs of a judged submission's cases, once the contest is over. 404 without a verdict."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        result = get_object_or_404(Result, attempt__submission=found, attempt__is_current=True)
        evidence = evidence_of(look(result).report)
        return Response(serializers.Seeds(seeds_shown(found, evidence, timezone.now())).data)


class ProfileFile(Private):
    renderer_classes = [Octets]
    content_negotiation_class = FirstAlways

    @extend_schema(
        parameters=[OpenApiParameter("format", exclude=True)],
        responses={(200, Octets.media_type): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: int, name: str) -> HttpResponse:
        """Return a file of a submission's profile, as the sandbox wrote it, to those who see the submission."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        content = view.Opened(found, self.caller(request)).file(name)
        if content is None:
            raise Http404
        saved_as = {"Content-Disposition": f'attachment; filename="{pk}-{name}"', "X-Content-Type-Options": "nosniff"}
        return HttpResponse(content, content_type=Octets.media_type, headers=saved_as)


class Cancel(Private):
    @extend_schema(request=None, responses=serializers.Submission)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel an unfinished submission. Owner or staff; 409 if it is finished."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        cancel(submission=found, actor=self.caller(request), reason="cancelled over the API", now=timezone.now())
        return Response(serializers.Submission(view.Opened(found, self.caller(request))).data)


class PublishedEntry(Public):
    @extend_schema(responses=serializers.EntryDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a published entry, with its code if that is public. 404 if the caller may not see it."""
        viewer, now = request.user, timezone.now()
        context = {"viewer": viewer, "now": now}
        return Response(serializers.EntryDetail(published(pk, viewer, now), context=context).data)


class Retract(Private):
    @extend_schema(request=serializers.RetractRequest, responses=serializers.Retracted)
    def post(self, request: Request, pk: int) -> Response:
        """Retract all runs of this submission's kernel from every board. Its code does not rank again."""
        user = self.caller(request)
        found = get_object_or_404(view.visible_to(user), pk=pk)
        sent = parse(serializers.RetractRequest, request.data)
        return Response({"lines": retract(submission=found, actor=user, now=timezone.now(), **sent)})


class Restore(Private):
    scope = "review"

    @extend_schema(operation_id="restore_entry", request=serializers.ReasonRequest, responses=serializers.Retracted)
    def post(self, request: Request, pk: int) -> Response:
        """Restore a retracted kernel to the boards. Reviewers of the competition only."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        reason = parse(serializers.ReasonRequest, request.data)["reason"]
        return Response({"lines": pipeline.restore_entry(submission=found, reason=reason, **self.by(request))})


class PublishCode(Private):
    @extend_schema(operation_id="publish_code", request=None, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Make the code of a submission public before the end, for good. Its owner only."""
        release_code(submission=get_object_or_404(view.visible_to(self.caller(request)), pk=pk), **self.by(request))
        return Response(status=204)


class Quota(Private):
    @extend_schema(parameters=[serializers.LeftQuery], responses=serializers.Left(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's remaining quotas for a board; without `board`, every partly spent quota."""
        slug = parse(serializers.LeftQuery, request.query_params)["board"]
        caller, now = self.caller(request), timezone.now()
        if not slug:
            left = what_is_left(caller, boards_spent_on(caller), now)
            return Response(serializers.Left([one for one in left if one["next_at"] is not None], many=True).data)
        boards = list(boards_seen_by(caller).with_parts().filter(slug=slug))
        if not boards:
            raise Http404
        return Response(serializers.Left(what_is_left(caller, boards, now), many=True).data)


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


class AdmissionQuery(serializers.LongPage):
    mark = serializers.optional_text(MAX_MARK_CHARS, "Only tests with this mark, such as near_constant.")


class AskForTest(drf.Serializer[Any]):
    board = drf.SlugField()
    hardware = drf.CharField(max_length=64)


class Organisers(Private):
    """Base of the views of admission tests, which answer 404 to a caller who organises no competition."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        caller = self.caller(request)
        if not caller.is_staff and not competitions_of(caller).exists():
            raise Http404


class AdmissionTests(Organisers):
    @extend_schema(parameters=[AdmissionQuery], responses=AdmissionSummary(many=True))
    def get(self, request: Request) -> Response:
        """List admission tests, newest first. Organisers only."""
        query, tests = parse(AdmissionQuery, request.query_params), tests_of(self.caller(request))
        if query["mark"]:
            tests = tests.filter(told__marks__contains=[query["mark"]])
        return paged(request, tests, query, AdmissionSummary, ["-pk"])

    @extend_schema(request=AskForTest, responses={201: AdmissionDetail})
    def post(self, request: Request) -> Response:
        """Have the current version of a board's problem tested. Organisers only."""
        sent = parse(AskForTest, request.data)
        board = get_object_or_404(boards_of(self.caller(request)), slug=sent["board"], hardware=sent["hardware"])
        test = ask_test(version=board.version, hardware=board.hardware, actor=self.caller(request), now=timezone.now())
        return Response(AdmissionDetail(test).data, status=201)


class CompiledSummary(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    problem = drf.CharField(source="version.problem.slug")
    digest = drf.CharField(source="version.digest")
    hardware = drf.CharField()
    epoch = drf.CharField(help_text="The timing epoch that it belongs to.")
    state = drf.CharField()
    outcome = drf.CharField(allow_blank=True)
    message = drf.CharField(allow_blank=True, help_text="Why there is no figure.")
    score_us = drf.FloatField(allow_null=True)
    ratio = drf.FloatField(allow_null=True, help_text="Its time over the baseline's; below 1 is faster.")
    half_width = drf.FloatField(allow_null=True)
    created_at = drf.DateTimeField()
    finished_at = drf.DateTimeField(allow_null=True)


class CompiledTimings(Organisers):
    @extend_schema(parameters=[serializers.LongPage], responses=CompiledSummary(many=True))
    def get(self, request: Request) -> Response:
        """List timings of torch.compile, newest first. Organisers only."""
        query, timings = parse(serializers.LongPage, request.query_params), timings_of(self.caller(request))
        return paged(request, timings, query, CompiledSummary, ["-pk"])

    @extend_schema(request=AskForTest, responses={201: CompiledSummary})
    def post(self, request: Request) -> Response:
        """Have torch.compile of a board's reference timed, in the epoch that the board ranks. Organisers only."""
        sent = parse(AskForTest, request.data)
        board = get_object_or_404(boards_of(self.caller(request)), slug=sent["board"], hardware=sent["hardware"])
        timing = ask_compiled(board=board, actor=self.caller(request), now=timezone.now())
        return Response(CompiledSummary(timing).data, status=201)


class OneAdmissionTest(Organisers):
    @extend_schema(responses=AdmissionDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return an admission test: the test answers, their outcomes and the margin. Organisers only."""
        found = get_object_or_404(tests_of(self.caller(request)), pk=pk)
        return Response(AdmissionDetail(found).data)


class OverrideAdmission(Organisers):
    scope = "review"

    @extend_schema(operation_id="override_admission", request=serializers.ReasonRequest, responses=AdmissionDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Let a version take submissions despite a failed admission test. Owners of its first or all competitions."""
        found = get_object_or_404(tests_of(self.caller(request)), pk=pk)
        override(test=found, **self.by(request), **parse(serializers.ReasonRequest, request.data))
        found.refresh_from_db()
        return Response(AdmissionDetail(found).data)


class NotHere(Public):
    """Every other address below /api: an error in the API's own shape."""

    schema = None

    def get(self, request: Request, **kwargs: Any) -> Response:
        detail = f"There is no such call: {request.path[:200]}. /api/docs lists all calls."
        return body(404, detail, code="unknown_call")

    post = put = patch = delete = get
