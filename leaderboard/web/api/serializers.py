"""The shapes of /api/v1. Requests are parsed here once, and responses are described here for the schema."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.checks import LICENCES
from leaderboard.competitions.models import DIVISIONS, Competition
from leaderboard.errors import UserError
from leaderboard.standings.publish import NO_TELEMETRY
from leaderboard.standings.read.records import CONFIRMED_MARK, NOT_YET
from leaderboard.web.boards.cards import Card
from leaderboard.web.submissions.starter_code import REFERENCE
from runner.wire import MODES, TELEMETRY

MAX_LINES: Final = 1_000
HALF_WIDTH: Final = "Relative half-width of the 95 % interval."
FORGEABLE: Final = "Clock tolerance: at most this share of the true time, 0 to 1, is missing from the measured time."
TELEMETRY_MEANS: Final = (
    "Watched device state: `full`: clocks, power, temperature and slow-downs; `mask_only`: slow-downs only; "
    "`none` or empty: not watched or not reported."
)
STATUSES: Final = "One of queued, claimed, building, checking, timing, done, lost, cancelled."


def optional_text(max_length: int, help_text: str | None = None, source: str | None = None) -> serializers.CharField:
    """Return a request's text field that may be missing or empty."""
    return serializers.CharField(
        max_length=max_length, allow_blank=True, default="", help_text=help_text, source=source
    )


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
    deadline = serializers.DateTimeField(allow_null=True, help_text="The competition's deadline if that is earlier.")
    open = serializers.BooleanField(source="is_open")
    entries = serializers.DictField(child=serializers.IntegerField(), help_text="Number of entries by hardware.")


class Epoch(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField(allow_null=True)
    current = serializers.BooleanField(source="is_current")


class BoardDetail(Board):
    description = serializers.SerializerMethodField(help_text="Markdown.")
    templates = serializers.SerializerMethodField(help_text="Starter code by language.")
    reference = serializers.SerializerMethodField(help_text="Source of the reference implementation.")
    ranking_by = serializers.SerializerMethodField(help_text="How the times of the cases become a score.")
    cases = serializers.SerializerMethodField(help_text="Arguments of the public cases: `tests` and `benchmarks`.")
    benchmarks_on = serializers.SerializerMethodField(help_text="Timed cases by hardware.")
    epochs = serializers.SerializerMethodField(help_text="Timing epochs with entries by hardware, current first.")

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
    rank = serializers.IntegerField(source="ranked.rank", help_text="Tied entrants share a rank: 1, 1, 3.")
    tied = serializers.BooleanField(source="ranked.is_tied")
    user = serializers.CharField(source="ranked.entry.entrant.shown_name", help_text="Public name of the entrant.")
    division = serializers.CharField(source="ranked.entry.entrant.division")
    model_name = serializers.CharField(source="ranked.entry.entrant.model_name", allow_blank=True)
    affiliation = serializers.CharField(source="ranked.entry.entrant.affiliation", allow_blank=True)
    team = serializers.BooleanField(source="ranked.entry.entrant.is_team")
    ratio = serializers.FloatField(
        source="ranked.value.ratio", help_text="Candidate / baseline, below 1 faster; geometric mean over `runs`."
    )
    score_us = serializers.FloatField(
        source="ranked.score_us", help_text="Measured time, geometric mean over `runs`; it does not rank."
    )
    half_width = serializers.FloatField(source="ranked.value.half_width", allow_null=True, help_text=HALF_WIDTH)
    forgeable = serializers.FloatField(source="ranked.value.forgeable", help_text=FORGEABLE)
    telemetry = serializers.CharField(source="ranked.telemetry", allow_blank=True, help_text=TELEMETRY_MEANS)
    light = serializers.FloatField(
        source="ranked.entry.light",
        allow_null=True,
        help_text="Share of the speed of light that the first run reached.",
    )
    runs = serializers.IntegerField(help_text="Ranked runs of the kernel.")
    epoch = serializers.CharField(source="ranked.entry.epoch", allow_blank=True)
    submitted_at = serializers.DateTimeField(source="ranked.entry.submitted_at", help_text="Time of the first run.")
    submission = serializers.IntegerField(source="ranked.entry.submission_id", help_text="Submission of the first run.")
    record = serializers.CharField(
        allow_blank=True,
        help_text=f"For a first place taken from another entrant in a contest: {NOT_YET!r} or {CONFIRMED_MARK!r}.",
    )


class Paging(serializers.Serializer[Any]):
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200, help_text="At most 200.")
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000)


class LinesQuery(Paging):
    stage = serializers.ChoiceField(choices=list(Stage), required=False, help_text="Default: the current stage.")
    full = serializers.BooleanField(
        default=False, help_text="With frozen entries; for people with a role in the competition."
    )
    limit = serializers.IntegerField(default=MAX_LINES, min_value=1, max_value=MAX_LINES, help_text="At most 1000.")


def in_full_refused(competition: Competition) -> UserError:
    return UserError("full", True, f"only people with a role in {competition} see frozen entries", 403)


class EntriesQuery(LinesQuery):
    epoch = serializers.CharField(
        required=False, allow_blank=True, max_length=64, help_text="Another timing epoch. Default: the ranked epoch."
    )
    division = serializers.ChoiceField(choices=DIVISIONS, required=False)


class Page(Paging):
    board = optional_text(64, "Only this board.")


class NewSubmission(serializers.Serializer[Any]):
    """Shape of a submission request. submissions/intake.py checks board, hardware and the source itself."""

    board = optional_text(200, "Default: the file's directive.")
    hardware = optional_text(200, "Default: the file's directive.")
    mode = serializers.CharField(max_length=64, help_text=", ".join(MODES))
    filename = optional_text(255)
    licence = optional_text(200, ", ".join(LICENCES))
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
    status = serializers.CharField(help_text=STATUSES)
    board = serializers.CharField()
    hardware = serializers.CharField()
    mode = serializers.CharField()
    url = serializers.CharField(help_text="Page of the submission.")
    events = serializers.CharField(help_text="Address of the live events.")


class Accepted(Sent):
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Directives of the file that the request overrules."
    )


class SubmissionSummary(Sent):
    filename = serializers.CharField()
    licence = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    outcome = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    ratio = serializers.FloatField(allow_null=True, help_text="Candidate / baseline of this run, below 1 faster.")
    score_us = serializers.FloatField(allow_null=True, help_text="Measured time of this run, by `ranking_by`.")
    half_width = serializers.FloatField(allow_null=True, help_text=HALF_WIDTH)
    forgeable = serializers.FloatField(allow_null=True, help_text=FORGEABLE)
    telemetry = serializers.ChoiceField(choices=TELEMETRY, help_text=TELEMETRY_MEANS)
    epoch = serializers.CharField(allow_blank=True)
    flags = serializers.ListField(child=serializers.CharField())
    published = serializers.BooleanField(help_text="Whether the submission has an entry on its board.")
    review = serializers.ChoiceField(choices=["under_review", "rejected"], allow_null=True)
    unranked = serializers.ChoiceField(choices=[NO_TELEMETRY], allow_null=True, help_text="Why it has no entry.")


class Value(serializers.Serializer[Any]):
    ratio = serializers.FloatField(help_text="Candidate / baseline, the geometric mean over the kernel's runs.")
    score_us = serializers.FloatField(help_text="Measured time, the geometric mean over the kernel's runs.")
    half_width = serializers.FloatField(allow_null=True, help_text=HALF_WIDTH)
    forgeable = serializers.FloatField(help_text=FORGEABLE)
    submissions = serializers.ListField(child=serializers.IntegerField(), help_text="All ranked runs of the kernel.")
    tied = serializers.BooleanField()
    current_epoch = serializers.BooleanField()
    stage = serializers.ChoiceField(choices=list(Stage), help_text="The ranking that counts the kernel.")
    shown = serializers.BooleanField(help_text="False: sent during the freeze, hidden until the reveal.")


class Submission(SubmissionSummary):
    code = serializers.CharField()
    cases = serializers.ListField(child=serializers.DictField())
    logs = serializers.DictField(child=serializers.CharField())
    rank = serializers.IntegerField(allow_null=True)
    value = Value(allow_null=True, help_text="Value of the kernel that this run belongs to.")


class EntryDetail(serializers.Serializer[Any]):
    submission = serializers.IntegerField(source="entry.submission_id")
    board = serializers.CharField(source="entry.board.slug")
    hardware = serializers.CharField(source="entry.board.hardware")
    user = serializers.CharField(source="entry.entrant.shown_name")
    rank = serializers.IntegerField(source="standing.rank", allow_null=True)
    tied = serializers.BooleanField(source="standing.is_tied")
    stage = serializers.CharField(source="standing.stage")
    ratio = serializers.FloatField(source="standing.value.ratio")
    score_us = serializers.FloatField(source="standing.score_us")
    half_width = serializers.FloatField(source="standing.value.half_width", allow_null=True)
    submitted_at = serializers.DateTimeField(source="entry.submitted_at")
    shown = serializers.BooleanField(source="is_shown", help_text="False: frozen, visible to owner and organisers.")
    filename = serializers.CharField(source="submission.filename")
    licence = serializers.CharField(source="submission.licence", allow_blank=True)
    code_public = serializers.BooleanField(source="code_is_public")
    code_public_at = serializers.DateTimeField(allow_null=True, help_text="null: not automatically.")
    code = serializers.CharField(allow_null=True)


class RetractRequest(serializers.Serializer[Any]):
    reason = optional_text(2000, "Optional for the owner, required from organisers.")


class Retracted(serializers.Serializer[Any]):
    lines = serializers.IntegerField(help_text="Number of retracted entries; 0: the kernel was retracted before.")


class Left(serializers.Serializer[Any]):
    board = serializers.CharField()
    hardware = serializers.CharField()
    mode = serializers.CharField()
    left = serializers.IntegerField(help_text="Submissions that may be sent now.")
    capacity = serializers.IntegerField(help_text="The most that can be saved up.")
    per_day = serializers.IntegerField(help_text="Submissions added per day, evenly.")
    next_at = serializers.DateTimeField(allow_null=True, help_text="Time of the next addition; null: full.")


class LeftQuery(serializers.Serializer[Any]):
    board = optional_text(64, "Only this board.")
