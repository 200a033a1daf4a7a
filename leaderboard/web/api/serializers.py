"""The shapes of /api/v1. Requests are parsed here once, and responses are described here for the schema."""

import re
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers as drf

from leaderboard.accounts.models import DATA_SET_CHOICES
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.checks import LICENCES
from leaderboard.competitions.models import DIVISIONS, GROUPS, Competition
from leaderboard.errors import UserError
from leaderboard.judging.live import languages
from leaderboard.standings.publish import NO_TELEMETRY
from leaderboard.standings.read.code import lineage_seen, origin_seen, remixes_seen
from leaderboard.standings.read.records import CONFIRMED_MARK, NOT_YET
from leaderboard.submissions.models import MODEL, MOST_COST_USD, MOST_IDEA_CHARS, MOST_PARENTS, NAME, SHA256
from leaderboard.web.api.base import ShortList
from leaderboard.web.boards.cards import Card
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.paging import CURSOR_CHARS
from leaderboard.web.review.evidence import number
from leaderboard.web.submissions.starter_code import REFERENCE, named
from leaderboard.wording.figures import times_alone
from runner.evidence.profiled import BOUNDS
from runner.evidence.profiled import FORGEABLE as FORGEABLE_NUMBERS
from runner.wire import MODES, TELEMETRY

MAX_LINES: Final = 1_000
HALF_WIDTH: Final = "Relative half-width of the 95 % interval."
FORGEABLE: Final = "Clock tolerance: at most this share of the true time, 0 to 1, is missing from the measured time."
COST: Final = "US dollars that the model's work has cost, as the entrant declares."
TELEMETRY_MEANS: Final = (
    "Watched device state: `full`: clocks, power, temperature and slow-downs; `mask_only`: slow-downs only; "
    "`none` or empty: not watched or not reported."
)
TAKEN_DOWN: Final = "Why the site took the code down; empty: it did not. Only reviewers get the code then."
REMIXED_FROM: Final = "Submission that this is a remix of; null: none, or hidden from the caller."
LINEAGE: Final = "How a program came to it; null: none was named, or the code is hidden from the caller."
MODEL_MEANS: Final = "The model that wrote the code of the entry; empty: none was named."
MOST_SETTINGS: Final = 16
MOST_SETTING: Final = 1e15  # JSON keeps whole numbers up to it
MOST_SETTING_CHARS: Final = 64
EMPTY: Final[tuple[Any, ...]] = ("", None, {})
CASES: Final = (
    "A timed case has `measured_us`, `baseline_us`, `ratio`, `speedup`, and `times_alone`: the speedup by the two "
    "times alone where the judge is more cautious for noise, else null."
)
STATUSES: Final = "One of queued, claimed, building, checking, timing, done, lost, cancelled."


def optional_text(max_length: int, help_text: str | None = None) -> drf.CharField:
    """Return a request's text field that may be missing or empty."""
    return drf.CharField(max_length=max_length, allow_blank=True, default="", help_text=help_text)


class Speedup(drf.FloatField):
    """The inverse of a ratio, as pages show it."""

    def __init__(self, **told: Any) -> None:
        super().__init__(help_text="Times as fast as the baseline, 1 / `ratio`; above 1 faster.", **told)

    def to_representation(self, value: Any) -> Any:
        return 1 / float(value)


class ReasonRequest(drf.Serializer[Any]):
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class Token(drf.Serializer[Any]):
    name = drf.CharField()
    scopes = drf.ListField(child=drf.CharField())


class Me(drf.Serializer[Any]):
    username = drf.CharField()
    token = Token()


class DataSetChoice(drf.Serializer[Any]):
    choice = drf.ChoiceField(
        choices=DATA_SET_CHOICES,
        help_text="`none`; `public`: ranked kernels with public code; `all`: after a contest, also failed kernels.",
    )


class Board(drf.Serializer[Any]):
    slug = drf.CharField()
    title = drf.CharField()
    competition = drf.CharField(source="competition.name")
    competition_slug = drf.CharField(source="competition.slug")
    hardware = drf.ListField(child=drf.CharField())
    deadline = drf.DateTimeField(allow_null=True, help_text="The competition's deadline if that is earlier.")
    open = drf.BooleanField(source="is_open")
    entries = drf.DictField(child=drf.IntegerField(), help_text="Number of entries by hardware.")


class Epoch(drf.Serializer[Any]):
    name = drf.CharField(allow_blank=True)
    since = drf.DateTimeField(allow_null=True)
    current = drf.BooleanField(source="is_current")


class BoardDetail(Board):
    description = drf.SerializerMethodField(help_text="Markdown.")
    templates = drf.SerializerMethodField(help_text="Starter code by language.")
    reference = drf.SerializerMethodField(help_text="Source of the reference implementation.")
    ranking_by = drf.SerializerMethodField(help_text="How the times of the cases become a score.")
    cases = drf.SerializerMethodField(help_text="Arguments of the public cases: `tests` and `benchmarks`.")
    benchmarks_on = drf.SerializerMethodField(help_text="Timed cases by hardware.")
    epochs = drf.SerializerMethodField(help_text="Timing epochs with entries by hardware, current first.")
    languages = drf.SerializerMethodField(
        help_text="What kernels may be written in beside PyTorch, with versions, by hardware: as the runners state it."
    )

    def get_description(self, card: Card) -> str:
        return str(card.version.part("description", ""))

    @extend_schema_field(drf.DictField(child=drf.CharField()))
    def get_templates(self, card: Card) -> dict[str, str]:
        return named(card.version.part("templates", {}), card.slug)

    @extend_schema_field(drf.CharField(allow_null=True))
    def get_reference(self, card: Card) -> str | None:
        text: str | None = card.version.part("files", {}).get(REFERENCE)
        return text

    def get_ranking_by(self, card: Card) -> str:
        return str(card.version.part("ranking_by", ""))

    @extend_schema_field(drf.DictField(child=drf.ListField(child=drf.DictField())))
    def get_cases(self, card: Card) -> dict[str, Any]:
        return {kind: card.version.part(kind, []) for kind in ("tests", "benchmarks")}

    @extend_schema_field(drf.DictField(child=drf.ListField(child=drf.DictField())))
    def get_benchmarks_on(self, card: Card) -> dict[str, Any]:
        return {hardware: version.part("benchmarks", []) for hardware, version in card.versions.items()}

    @extend_schema_field(drf.DictField(child=drf.ListField(child=drf.CharField())))
    def get_languages(self, card: Card) -> dict[str, list[str]]:
        return languages(card.hardware)

    @extend_schema_field(drf.DictField(child=Epoch(many=True)))
    def get_epochs(self, card: Card) -> dict[str, Any]:
        return {place.hardware: Epoch(place.look.epochs, many=True).data for place in card.places}


class Rows(drf.Serializer[Any]):
    """A serializer of rows of a long list whose fields all read attributes: it prepares the look-ups once for all."""

    @cached_property
    def _readers(self) -> list[tuple[str, Any, Any]]:
        fields = self.fields.values()
        return [(str(field.field_name), attrgetter(str(field.source)), field.to_representation) for field in fields]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        values = ((name, read(instance), say) for name, read, say in self._readers)
        return {name: None if value is None else say(value) for name, value, say in values}


class Entry(Rows):
    rank = drf.IntegerField(source="ranked.rank", help_text="Tied entrants share a rank: 1, 1, 3.")
    tied = drf.BooleanField(source="ranked.is_tied")
    user = drf.CharField(source="ranked.entry.entrant.shown_name", help_text="Public name of the entrant.")
    division = drf.CharField(source="ranked.entry.entrant.division")
    model_name = drf.CharField(source="ranked.entry.entrant.model_name", allow_blank=True)
    model = drf.CharField(source="ranked.model", allow_blank=True, help_text=MODEL_MEANS)
    cost_usd = drf.DecimalField(
        source="ranked.entry.entrant.cost_usd", max_digits=9, decimal_places=2, allow_null=True, help_text=COST
    )
    affiliation = drf.CharField(source="ranked.entry.entrant.affiliation", allow_blank=True)
    team = drf.BooleanField(source="ranked.entry.entrant.is_team")
    ratio = drf.FloatField(
        source="ranked.value.ratio", help_text="Candidate / baseline, below 1 faster; geometric mean over `runs`."
    )
    speedup = Speedup(source="ranked.value.ratio")
    score_us = drf.FloatField(
        source="ranked.score_us", help_text="Measured time, geometric mean over `runs`; it does not rank."
    )
    half_width = drf.FloatField(source="ranked.value.half_width", allow_null=True, help_text=HALF_WIDTH)
    forgeable = drf.FloatField(source="ranked.value.forgeable", help_text=FORGEABLE)
    telemetry = drf.CharField(source="ranked.telemetry", allow_blank=True, help_text=TELEMETRY_MEANS)
    light = drf.FloatField(
        source="ranked.entry.light",
        allow_null=True,
        help_text="Share of the speed of light that the first run reached.",
    )
    runs = drf.IntegerField(help_text="Ranked runs of the kernel.")
    epoch = drf.CharField(source="ranked.entry.epoch", allow_blank=True)
    submitted_at = drf.DateTimeField(source="ranked.entry.submitted_at", help_text="Time of the first run.")
    submission = drf.IntegerField(source="ranked.entry.submission_id", help_text="Submission of the first run.")
    record = drf.CharField(
        allow_blank=True,
        help_text=f"For a first place taken from another entrant in a contest: {NOT_YET!r} or {CONFIRMED_MARK!r}.",
    )


class Keyed(drf.Serializer[Any]):
    limit = drf.IntegerField(default=50, min_value=1, max_value=200, help_text="At most 200.")
    cursor = optional_text(CURSOR_CHARS, "Of the header Link; without it the list begins.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "offset" in self.initial_data and "offset" not in self.fields:
            raise drf.ValidationError({"offset": "this list has no offset; follow the header Link from page to page"})
        if self.initial_data.get("offset") and attrs["cursor"]:
            raise drf.ValidationError({"offset": "send either an offset or a cursor"})
        return attrs


class LongPage(Keyed):
    limit = drf.IntegerField(default=200, min_value=1, max_value=200, help_text="At most 200.")


class Paging(Keyed):
    offset = drf.IntegerField(
        default=0, min_value=0, max_value=1_000_000, help_text="Place to begin at instead of a cursor."
    )


class Estimate(drf.Serializer[Any]):
    """A share or chance with its 95 % interval."""

    value = drf.FloatField()
    low = drf.FloatField(source="interval.low")
    high = drf.FloatField(source="interval.high")


class LinesQuery(Paging):
    """The part of a standing, by the names of standing.Asked."""

    stage = drf.ChoiceField(choices=list(Stage), required=False, help_text="Default: the current stage.")
    group = drf.ChoiceField(
        choices=GROUPS, required=False, help_text="Where agents rank apart from people. Default: people."
    )
    full = drf.BooleanField(
        default=False, help_text="With frozen entries; for people with a role in the competition.", source="in_full"
    )
    limit = drf.IntegerField(
        default=MAX_LINES, min_value=1, max_value=MAX_LINES, help_text="At most 1000.", source="most"
    )
    offset = drf.IntegerField(
        default=0, min_value=0, max_value=1_000_000, source="start", help_text="Place to begin at instead of a cursor."
    )


def in_full_refused(competition: Competition) -> UserError:
    return UserError("full", True, f"only people with a role in {competition} see frozen entries", 403)


class EntriesQuery(LinesQuery):
    epoch = drf.CharField(
        required=False, allow_blank=True, max_length=64, help_text="Another timing epoch. Default: the ranked epoch."
    )
    division = drf.ChoiceField(choices=DIVISIONS, required=False)


class BoardsQuery(Keyed):
    """The part of the list of boards, by the names of cards.Wanted."""

    competition = optional_text(64, "Slug of a competition.")
    hardware = optional_text(64, "Boards with this hardware, in any case of letters.")
    open = drf.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        source="is_open",
        help_text="Boards that take submissions, or not.",
    )
    text = optional_text(100, "Words of the name, title, hardware, competition or tags, in any case of letters.")
    limit = drf.IntegerField(
        default=MAX_LINES, min_value=1, max_value=MAX_LINES, help_text="At most 1000.", source="most"
    )


class ProblemQuery(drf.Serializer[Any]):
    hardware = optional_text(64, "Of the timed cases. Default: the board's first.")


class ProblemFolder(drf.Serializer[Any]):
    """A problem for a judge at home. The baseline is not public: at home the reference is timed beside a kernel."""

    board = drf.CharField()
    hardware = drf.CharField()
    digest = drf.CharField(help_text="Digest of the version on the site.")
    problem = drf.DictField(
        help_text="The file problem.json, which `photofinish run` reads. `fuzz`: ranges of the secret cases."
    )


class Page(Keyed):
    board = optional_text(64, "Only this board.")


def a_name(pattern: str, most: int, help_text: str) -> drf.RegexField:
    """Return a request's field for a name without spaces, which may be missing."""
    signs = " ".join(sign for sign in "._:/+@-" if sign in pattern)
    text = f"expected at most {most} letters, digits and {signs}, the first a letter or digit"
    return drf.RegexField(
        pattern,
        max_length=most,
        allow_blank=True,
        default="",
        help_text=help_text,
        error_messages={"invalid": text, "max_length": text},
    )


class NewLineage(drf.Serializer[Any]):
    """How a program came to a submission. Every field may be missing; pipeline.py looks at the parents."""

    parents = ShortList(
        child=drf.IntegerField(min_value=1, max_value=MAX_KEY),
        max_length=MOST_PARENTS,
        default=list,
        help_text="Submissions that it descends from: your own, or with public code; at most 8.",
    )
    idea = optional_text(MOST_IDEA_CHARS, "The idea in plain words.")
    model = a_name(MODEL, 128, "The model that wrote the code, such as `meta/llama-4:70b`.")
    prompt_sha256 = drf.RegexField(
        SHA256,
        allow_blank=True,
        default="",
        error_messages={"invalid": "expected 64 digits of a SHA-256, 0 to 9 and a to f"},
        help_text="SHA-256 of the prompt, in hex.",
    )
    sampling = drf.DictField(
        default=dict, help_text="The model's settings, such as `temperature`: at most 16 numbers, texts and booleans."
    )
    cost_usd = drf.FloatField(
        min_value=0, max_value=MOST_COST_USD, allow_null=True, default=None, help_text="US dollars for this candidate."
    )
    strategy = a_name(NAME, 64, "The strategy of the search, such as `beam`.")
    run = a_name(NAME, 64, "Groups the submissions of a search; your own choice.")

    def validate_sampling(self, sent: dict[str, Any]) -> dict[str, Any]:
        if len(sent) > MOST_SETTINGS:
            raise drf.ValidationError(f"has {len(sent)} settings; leave {len(sent) - MOST_SETTINGS} of them out")
        for name, value in sent.items():
            if not re.fullmatch(NAME, name):
                raise drf.ValidationError(f"{name[:64]!r} is no name of a setting: use letters, digits, . _ : and -")
            is_number = isinstance(value, int | float) and abs(value) <= MOST_SETTING
            is_text = isinstance(value, str) and len(value) <= MOST_SETTING_CHARS and "\x00" not in value
            if not (is_number or is_text):
                text = f"expected a number, a boolean, or a text of at most {MOST_SETTING_CHARS} characters"
                raise drf.ValidationError(f"{name}: {text}")
        return sent


def lineage_of(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the lineage of a request as fields of an Upload."""
    lineage = dict(sent.get("lineage") or {})
    parents = tuple(lineage.pop("parents", ()))
    return {"parents": parents, "lineage": {name: value for name, value in lineage.items() if value not in EMPTY}}


class NewSubmission(drf.Serializer[Any]):
    """Shape of a submission request. submissions/intake.py checks board, hardware and the source itself."""

    board = optional_text(200, "Default: the file's directive.")
    hardware = optional_text(200, "Default: the file's directive.")
    mode = drf.CharField(max_length=64, help_text=", ".join(MODES))
    filename = optional_text(255)
    licence = optional_text(200, ", ".join(LICENCES))
    remixed_from = drf.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_KEY,
        help_text="Submission that the code began with.",
    )
    lineage = NewLineage(required=False, allow_null=True)
    code = drf.CharField(trim_whitespace=False, allow_blank=True, required=False)
    file = drf.FileField(required=False, allow_empty_file=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("code" in attrs) == ("file" in attrs):
            raise drf.ValidationError({"code": "send the source either as `code` or as `file`"})
        upload = attrs.pop("file", None)
        if upload is None:
            attrs["data"] = attrs.pop("code").encode("utf-8", "surrogatepass")
        else:
            attrs["data"] = upload.read()  # all of it, so that the refusal can give its size
        attrs["filename"] = attrs["filename"] or (upload.name if upload else "")  # "": the problem's own name
        return attrs


class Sent(drf.Serializer[Any]):
    id = drf.IntegerField()
    status = drf.CharField(help_text=STATUSES)
    board = drf.CharField()
    hardware = drf.CharField()
    mode = drf.CharField()
    url = drf.CharField(help_text="Page of the submission.")
    events = drf.CharField(help_text="Address of the live events.")


class Accepted(Sent):
    notes = drf.ListField(child=drf.CharField(), help_text="Directives of the file that the request overrules.")


class SubmissionSummary(Sent):
    """A submission in a list (submissions/view.py: Shown), without code, cases, logs, rank and value."""

    filename = drf.CharField()
    licence = drf.CharField(source="submission.licence", allow_blank=True)
    created_at = drf.DateTimeField(format="%Y-%m-%dT%H:%M:%S.%f+00:00")
    outcome = drf.CharField(allow_blank=True)
    reason = drf.CharField(allow_blank=True)
    message = drf.CharField(allow_blank=True)
    ratio = drf.FloatField(allow_null=True, help_text="Candidate / baseline of this run, below 1 faster.")
    speedup = Speedup(source="ratio", allow_null=True)
    score_us = drf.FloatField(allow_null=True, help_text="Measured time of this run, by `ranking_by`.")
    half_width = drf.FloatField(allow_null=True, help_text=HALF_WIDTH)
    forgeable = drf.FloatField(allow_null=True, help_text=FORGEABLE)
    telemetry = drf.ChoiceField(choices=TELEMETRY, help_text=TELEMETRY_MEANS)
    epoch = drf.CharField(allow_blank=True)
    flags = drf.ListField(child=drf.CharField())
    published = drf.BooleanField(help_text="Whether the submission has an entry on its board.")
    review = drf.ChoiceField(choices=["under_review", "rejected"], allow_null=True)
    unranked = drf.ChoiceField(choices=[NO_TELEMETRY], allow_null=True, help_text="Why it has no entry.")
    withdrawn = drf.BooleanField(help_text="Whether its kernel was retracted from the board.")


class JudgedCase(drf.DictField):
    """A case of the report. Where it was timed, its speedup beside its ratio, as pages show both."""

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        case = super().to_representation(value)
        ratio, measured, baseline = (number(case.get(name)) for name in ("ratio", "measured_us", "baseline_us"))
        if not ratio:
            return case
        alone = times_alone(ratio, measured, baseline)
        return case | {"speedup": 1 / ratio, "times_alone": 1 / alone if alone else None}


class Value(drf.Serializer[Any]):
    ratio = drf.FloatField(
        source="value.ratio", help_text="Candidate / baseline, the geometric mean over the kernel's runs."
    )
    speedup = Speedup(source="value.ratio")
    score_us = drf.FloatField(help_text="Measured time, the geometric mean over the kernel's runs.")
    half_width = drf.FloatField(source="value.half_width", allow_null=True, help_text=HALF_WIDTH)
    forgeable = drf.FloatField(source="value.forgeable", help_text=FORGEABLE)
    submissions = drf.ListField(
        source="value.submissions", child=drf.IntegerField(), help_text="All ranked runs of the kernel."
    )
    tied = drf.BooleanField(source="is_tied")
    current_epoch = drf.BooleanField(source="is_current")
    stage = drf.ChoiceField(choices=list(Stage), help_text="The ranking that counts the kernel.")
    shown = drf.BooleanField(source="is_shown", help_text="False: sent during the freeze, hidden until the reveal.")


class QueuePlace(drf.Serializer[Any]):
    position = drf.IntegerField(help_text="1: the next. From the order in which runners are given work.")
    queued = drf.IntegerField(help_text="Submissions that wait for this hardware.")
    runners = drf.IntegerField(help_text="Runners that can take work now; 0: it waits for a runner.")
    wait_s = drf.FloatField(allow_null=True, help_text="Expected seconds until a runner begins; null: unknown.")
    text = drf.CharField(help_text="The same in a sentence.")


class ProfileFigure(drf.Serializer[Any]):
    name = drf.CharField()
    percent = drf.FloatField(allow_null=True, help_text="null: unknown on this machine.")
    about = drf.CharField()


class ProfileRow(drf.Serializer[Any]):
    name = drf.CharField(allow_blank=True)
    calls = drf.IntegerField()
    us = drf.FloatField(help_text="Time in one call of the submission.")
    share = drf.FloatField()


class Profile(drf.Serializer[Any]):
    case = drf.CharField(help_text="The timed case that was profiled.")
    bound = drf.ChoiceField(choices=[*BOUNDS, ""], help_text="What bounds the kernel; empty: unknown.")
    sentence = drf.CharField()
    figures = ProfileFigure(many=True, help_text="The figures behind the sentence.")
    rows = ProfileRow(many=True, help_text="Operators on a cpu, kernels on a GPU, the longest first.")
    notes = drf.ListField(child=drf.CharField(), help_text="Why parts are missing.")


class ProfileFile(drf.Serializer[Any]):
    name = drf.CharField()
    about = drf.CharField()
    bytes = drf.IntegerField()
    url = drf.CharField(help_text="Address of the download.")


class Lineage(drf.Serializer[Any]):
    """How a program came to a submission, as its sender says."""

    parents = drf.SerializerMethodField(help_text="Those that the caller may know of.")
    idea = drf.CharField(allow_blank=True)
    model = drf.CharField(allow_blank=True)
    prompt_sha256 = drf.CharField(allow_blank=True)
    sampling = drf.DictField()
    cost_usd = drf.FloatField(allow_null=True)
    strategy = drf.CharField(allow_blank=True)
    run = drf.CharField(allow_blank=True)

    @extend_schema_field(drf.ListField(child=drf.IntegerField()))
    def get_parents(self, lineage: Any) -> list[int]:
        return [origin.pk for origin in lineage["parents"]]


class Submission(SubmissionSummary):
    remixed_from = drf.IntegerField(source="origin.pk", default=None, allow_null=True, help_text=REMIXED_FROM)
    lineage = Lineage(allow_null=True, help_text=LINEAGE)
    queue = QueuePlace(allow_null=True, help_text="Its place while it is queued, else null; an estimate.")
    code = drf.CharField(allow_null=True, help_text="null: taken down.")
    taken_down = drf.CharField(allow_blank=True, help_text=TAKEN_DOWN)
    cases = drf.ListField(child=JudgedCase(), help_text=CASES)
    logs = drf.DictField(child=drf.CharField())
    report_problem = drf.CharField(allow_blank=True, help_text="Why logs, and perhaps cases, are missing, or empty.")
    profile = Profile(allow_null=True, help_text=f"Of mode `profile`. {FORGEABLE_NUMBERS}")
    files = ProfileFile(many=True, help_text="Files of the profile.")
    rank = drf.IntegerField(allow_null=True)
    value = Value(source="standing", allow_null=True, help_text="Value of the kernel that this run belongs to.")


class FinishedSubmission(Submission):
    """The last event of a submission's stream: the submission without its code."""

    code = None  # type: ignore[assignment]
    taken_down = None  # type: ignore[assignment]
    queue = None  # type: ignore[assignment]


class SeedsOfCase(drf.Serializer[Any]):
    case = drf.CharField()
    kind = drf.ChoiceField(choices=["public", "secret", "timed"])
    arguments = drf.DictField(help_text="Of the problem's `generate_input`.")
    seeds = drf.ListField(child=drf.CharField(), help_text="Decimal numbers of up to 62 bits.")
    more = drf.IntegerField(help_text="Further seeds of a timed case.")


class Seeds(drf.Serializer[Any]):
    public = drf.BooleanField(source="is_public", help_text="Whether the contest is over.")
    public_at = drf.DateTimeField(allow_null=True, help_text="null: the board has no end yet.")
    cases = SeedsOfCase(many=True, source="rows", help_text="Empty until the contest is over.")


class EntryDetail(drf.Serializer[Any]):
    submission = drf.IntegerField(source="entry.submission_id")
    board = drf.CharField(source="entry.board.slug")
    hardware = drf.CharField(source="entry.board.hardware")
    user = drf.CharField(source="entry.entrant.shown_name")
    rank = drf.IntegerField(source="standing.rank", allow_null=True)
    tied = drf.BooleanField(source="standing.is_tied")
    stage = drf.CharField(source="standing.stage")
    ratio = drf.FloatField(source="standing.value.ratio", help_text="Candidate / baseline, below 1 faster.")
    speedup = Speedup(source="standing.value.ratio")
    score_us = drf.FloatField(source="standing.score_us")
    half_width = drf.FloatField(source="standing.value.half_width", allow_null=True)
    submitted_at = drf.DateTimeField(source="entry.submitted_at")
    shown = drf.BooleanField(source="is_shown", help_text="False: frozen, visible to owner and organisers.")
    filename = drf.CharField(allow_blank=True, help_text="Empty: private, as the code is.")
    licence = drf.CharField(source="submission.licence", allow_blank=True)
    remixed_from = drf.SerializerMethodField(help_text=REMIXED_FROM)
    remixes = drf.SerializerMethodField(help_text="Shown entries that are remixes of this, at most 100, newest first.")
    model = drf.CharField(allow_blank=True, help_text=MODEL_MEANS)
    lineage = drf.SerializerMethodField(help_text=LINEAGE)
    code_public = drf.BooleanField(source="code_is_public")
    code_public_at = drf.DateTimeField(allow_null=True, help_text="null: not automatically.")
    code = drf.CharField(allow_null=True)
    taken_down = drf.CharField(allow_blank=True, help_text=TAKEN_DOWN)

    @extend_schema_field(drf.IntegerField(allow_null=True))
    def get_remixed_from(self, found: Any) -> int | None:
        origin = origin_seen(found.submission, self.context["viewer"], self.context["now"])
        return None if origin is None else origin.pk

    @extend_schema_field(Lineage(allow_null=True))
    def get_lineage(self, found: Any) -> Any:
        told = {"viewer": self.context["viewer"], "now": self.context["now"]}
        lineage = lineage_seen(found.submission, **told) if found.code is not None else None
        return None if lineage is None else Lineage(lineage).data

    @extend_schema_field(drf.ListField(child=drf.IntegerField()))
    def get_remixes(self, found: Any) -> list[int]:
        remixes = remixes_seen(found.submission.pk, self.context["viewer"], self.context["now"])
        return [entry.submission_id for entry in remixes]


class RetractRequest(drf.Serializer[Any]):
    reason = optional_text(2000, "Optional for the owner, required from organisers.")


class Retracted(drf.Serializer[Any]):
    lines = drf.IntegerField(help_text="Number of retracted entries; 0: the kernel was retracted before.")


class Left(drf.Serializer[Any]):
    board = drf.CharField()
    hardware = drf.CharField()
    mode = drf.CharField()
    left = drf.IntegerField(help_text="Submissions that may be sent now.")
    capacity = drf.IntegerField(help_text="The most that can be saved up.")
    per_day = drf.IntegerField(help_text="Submissions added per day, evenly.")
    next_at = drf.DateTimeField(allow_null=True, help_text="Time of the next addition; null: full.")


class LeftQuery(drf.Serializer[Any]):
    board = optional_text(64, "Only this board.")
