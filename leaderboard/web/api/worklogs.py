"""Worklogs over /api/v1: read, save a section, hand in. Members and the competition's staff read a worklog."""

from typing import Any, Final

from django.conf import settings
from django.http import Http404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.classes.work import hand_in
from leaderboard.matches import worklog as acts
from leaderboard.matches.acts import hide_texts, publish_texts
from leaderboard.matches.document import as_markdown
from leaderboard.matches.models import MOST_SECTION_CHARS, SECTIONS, Match
from leaderboard.web.api.base import PlainText, Private, Public, paged, parse
from leaderboard.web.api.matches import MatchDetail, shown
from leaderboard.web.api.serializers import Keyed
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.matches.pages import match_of
from leaderboard.web.matches.worklog_pages import document_for, worklog_match

TEXT: Final = f"Markdown with $formulas$, at most {MOST_SECTION_CHARS:,} characters; #12 links submission 12."
BEGAN_FROM: Final = "Revision of the stored text that the caller has read; 0: none is stored."


class WorklogQuery(drf.Serializer[Any]):
    hand_in = drf.IntegerField(
        required=False, min_value=1, max_value=MAX_KEY, help_text="Number of a hand-in. Default: the worklog of now."
    )


class NewText(drf.Serializer[Any]):
    text = drf.CharField(max_length=2 * MOST_SECTION_CHARS, allow_blank=True, trim_whitespace=False, help_text=TEXT)
    revision = drf.IntegerField(min_value=0, max_value=MAX_KEY, help_text=BEGAN_FROM)


class WorklogFact(drf.Serializer[Any]):
    """A sentence of the site, with the submission that its figure comes from."""

    name = drf.CharField()
    text = drf.CharField()
    speedup = drf.FloatField(allow_null=True)
    half_width = drf.FloatField(allow_null=True, required=False, help_text="Of speedup, relative, 95 %; null: unknown.")
    submission = drf.IntegerField(allow_null=True)
    url = drf.CharField(allow_blank=True)


class WorklogExtract(drf.Serializer[Any]):
    """A longer text of the site: a diff, a prompt, an answer, an error."""

    title = drf.CharField()
    kind = drf.CharField(help_text="diff or text.")
    text = drf.CharField(allow_blank=True)
    url = drf.CharField(allow_blank=True)
    is_cut = drf.BooleanField()


class WorklogMatch(drf.Serializer[Any]):
    id = drf.IntegerField()
    problem = drf.CharField()
    board = drf.CharField()
    hardware = drf.CharField()
    human = drf.CharField()
    model = drf.CharField()
    machine = drf.CharField()


class WorklogSection(drf.Serializer[Any]):
    """A section: the stored text with its revision, and the facts of the site."""

    section = drf.ChoiceField(choices=SECTIONS)
    title = drf.CharField()
    text = drf.CharField(allow_blank=True, help_text=TEXT)
    revision = drf.IntegerField(help_text="Of the stored text; 0: none.")
    saved_by = drf.CharField(allow_blank=True)
    saved_at = drf.DateTimeField(allow_null=True)
    facts = WorklogFact(many=True)
    extracts = WorklogExtract(many=True)


class HandInLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    by = drf.CharField(source="by.username")
    at = drf.DateTimeField()
    digest = drf.CharField(help_text="sha256 of the document as JSON with sorted keys and without spaces.")


class NewHandIn(HandInLine):
    missing = drf.SerializerMethodField(help_text="Sections without a text.")

    @extend_schema_field(drf.ListField(child=drf.CharField()))
    def get_missing(self, handed: Any) -> list[str]:
        missing: list[str] = handed.document["missing"]
        return missing


class Worklog(drf.Serializer[Any]):
    """The document that a hand-in keeps, with the same keys as the site's JSON file; each map is by section."""

    schema = drf.IntegerField(help_text="Version of this shape.")
    match = WorklogMatch()
    titles = drf.DictField(child=drf.CharField())
    texts = drf.DictField(child=drf.CharField(allow_blank=True))
    missing = drf.ListField(child=drf.CharField(), help_text="Sections without a text.")
    facts = drf.DictField(child=drf.ListField(child=WorklogFact()))
    extracts = drf.DictField(child=drf.ListField(child=WorklogExtract()))
    runs = drf.DictField(required=False, help_text="The history as data: prediction, first run, versions. Of schema 2.")
    hand_in = HandInLine(allow_null=True, help_text="Null: the worklog of now.")
    revisions = drf.DictField(child=drf.IntegerField(), help_text="Of the stored texts; without a section: 0.")


class PublishedTexts(drf.Serializer[Any]):
    titles = drf.DictField(child=drf.CharField())
    texts = drf.DictField(child=drf.CharField(allow_blank=True), help_text="By section. " + TEXT)
    handed_in_at = drf.DateTimeField()


class OneWorklog(Private):
    renderer_classes = [JSONRenderer, PlainText]

    @extend_schema(
        operation_id="worklog",
        parameters=[WorklogQuery, OpenApiParameter("format", str, enum=["json", "text"])],
        responses={(200, "application/json"): Worklog, (200, "text/plain"): OpenApiTypes.STR},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return the worklog of a match with its facts, as JSON or as a Markdown file."""
        hand_in = parse(WorklogQuery, request.query_params).get("hand_in")
        match, document, handed = document_for(self.caller(request), pk, hand_in)
        if request.accepted_renderer.format == PlainText.format:
            return Response(as_markdown(document, settings.SITE_URL))
        saved = {} if handed else acts.texts_of(match)
        revisions = {name: one.revision for name, one in saved.items()}
        by = HandInLine(handed).data if handed else None
        return Response({**document, "hand_in": by, "revisions": revisions})  # whole: its digest covers every key


class OneSection(Private):
    @extend_schema(operation_id="worklog_section", responses=WorklogSection)
    def get(self, request: Request, pk: int, section: str) -> Response:
        """Return a section with its stored text, revision and facts."""
        return Response(_section(self.caller(request), pk, section))

    @extend_schema(operation_id="save_section", request=NewText, responses=WorklogSection)
    def post(self, request: Request, pk: int, section: str) -> Response:
        """Save the text of a section. A save that began from another revision answers 409 and changes nothing."""
        caller = self.caller(request)
        match, sent = _match_of(caller, pk, section), parse(NewText, request.data)
        acts.save_section(match=match, section=section, author=caller, now=timezone.now(), **sent)
        return Response(_section(caller, pk, section))


class HandIns(Private):
    @extend_schema(operation_id="hand_ins", parameters=[Keyed], responses=HandInLine(many=True))
    def get(self, request: Request, pk: int) -> Response:
        """List the hand-ins of a worklog, newest first. The newest counts."""
        match, query = worklog_match(self.caller(request), pk), parse(Keyed, request.query_params)
        return paged(request, match.hand_ins.select_related("by").defer("document"), query, HandInLine, ["-pk"])

    @extend_schema(operation_id="hand_in", request=None, responses={201: NewHandIn})
    def post(self, request: Request, pk: int) -> Response:
        """Keep texts and facts as they are now, once until worklog or members change."""
        caller = self.caller(request)
        made = hand_in(match=worklog_match(caller, pk), author=caller, now=timezone.now())
        return Response(NewHandIn(made).data, status=201)


class PublicTexts(Public):
    @extend_schema(operation_id="public_texts", responses=PublishedTexts)
    def get(self, request: Request, pk: int) -> Response:
        """Return the texts of the last hand-in of a public match, if its human side published them."""
        handed = acts.public_texts(match_of(request.user, pk))
        if handed is None:
            raise Http404
        document = handed.document
        return Response({"titles": document["titles"], "texts": document["texts"], "handed_in_at": handed.at})


class PublishTexts(Private):
    @extend_schema(operation_id="publish_texts", request=None, responses=MatchDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Let a public match show the texts of the last hand-in. Members of the human side only."""
        publish_texts(match=match_of(request.user, pk), **self.by(request))
        return Response(shown(request, pk))


class HideTexts(Private):
    @extend_schema(operation_id="hide_texts", request=None, responses=MatchDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Take the texts of the worklog from the public."""
        hide_texts(match=match_of(request.user, pk), **self.by(request))
        return Response(shown(request, pk))


def _match_of(user: User, pk: int, section: str) -> Match:
    if section not in SECTIONS:
        raise Http404
    return worklog_match(user, pk)


def _section(user: User, pk: int, section: str) -> Any:
    match = _match_of(user, pk, section)
    document, stored = acts.worklog_of(match, timezone.now()), acts.texts_of(match).get(section)
    shown = {
        "section": section,
        "title": document["titles"][section],
        "text": document["texts"][section],
        "revision": stored.revision if stored else 0,
        "saved_by": stored.saved_by.get_username() if stored else "",
        "saved_at": stored.saved_at if stored else None,
        "facts": document["facts"][section],
        "extracts": document["extracts"][section],
    }
    return WorklogSection(shown).data


URLS: list[URLPattern] = [
    path("matches/<int:pk>/worklog", OneWorklog.as_view()),
    path("matches/<int:pk>/worklog/hand-ins", HandIns.as_view()),
    path("matches/<int:pk>/worklog/<slug:section>", OneSection.as_view()),
    path("matches/<int:pk>/texts", PublicTexts.as_view()),
    path("matches/<int:pk>/publish-texts", PublishTexts.as_view()),
    path("matches/<int:pk>/hide-texts", HideTexts.as_view()),
]
