"""The calls of /api/v1. Each looks up, validates, makes one call and answers; web/errors.py forms the errors."""

from __future__ import annotations

from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.authentication import SessionAuthentication
from rest_framework.parsers import BaseParser, FormParser, MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from leaderboard import pipeline
from leaderboard.accounts.models import SCOPES, ApiToken, User
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import DIVISIONS
from leaderboard.errors import UserError
from leaderboard.judging.attempts import cancel
from leaderboard.submissions.intake import Upload
from leaderboard.web.api import serializers
from leaderboard.web.api.auth import BearerAuthentication, HasScope
from leaderboard.web.api.body import BoundedJSON
from leaderboard.web.boards import cards, standing
from leaderboard.web.errors import body
from leaderboard.web.idempotency import HEADER, answer_once
from leaderboard.web.limits import ApiThrottle
from leaderboard.web.submissions import view
from problems.directives import overruled_directives

MAX_ROWS: Final = 200


class Public(APIView):
    """Base of views that everybody may read. Calls are counted by user if the caller is signed in, else by address."""

    authentication_classes = [BearerAuthentication, SessionAuthentication]
    permission_classes = [HasScope]
    throttle_classes = [ApiThrottle]
    parser_classes: list[type[BaseParser]] = [BoundedJSON]


class Private(Public):
    permission_classes = [IsAuthenticated, HasScope]

    @staticmethod
    def caller(request: Request) -> User:
        assert isinstance(request.user, User)  # IsAuthenticated checks it
        return request.user


class Me(Private):
    @extend_schema(responses=serializers.Me)
    def get(self, request: Request) -> Response:
        """Return the caller's name, and the scopes of the token."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        said = {"name": token.name, "scopes": token.scopes} if token else {"name": "session", "scopes": list(SCOPES)}
        return Response({"username": self.caller(request).get_username(), "token": said})


class Boards(Public):
    @extend_schema(responses=serializers.Board(many=True))
    def get(self, request: Request) -> Response:
        """List every board that is listed for the caller."""
        return Response(serializers.Board(cards.cards(request.user, timezone.now()), many=True).data)


class Board(Public):
    @extend_schema(responses=serializers.BoardDetail)
    def get(self, request: Request, slug: str) -> Response:
        """Return a board with its problem: description, starter code, reference, public cases."""
        return Response(serializers.BoardDetail(_card(request, slug)).data)


class Entries(Public):
    @extend_schema(
        parameters=[
            OpenApiParameter("epoch", OpenApiTypes.STR, description="An earlier timing epoch of the board."),
            OpenApiParameter("stage", OpenApiTypes.STR, enum=list(Stage), description="Of the competition."),
            OpenApiParameter("division", OpenApiTypes.STR, enum=DIVISIONS, description="Only entrants of this one."),
            OpenApiParameter("full", OpenApiTypes.BOOL, description="With what is frozen; for those with a role."),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"At most {serializers.MAX_LINES}."),
            OpenApiParameter("offset", OpenApiTypes.INT),
        ],
        responses=serializers.Entry(many=True),
    )
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """Return the ranking of the current stage and timing epoch, best first, a line per entrant."""
        query = serializers.EntriesQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        place = _card(request, slug).place(hardware)
        if place is None:
            raise Http404
        asked = _asked(query.validated_data)
        shown = standing.show(place.board, asked, request.user, timezone.now(), known=place.look)
        if shown is None:
            raise Http404
        if shown.in_full and not standing.may_see_in_full(request.user, place.board):
            raise UserError("full", True, f"only who has a role in {place.board.competition} sees it in full", 403)
        headers = {"X-Total-Count": str(shown.total)}
        return Response(serializers.Entry(shown.rows, many=True).data, headers=headers)


class Submissions(Private):
    parser_classes = [BoundedJSON, MultiPartParser, FormParser]

    @extend_schema(
        parameters=[
            OpenApiParameter("board", OpenApiTypes.STR, description="Only submissions to this board."),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"At most {MAX_ROWS}."),
            OpenApiParameter("offset", OpenApiTypes.INT),
        ],
        responses=serializers.SubmissionSummary(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the caller's own submissions, newest first."""
        query = serializers.Page(data=request.query_params)
        query.is_valid(raise_exception=True)
        wanted = query.validated_data
        mine = view.sent_by(self.caller(request))
        if wanted.get("board"):
            mine = mine.filter(board__slug=wanted["board"])
        start = wanted["offset"]
        items = view.shown_list(mine[start : start + wanted["limit"]])
        told = [view.to_json(item, with_code=False, details=False) for item in items]
        return Response(told, headers={"X-Total-Count": str(mine.count())})

    @extend_schema(
        request=serializers.NewSubmission,
        responses={201: serializers.Accepted},
        parameters=[
            OpenApiParameter(
                HEADER, OpenApiTypes.STR, OpenApiParameter.HEADER, description="Sent again within a day: taken once."
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Send a submission: JSON with `code`, or multipart with `file`."""
        form = serializers.NewSubmission(data=request.data)
        form.is_valid(raise_exception=True)
        sent, owner, now = form.validated_data, self.caller(request), timezone.now()

        def take() -> dict[str, Any]:
            submission = pipeline.submit(
                Upload(
                    owner=owner,
                    board_slug=sent["board"],
                    hardware=sent["hardware"],
                    mode=sent["mode"],
                    filename=sent["filename"],
                    data=sent["data"],
                    licence=sent["licence"],
                    sent_at=now,
                )
            )
            item = view.shown(submission)
            board = submission.board
            return {
                "id": item.id,
                "status": item.status,
                "board": board.slug,
                "hardware": board.hardware,
                "mode": submission.mode,
                "notes": overruled_directives(submission.source, board=board.slug, hardware=board.hardware),
                "url": item.url,
                "events": item.events,
            }

        key, was_kept = request.headers.get(HEADER), False
        if key is None:
            answer = take()
        else:
            answer, was_kept = answer_once(account_id=owner.account_id, key=key, sent=sent, now=now, act=take)
        headers = {"Location": f"/api/v1/submissions/{answer['id']}"}
        return Response(answer, status=201, headers=headers | ({"Idempotent-Replayed": "true"} if was_kept else {}))


class Submission(Private):
    @extend_schema(responses=serializers.Submission)
    def get(self, request: Request, pk: int) -> Response:
        """Return a submission. Only its owner and organisers may see it."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        return Response(view.to_json(view.shown(found)))


class Cancel(Private):
    @extend_schema(request=None, responses=serializers.Submission)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel an unfinished submission; 409 where it is finished already."""
        found = get_object_or_404(view.visible_to(self.caller(request)), pk=pk)
        cancel(submission=found, actor=self.caller(request), reason="cancelled over the API", now=timezone.now())
        return Response(view.to_json(view.shown(found)))


class NotHere(Public):
    """Every other address below /api: an error in the API's own shape."""

    schema = None

    def get(self, request: Request, **kwargs: Any) -> Response:
        return body(404, f"There is no such call: {request.path[:200]}. They are listed at /api/docs.")

    post = put = patch = delete = get


def _asked(query: dict[str, Any]) -> standing.Asked:
    stage = query.get("stage")
    return standing.Asked(
        stage=Stage(stage) if stage else None,
        epoch=query.get("epoch"),
        division=query.get("division", ""),
        in_full=query["full"],
        start=query["offset"],
        most=query["limit"],
    )


def _card(request: Request, slug: str) -> cards.Card:
    card = cards.card(slug, request.user, timezone.now())
    if card is None:
        raise Http404
    return card
