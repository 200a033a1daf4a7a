"""Matches over /api/v1: open, predict, send, paste, attach, publish, close, and read."""

from typing import Any, Final

from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.permissions import IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.judging.lease import clock
from leaderboard.matches import acts
from leaderboard.matches.acts import MOST_ATTACHED, MOST_TURNS, Exchange
from leaderboard.matches.models import (
    BOUNDS,
    HUMAN,
    LEAST_WHY_CHARS,
    MACHINE,
    MACHINES,
    MOST_ANSWER_CHARS,
    MOST_PROMPT_CHARS,
    MOST_REASON_CHARS,
    MOST_SPEEDUP,
    MOST_WHY_CHARS,
    Match,
)
from leaderboard.matches.models import Version as VersionRow
from leaderboard.matches.permissions import gallery, matches_of
from leaderboard.matches.read import TIE, Played, Report, report_on, reports_on
from leaderboard.source import read_code
from leaderboard.submissions.intake import Upload
from leaderboard.web.api.base import HasScope, Private, Public, ShortList, paged, parse
from leaderboard.web.api.serializers import HALF_WIDTH, STATUSES, Keyed, NewLineage, lineage_of, optional_text
from leaderboard.web.api.views import HEADER, KEYED, answer_once
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.matches.pages import match_of, said
from leaderboard.web.people.discussion import board_of

RATIO: Final = "Time over the eager reference's; below 1 is faster."


class MatchesQuery(Keyed):
    which = drf.ChoiceField(choices=("own", "public"), default="own", help_text="`public`: the gallery.")


class NewMatch(drf.Serializer[Any]):
    model = drf.CharField(max_length=128, help_text="Name of the model, as in the lineage of its kernels.")
    machine = drf.ChoiceField(choices=MACHINES, default="prompts", help_text="How the machine plays.")


class NewPrediction(drf.Serializer[Any]):
    bound = drf.ChoiceField(choices=BOUNDS)
    speedup = drf.FloatField(help_text="Expected of the best kernel over the eager reference; above 1 is faster.")
    why = drf.CharField(max_length=2 * MOST_WHY_CHARS, help_text=f"{LEAST_WHY_CHARS} to {MOST_WHY_CHARS} characters.")


class NewVersion(drf.Serializer[Any]):
    code = drf.CharField(trim_whitespace=False, allow_blank=True)
    filename = optional_text(255)
    licence = optional_text(200)
    reason = optional_text(2 * MOST_REASON_CHARS, "Of the change. Required from the second version on.")
    expected = drf.FloatField(
        required=False,
        allow_null=True,
        default=None,
        max_value=MOST_SPEEDUP,
        help_text="Speed-up expected of this version. Required from the second version on.",
    )


class Dialogue(drf.Serializer[Any]):
    """The prompt and the answer behind a kernel of the machine."""

    prompt = drf.CharField(
        max_length=MOST_PROMPT_CHARS, trim_whitespace=False, allow_blank=True, default="", help_text="The exact text."
    )
    answer = drf.CharField(
        max_length=MOST_ANSWER_CHARS, trim_whitespace=False, allow_blank=True, default="", help_text="The whole text."
    )
    turn = drf.IntegerField(min_value=1, max_value=MOST_TURNS, allow_null=True, default=None, help_text="Its number.")


class NewAnswer(Dialogue):
    code = drf.CharField(
        trim_whitespace=False, allow_blank=True, default="", help_text="Default: the answer's longest code block."
    )
    filename = optional_text(255)
    lineage = NewLineage(required=False, allow_null=True, help_text="The match names its model.")


class Attached(Dialogue):
    submission = drf.IntegerField(min_value=1, max_value=MAX_KEY)


class NewAttachment(drf.Serializer[Any]):
    submissions = ShortList(child=Attached(), min_length=1, max_length=MOST_ATTACHED)


class MatchPrediction(drf.Serializer[Any]):
    bound = drf.ChoiceField(choices=BOUNDS)
    speedup = drf.FloatField()
    why = drf.CharField()
    committed_at = drf.DateTimeField()


class MatchVersion(drf.Serializer[Any]):
    """A version with its verdict and the gates that it passed."""

    number = drf.IntegerField()
    submission = drf.IntegerField(source="version.submission_id")
    status = drf.CharField(source="status.status", help_text=STATUSES)
    outcome = drf.CharField(source="status.outcome", allow_blank=True)
    compiled = drf.BooleanField(source="is_compiled")
    correct = drf.BooleanField(source="is_correct")
    faster = drf.BooleanField(source="is_faster", help_text="Surely faster than the eager reference.")
    ratio = drf.FloatField(source="status.ratio", allow_null=True, help_text=RATIO)
    half_width = drf.FloatField(source="status.half_width", allow_null=True, help_text=HALF_WIDTH)
    reason = drf.CharField(source="version.reason", allow_blank=True)
    expected = drf.FloatField(source="version.expected", allow_null=True, help_text="Speed-up.")
    prompt = drf.CharField(source="version.prompt", allow_blank=True)
    answer = drf.CharField(source="version.answer", allow_blank=True)
    turn = drf.IntegerField(source="version.turn", allow_null=True)
    created_at = drf.DateTimeField(source="version.created_at")


class MatchCase(drf.Serializer[Any]):
    """A timed case of both best versions."""

    name = drf.CharField()
    human = drf.FloatField(source="human.ratio", allow_null=True, default=None, help_text=RATIO)
    machine = drf.FloatField(source="machine.ratio", allow_null=True, default=None, help_text=RATIO)
    ahead = drf.CharField(source="winner", allow_blank=True, help_text=f"{HUMAN}, {MACHINE} or {TIE}.")


class MatchMeasured(drf.Serializer[Any]):
    """What the judge says about the prediction, from the best version of the human side."""

    bound = drf.CharField(source="bounds", allow_blank=True, help_text="By a profile, else by the speed of light.")
    light_share = drf.FloatField(allow_null=True, help_text="Share of the speed of light.")
    sentence = drf.CharField(allow_blank=True, help_text="Of the profile.")


class MatchSummary(drf.Serializer[Any]):
    id = drf.IntegerField(source="match.pk")
    board = drf.CharField(source="match.board.slug")
    hardware = drf.CharField(source="match.board.hardware")
    human = drf.CharField(source="match.human.shown_name")
    model = drf.CharField(source="match.model")
    machine = drf.ChoiceField(choices=MACHINES, source="match.machine")
    public = drf.BooleanField(source="match.is_public")
    texts_public = drf.BooleanField(source="match.shows_texts", help_text="`/matches/{id}/texts` has the worklog's.")
    closed_at = drf.DateTimeField(source="match.closed_at", allow_null=True)
    created_at = drf.DateTimeField(source="match.created_at")
    predicted = drf.SerializerMethodField()
    versions = drf.SerializerMethodField(help_text="Numbers of versions of human and machine.")
    result = drf.CharField(
        allow_blank=True, help_text=f"{HUMAN}, {MACHINE}, or {TIE} within noise; empty: a side has no correct version."
    )
    said = drf.SerializerMethodField(help_text="The score as a sentence.")
    url = drf.SerializerMethodField()

    def get_predicted(self, report: Report) -> bool:
        return report.prediction is not None

    @extend_schema_field(drf.DictField(child=drf.IntegerField()))
    def get_versions(self, report: Report) -> dict[str, int]:
        return {side.name: len(side.versions) for side in report.sides}

    def get_said(self, report: Report) -> str:
        return said(report)

    def get_url(self, report: Report) -> str:
        return f"/matches/{report.match.pk}"


class MatchDetail(MatchSummary):
    prediction = MatchPrediction(allow_null=True)
    measured = MatchMeasured(allow_null=True)
    compiled = drf.FloatField(
        source="compiled.ratio", allow_null=True, default=None, help_text=f"torch.compile. {RATIO}"
    )
    human_versions = MatchVersion(source="human.versions", many=True)
    machine_versions = MatchVersion(source="machine.versions", many=True)
    cases = MatchCase(many=True)


class Matches(Public):
    permission_classes = [IsAuthenticatedOrReadOnly, HasScope]

    @extend_schema(operation_id="matches", parameters=[MatchesQuery], responses=MatchSummary(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's matches, or the public ones; newest first."""
        query, user = parse(MatchesQuery, request.query_params), request.user
        own = query["which"] == "own" and isinstance(user, User)
        found = matches_of(user) if own and isinstance(user, User) else gallery(user)
        now = timezone.now()
        return paged(request, found, query, MatchSummary, ["-pk"], prepare=lambda rows: reports_on(list(rows), now))


class OpenMatch(Private):
    @extend_schema(operation_id="open_match", request=NewMatch, responses={201: MatchDetail})
    def post(self, request: Request, slug: str, hardware: str) -> Response:
        """Open a match of the caller's entrant against a model. The caller operates the machine side."""
        board, sent = board_of(request.user, slug, hardware), parse(NewMatch, request.data)
        made = acts.open_match(board=board, opener=self.caller(request), now=timezone.now(), **sent)
        return Response(shown(request, made.pk), status=201)


class OneMatch(Public):
    @extend_schema(operation_id="match", responses=MatchDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a match with its versions. Its sides and the competition's staff read it, everybody a public one."""
        return Response(shown(request, pk))


class Predict(Private):
    @extend_schema(operation_id="predict", request=NewPrediction, responses={201: MatchDetail})
    def post(self, request: Request, pk: int) -> Response:
        """Commit the prediction of the human side. Nobody can change it afterwards."""
        match, sent = match_of(request.user, pk), parse(NewPrediction, request.data)
        acts.predict(match=match, author=self.caller(request), now=timezone.now(), **sent)
        return Response(shown(request, pk), status=201)


class SendVersion(Private):
    @extend_schema(operation_id="send_version", request=NewVersion, responses={201: MatchVersion}, parameters=[KEYED])
    def post(self, request: Request, pk: int) -> Response:
        """Send the next version of the human side, as a submission of mode benchmark."""
        match, sent, caller = match_of(request.user, pk), parse(NewVersion, request.data), self.caller(request)
        upload = _upload(sent["code"], sent["filename"], licence=sent["licence"])

        def take() -> VersionRow:
            told = {"reason": sent["reason"], "expected": sent["expected"], "token": self.token(request)}
            return acts.send_version(match=match, upload=upload, author=caller, now=clock(), **told)

        return _sent_once(request, caller, sent | {"match": pk}, take)


class SendAnswer(Private):
    @extend_schema(operation_id="send_answer", request=NewAnswer, responses={201: MatchVersion}, parameters=[KEYED])
    def post(self, request: Request, pk: int) -> Response:
        """Send a kernel of the machine with its prompt and answer, as a submission of mode benchmark."""
        match, sent, caller = match_of(request.user, pk), parse(NewAnswer, request.data), self.caller(request)
        code = sent["code"] or read_code(sent["answer"])
        if not code.strip():
            raise drf.ValidationError({"answer": "has no code block between ``` lines; send the kernel as `code`"})
        upload = _upload(code, sent["filename"], **lineage_of(sent))
        exchange = Exchange(sent["prompt"], sent["answer"], sent["turn"])

        def take() -> VersionRow:
            token = self.token(request)
            return acts.send_answer(
                match=match, upload=upload, operator=caller, exchange=exchange, now=clock(), token=token
            )

        return _sent_once(request, caller, sent | {"match": pk}, take)


class Attach(Private):
    @extend_schema(operation_id="attach_to_match", request=NewAttachment, responses=MatchVersion(many=True))
    def post(self, request: Request, pk: int) -> Response:
        """Make submissions of the operator versions of the machine. Attached ones stay as they are."""
        match, sent = match_of(request.user, pk), parse(NewAttachment, request.data)["submissions"]
        rows = [(one["submission"], Exchange(one["prompt"], one["answer"], one["turn"])) for one in sent]
        made = acts.attach(match=match, operator=self.caller(request), sent=rows, now=timezone.now())
        return Response(MatchVersion(_played(match, made), many=True).data)


class Publish(Private):
    @extend_schema(operation_id="publish_match", request=None, responses=MatchDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Publish the match for the caller's sides. With the consent of both, everybody reads it."""
        acts.publish(match=match_of(request.user, pk), actor=self.caller(request), now=timezone.now())
        return Response(shown(request, pk))


class Withdraw(Private):
    @extend_schema(operation_id="withdraw_match", request=None, responses=MatchDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Take the consent of the caller's sides back; staff of the competition take a match from the public."""
        acts.withdraw(match=match_of(request.user, pk), actor=self.caller(request), now=timezone.now())
        return Response(shown(request, pk))


class Close(Private):
    @extend_schema(operation_id="close_match", request=None, responses=MatchDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Close a match: it takes no further version."""
        acts.close(match=match_of(request.user, pk), actor=self.caller(request), now=timezone.now())
        return Response(shown(request, pk))


def shown(request: Request, pk: int) -> Any:
    return MatchDetail(report_on(match_of(request.user, pk), timezone.now())).data


def _upload(code: str, filename: str, **told: Any) -> Upload:
    data = code.encode("utf-8", "surrogatepass")
    return Upload(board="", hardware="", mode="", filename=filename, data=data, **told)


def _played(match: Match, versions: list[VersionRow]) -> list[Played]:
    wanted = {one.pk for one in versions}
    report = report_on(match, timezone.now())
    return [one for side in report.sides for one in side.versions if one.version.pk in wanted]


def _sent_once(request: Request, caller: User, sent: dict[str, Any], take: Any) -> Response:
    """Answer with the version that `take` sends, once for each Idempotency-Key."""

    def answer() -> dict[str, Any]:
        made = take()
        return dict(MatchVersion(_played(made.match, [made])[0]).data)

    key, was_kept = request.headers.get(HEADER), False
    if key is None:
        found = answer()
    else:
        found, was_kept = answer_once(account_id=caller.account_id, key=key, sent=sent, now=clock(), act=answer)
    return Response(found, status=201, headers={"Idempotent-Replayed": "true"} if was_kept else {})


URLS: list[URLPattern] = [
    path("matches", Matches.as_view()),
    path("boards/<slug:slug>/<str:hardware>/matches", OpenMatch.as_view()),
    path("matches/<int:pk>", OneMatch.as_view()),
    path("matches/<int:pk>/predict", Predict.as_view()),
    path("matches/<int:pk>/versions", SendVersion.as_view()),
    path("matches/<int:pk>/answers", SendAnswer.as_view()),
    path("matches/<int:pk>/attach", Attach.as_view()),
    path("matches/<int:pk>/publish", Publish.as_view()),
    path("matches/<int:pk>/withdraw", Withdraw.as_view()),
    path("matches/<int:pk>/close", Close.as_view()),
]
