"""The shapes of /api/v1. Requests are parsed here once, and responses are described here for the schema."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.checks import LICENCES
from leaderboard.competitions.models import DIVISIONS
from leaderboard.standings.ranking.eligible import NO_TELEMETRY
from leaderboard.standings.read.records import CONFIRMED_MARK, NOT_YET
from leaderboard.web.boards.cards import Card
from leaderboard.web.submissions.starter_code import REFERENCE
from runner.wire import MODES, TELEMETRY

MAX_LINES: Final = 1_000


class Token(serializers.Serializer[Any]):
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())


class Me(serializers.Serializer[Any]):
    username = serializers.CharField()
    token = Token()


class Board(serializers.Serializer[Any]):
    slug = serializers.CharField()
    title = serializers.CharField()
    competition = serializers.CharField(source="competition.name")
    hardware = serializers.ListField(child=serializers.CharField())
    deadline = serializers.DateTimeField(allow_null=True)
    open = serializers.BooleanField(source="is_open")
    entries = serializers.DictField(child=serializers.IntegerField())


class Epoch(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField(allow_null=True)
    current = serializers.BooleanField(source="is_current")


class BoardDetail(Board):
    description = serializers.SerializerMethodField()
    templates = serializers.SerializerMethodField()
    reference = serializers.SerializerMethodField()
    ranking_by = serializers.SerializerMethodField()
    cases = serializers.SerializerMethodField()
    benchmarks_on = serializers.SerializerMethodField(help_text="The timed cases, by the hardware they are timed on.")

    epochs = serializers.SerializerMethodField(help_text="Timing epochs that have lines, by hardware, current first.")

    def get_description(self, card: Card) -> str:
        return str(card.version.part("description", ""))

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_templates(self, card: Card) -> dict[str, str]:
        return dict(card.version.part("templates", {}))

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_reference(self, card: Card) -> str | None:
        text: str | None = card.version.part("files", {}).get(REFERENCE)
        return text

    def get_ranking_by(self, card: Card) -> str:
        return str(card.version.part("ranking_by", ""))

    @extend_schema_field(serializers.DictField(child=serializers.ListField(child=serializers.DictField())))
    def get_cases(self, card: Card) -> dict[str, Any]:
        return {kind: card.version.part(kind, []) for kind in ("tests", "benchmarks")}

    @extend_schema_field(serializers.DictField(child=serializers.ListField(child=serializers.DictField())))
    def get_benchmarks_on(self, card: Card) -> dict[str, Any]:
        return {hardware: version.part("benchmarks", []) for hardware, version in card.versions.items()}

    @extend_schema_field(serializers.DictField(child=Epoch(many=True)))
    def get_epochs(self, card: Card) -> dict[str, Any]:
        return {place.hardware: Epoch(place.epochs, many=True).data for place in card.places}


class Entry(serializers.Serializer[Any]):
    rank = serializers.IntegerField(help_text="Shared by those who are tied: 1, 1, 3.")
    tied = serializers.BooleanField()
    user = serializers.CharField(help_text="The name that the entrant is shown by.")
    division = serializers.CharField(source="entrant.division")
    model_name = serializers.CharField(source="entrant.model_name", allow_blank=True)
    affiliation = serializers.CharField(source="entrant.affiliation", allow_blank=True)
    team = serializers.BooleanField(source="entrant.is_team")
    ratio = serializers.FloatField(help_text="Candidate / baseline, the geometric mean over `runs` of one kernel.")
    score_us = serializers.FloatField(help_text="Measured time, the geometric mean over `runs`; it does not rank.")
    half_width = serializers.FloatField(allow_null=True)
    forgeable = serializers.FloatField(help_text="Share of the true time that may be missing at most.")
    telemetry = serializers.CharField(allow_blank=True)
    light = serializers.FloatField(allow_null=True, help_text="Share of the speed of light that its first run reached.")
    runs = serializers.IntegerField()
    epoch = serializers.CharField(allow_blank=True)
    submitted_at = serializers.DateTimeField()
    submission = serializers.IntegerField()
    record = serializers.CharField(
        allow_blank=True,
        help_text=f"Of who took first place of a contest from another: {NOT_YET!r} or {CONFIRMED_MARK!r}.",
    )


class EntriesQuery(serializers.Serializer[Any]):
    epoch = serializers.CharField(required=False, allow_blank=True, max_length=64)
    stage = serializers.ChoiceField(choices=list(Stage), required=False)
    division = serializers.ChoiceField(choices=DIVISIONS, required=False)
    full = serializers.BooleanField(default=False)
    limit = serializers.IntegerField(default=MAX_LINES, min_value=1, max_value=MAX_LINES)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000)


class Paging(serializers.Serializer[Any]):
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000)


class Page(Paging):
    board = serializers.CharField(required=False, allow_blank=True, max_length=64)


class NewSubmission(serializers.Serializer[Any]):
    """Shape of a submission request. submissions/intake.py checks board, hardware and the source itself."""

    board = serializers.CharField(max_length=200, allow_blank=True, default="")
    hardware = serializers.CharField(max_length=200, allow_blank=True, default="")
    mode = serializers.CharField(max_length=64, help_text=", ".join(MODES))
    filename = serializers.CharField(max_length=255, allow_blank=True, default="")
    licence = serializers.CharField(max_length=200, allow_blank=True, default="", help_text=", ".join(LICENCES))
    code = serializers.CharField(trim_whitespace=False, allow_blank=True, required=False)
    file = serializers.FileField(required=False, allow_empty_file=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("code" in attrs) == ("file" in attrs):
            raise serializers.ValidationError({"code": "send the source either as `code` or as `file`"})
        upload = attrs.pop("file", None)
        if upload is None:
            attrs["data"] = attrs.pop("code").encode("utf-8", "surrogatepass")
        else:
            attrs["data"] = upload.read()  # all of it, so that the refusal can give its size
        attrs["filename"] = attrs["filename"] or (upload.name if upload else "")  # "": the problem's own name
        return attrs


class Sent(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    status = serializers.CharField()
    board = serializers.CharField()
    hardware = serializers.CharField()
    mode = serializers.CharField()
    url = serializers.CharField()
    events = serializers.CharField()


class Accepted(Sent):
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Directives of the file that the request's own fields overruled."
    )


class SubmissionSummary(Sent):
    filename = serializers.CharField()
    licence = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    outcome = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    ratio = serializers.FloatField(allow_null=True, help_text="Candidate / baseline of this run; below 1 is faster.")
    score_us = serializers.FloatField(allow_null=True, help_text="Measured time of this run, by `ranking_by`.")
    half_width = serializers.FloatField(allow_null=True)
    forgeable = serializers.FloatField(allow_null=True)
    telemetry = serializers.ChoiceField(choices=TELEMETRY)
    epoch = serializers.CharField(allow_blank=True)
    flags = serializers.ListField(child=serializers.CharField())
    published = serializers.BooleanField()
    review = serializers.ChoiceField(choices=["under_review", "rejected"], allow_null=True)
    unranked = serializers.ChoiceField(choices=[NO_TELEMETRY], allow_null=True)


class Value(serializers.Serializer[Any]):
    ratio = serializers.FloatField(help_text="Candidate / baseline, the geometric mean over the kernel's runs.")
    score_us = serializers.FloatField(help_text="Measured time, the geometric mean over the kernel's runs.")
    half_width = serializers.FloatField(allow_null=True)
    forgeable = serializers.FloatField()
    submissions = serializers.ListField(child=serializers.IntegerField())
    tied = serializers.BooleanField()
    current_epoch = serializers.BooleanField()
    stage = serializers.ChoiceField(choices=list(Stage), help_text="Which ranking it is in.")
    shown = serializers.BooleanField(help_text="False: sent while frozen, so counted at the reveal.")


class Submission(SubmissionSummary):
    code = serializers.CharField()
    cases = serializers.ListField(child=serializers.DictField())
    logs = serializers.DictField(child=serializers.CharField())
    rank = serializers.IntegerField(allow_null=True)
    value = Value(allow_null=True)
