"""Write-ups and comments of a board over /api/v1. Text is plain text, never markup."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.permissions import IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.discussion import acts
from leaderboard.discussion.models import COMMENT, KINDS, MOST_CHARS, WRITE_UP, Post
from leaderboard.web.api.base import HasScope, Private, Public, paged, parse
from leaderboard.web.api.serializers import Keyed, optional_text
from leaderboard.web.people.discussion import board_of, send_report, standing_post


class PostsQuery(Keyed):
    kind = drf.ChoiceField(choices=KINDS, default=COMMENT)


class NewPost(drf.Serializer[Any]):
    kind = drf.ChoiceField(choices=KINDS, default=COMMENT, help_text="A write-up needs an entry on the board.")
    text = drf.CharField(
        max_length=MOST_CHARS[WRITE_UP],
        help_text=f"Plain text; a comment has at most {MOST_CHARS[COMMENT]} characters.",
    )


class DiscussionPost(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    kind = drf.CharField()
    author = drf.CharField(source="entrant.shown_name")
    text = drf.SerializerMethodField(help_text="Empty: a moderator removed it.")
    created_at = drf.DateTimeField()
    removal = drf.CharField(allow_blank=True, help_text="Reason of the moderator who removed it.")

    def get_text(self, post: Post) -> str:
        return post.text if post.is_shown else ""


class RemovePostRequest(drf.Serializer[Any]):
    reason = optional_text(MAX_REASON_CHARS, "Required of moderators; everybody reads it.")


class PostRemoved(drf.Serializer[Any]):
    removed = drf.BooleanField(help_text="False: it was removed already.")


class ReportPostRequest(drf.Serializer[Any]):
    reason = drf.CharField(max_length=MAX_REASON_CHARS, help_text="For the organisers.")


class PostReported(drf.Serializer[Any]):
    reported = drf.BooleanField()


class Posts(Public):
    permission_classes = [IsAuthenticatedOrReadOnly, HasScope]

    @extend_schema(operation_id="posts", parameters=[PostsQuery], responses=DiscussionPost(many=True))
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """List comments or write-ups of a board, newest first. Empty until its contest is over."""
        query, board = parse(PostsQuery, request.query_params), board_of(request.user, slug, hardware)
        found = acts.posts_on(board, query["kind"]).select_related("entrant")
        if not acts.is_open(board, timezone.now()):
            found = found.none()
        return paged(request, found, query, DiscussionPost, ["-pk"])

    @extend_schema(operation_id="write_post", request=NewPost, responses={201: DiscussionPost})
    def post(self, request: Request, slug: str, hardware: str) -> Response:
        """Write a comment, or the write-up of the caller's entrant. Entrants only, once the contest is over."""
        board, sent = board_of(request.user, slug, hardware), parse(NewPost, request.data)
        made = acts.write_post(board=board, author=Private.caller(request), now=timezone.now(), **sent)
        return Response(DiscussionPost(made).data, status=201)


class Remove(Private):
    @extend_schema(operation_id="remove_post", request=RemovePostRequest, responses=PostRemoved)
    def post(self, request: Request, slug: str, hardware: str, pk: int) -> Response:
        """Remove a post. Its author, a write-up's entrant, or a reviewer with a reason."""
        post, sent = standing_post(board_of(request.user, slug, hardware), pk), parse(RemovePostRequest, request.data)
        return Response(
            {"removed": acts.remove_post(post=post, actor=self.caller(request), now=timezone.now(), **sent)}
        )


class Report(Private):
    @extend_schema(operation_id="report_post", request=ReportPostRequest, responses=PostReported)
    def post(self, request: Request, slug: str, hardware: str, pk: int) -> Response:
        """Report a post to the organisers of the competition. Once a post, 20 reports a day."""
        post, sent = standing_post(board_of(request.user, slug, hardware), pk), parse(ReportPostRequest, request.data)
        send_report(post, self.caller(request), sent["reason"])
        return Response({"reported": True})
