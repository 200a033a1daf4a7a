"""Boards of a competition over /api/v1, for its organisers."""

import re
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.competitions import checks, edit
from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.competitions.permissions import versions_seen_by
from leaderboard.errors import UserError
from leaderboard.web.api.base import Owners, ShortList, paged, parse
from leaderboard.web.api.serializers import Keyed, optional_text


@transaction.atomic
def remove_boards(boards: list[Board], *, actor: User, reason: str, force: bool, now: datetime) -> tuple[int, int]:
    """Remove all boards or none; return the numbers of removed and of closed boards.

    With `force`, boards that cannot be removed are closed: submissions, posts, quotas and tracks stay.
    """
    removed = closed = 0
    for board in boards:
        if not (force and board.submissions.exists()):
            try:
                edit.remove_board(board=board, actor=actor, now=now)
                removed += 1
                continue
            except UserError as error:
                if not force or error.status != 409:
                    raise
        if board.closes_at is None or board.closes_at > now:
            edit.close_board(board=board, actor=actor, reason=reason, now=now)
            closed += 1
    return removed, closed


def boards_of(competition: Competition, slug: str) -> list[Board]:
    found = list(competition.boards.select_related("competition").filter(slug=slug.replace("\0", "?")))
    if not found:
        raise UserError("board", slug, f"there is none of this name in {competition}", 404)
    return found


def version_of(user: User, digest: str) -> ProblemVersion:
    """Return the version with this digest, if the user may choose it for a board. Raise UserError.

    The first characters of a digest are enough, such as sha256:9f86d081, if they fit one version alone.
    """
    text = "no version of a problem that you see has this digest; `photofinish admin boards` lists digests"
    if re.fullmatch(r"sha256:[0-9a-f]{8,64}", digest):
        found = versions_seen_by(user).filter(digest__startswith=digest)[:2]
        if len(found) == 1:
            return found[0]
        if found:
            text = "several versions begin with it: write more of the digest"
    raise UserError("digest", digest, text, 404)


class OrganisedBoard(drf.Serializer[Any]):
    slug = drf.CharField()
    hardware = drf.CharField()
    problem = drf.CharField(source="problem.slug")
    digest = drf.CharField(source="version.digest")
    deadline = drf.DateTimeField(allow_null=True, help_text="The board's own.")
    tags = drf.ListField(child=drf.CharField())


class NewBoard(drf.Serializer[Any]):
    digest = drf.CharField(
        max_length=80, help_text="Digest of the problem's version, or its first eight digits or more."
    )
    hardware = drf.CharField(max_length=64)
    slug = optional_text(checks.MAX_SLUG_CHARS, "Default: the problem's name.")
    deadline = drf.DateTimeField(allow_null=True, default=None)
    tags = ShortList(child=drf.CharField(max_length=32), default=list, max_length=checks.MAX_TAGS)


class BoardName(drf.Serializer[Any]):
    board = drf.CharField(max_length=64)
    hardware = drf.CharField(max_length=64)


class CloseRequest(BoardName):
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class BoardRequest(BoardName):
    """Any of the settings; the others stay."""

    digest = drf.CharField(max_length=80, required=False, help_text="Of another version, before the first submission.")
    deadline = drf.DateTimeField(allow_null=True, required=False)
    tags = ShortList(child=drf.CharField(max_length=32), required=False, max_length=checks.MAX_TAGS)
    reason = optional_text(MAX_REASON_CHARS, "Required to move a deadline that has passed, or into the past.")


class RemoveRequest(drf.Serializer[Any]):
    board = drf.CharField(max_length=64)
    force = drf.BooleanField(default=False, help_text="Close boards that cannot be removed.")
    reason = optional_text(MAX_REASON_CHARS)


class RemovedBoards(drf.Serializer[Any]):
    removed = drf.IntegerField()
    closed = drf.IntegerField()


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
        competition, sent = self.competition(request, slug, "add a board"), parse(NewBoard, request.data)
        version = version_of(self.caller(request), sent.pop("digest"))
        board = pipeline.add_board(competition=competition, version=version, **self.by(request), **sent)
        return Response(OrganisedBoard(board).data, status=201)


class EditBoard(Owners):
    @extend_schema(operation_id="edit_board", request=BoardRequest, responses=OrganisedBoard)
    def post(self, request: Request, slug: str) -> Response:
        """Change some settings of a board. Owners only."""
        competition, sent = self.competition(request, slug, "edit a board"), parse(BoardRequest, request.data)
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
        competition, sent = self.competition(request, slug, "close a board"), parse(CloseRequest, request.data)
        done = edit.close_board(board=_board(competition, sent), reason=sent["reason"], **self.by(request))
        return Response(OrganisedBoard(done).data)


class RemoveBoard(Owners):
    @extend_schema(operation_id="remove_board", request=RemoveRequest, responses=RemovedBoards)
    def post(self, request: Request, slug: str) -> Response:
        """Remove a board without submissions, on all its hardware. Owners only."""
        competition, sent = self.competition(request, slug, "remove boards"), parse(RemoveRequest, request.data)
        reason = sent["reason"] or "closed over the API"
        boards = boards_of(competition, sent["board"])
        removed, closed = remove_boards(boards, reason=reason, force=sent["force"], **self.by(request))
        return Response({"removed": removed, "closed": closed})


URLS: Final[list[URLPattern]] = [
    path("organise/<slug:slug>/boards", OrganisedBoards.as_view()),
    path("organise/<slug:slug>/boards/close", CloseBoard.as_view()),
    path("organise/<slug:slug>/boards/edit", EditBoard.as_view()),
    path("organise/<slug:slug>/boards/remove", RemoveBoard.as_view()),
]
