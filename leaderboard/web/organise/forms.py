"""Forms of the organisers' pages. They check shape only; the acts in competitions/ decide what is allowed.

Times are typed and shown in UTC, to the minute; a script shows the local time beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms

from leaderboard.competitions import access, checks, models
from leaderboard.competitions.edit import values_of
from leaderboard.competitions.models import Board, Competition, Prize, ProblemVersion, Role, Track
from leaderboard.entrants import messages
from leaderboard.errors import UserError
from leaderboard.web.forms import ActForm, add_refusal, plain_input, reason_field, sentence

MINUTE: Final = "%Y-%m-%dT%H:%M"
VISIBILITY: Final = (
    (models.PUBLIC, "Public: listed; anybody can read and enter"),
    (models.UNLISTED, "Unlisted: anybody with the link"),
    (models.CLOSED, "Closed: organisers, and people with an invite code"),
)
SCORING: Final = (
    (models.GEOMETRIC_MEAN, "Geometric mean of the speedups over all boards"),
    (models.POINTS, "Points for the place on each board"),
    (models.FAST_P, "fast_p: share of the boards on which the kernel is faster than the baseline"),
)
KINDS: Final = (
    (Track.OVERALL, "Overall: standings over all boards"),
    (Track.HARDWARE, "Hardware: standings over the boards of one hardware"),
    (Track.BOARD, "Board: one board"),
    (Track.TAG, "Tag: standings over the boards with a tag"),
    (Track.FIRST_TO_BEAT, "First to beat: first submission that reaches a given speedup on a board"),
)
TIES: Final = (
    (Track.EARLIER, "The earlier submission is ranked first"),
    (Track.SHARE, "Tied entrants share their places and prizes"),
)
ROLES: Final = (
    (Role.VIEWER, "Viewer: sees everything that organisers see"),
    (Role.REVIEWER, "Reviewer: also decides on held results"),
    (Role.OWNER, "Owner: also edits the competition"),
)


class UtcField(forms.DateTimeField):
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "data-utc": ""}, format=MINUTE)
    input_formats = [MINUTE, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"]
    default_error_messages = {"invalid": "Enter a date and time in UTC, such as 2027-03-01 12:00."}

    def __init__(self, label: str, help_text: str = "") -> None:
        super().__init__(label=label, help_text=help_text, required=False)


def to_the_minute(moment: datetime | None) -> datetime | None:
    """Round a moment down to the minute, as a form shows it, so that an untouched field is no change."""
    return None if moment is None else moment.replace(second=0, microsecond=0)


def long_text(rows: int, max_length: int, help_text: str = "", *, strip: bool = True) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(required=False, max_length=max_length, help_text=help_text, strip=strip, widget=widget)


class CompetitionForm(ActForm):
    name = forms.CharField(max_length=checks.MAX_NAME_CHARS)
    description = long_text(5, checks.MAX_TEXT_CHARS, "Markdown, for the competition’s public page.", strip=False)
    rules = long_text(
        9, checks.MAX_TEXT_CHARS, "Markdown. Everybody who enters accepts them. Empty: there are no rules.", strip=False
    )
    visibility = forms.ChoiceField(choices=VISIBILITY, widget=forms.RadioSelect, initial=models.CLOSED)
    practice_at = UtcField("Practice begins", "Submissions are accepted from this time, as practice. Empty: at once.")
    contest_at = UtcField("Contest begins", "Submissions count from this time. Empty: they count from the beginning.")
    freeze_at = UtcField("Freeze", "Later submissions stay hidden until you reveal the standings. Empty: no freeze.")
    deadline = UtcField("Deadline", "A submission at this time is too late. Empty: no deadline.")
    merge_deadline = UtcField("Team deadline", "From this time, nobody can join or leave a team.")
    stays_open = forms.BooleanField(
        required=False,
        initial=True,
        label="Stay open after the end",
        help_text="Once the standings are final, new submissions rank separately.",
    )
    divisions = forms.MultipleChoiceField(
        choices=[(name, name.capitalize()) for name in models.DIVISIONS],
        widget=forms.CheckboxSelectMultiple,
        initial=list(models.DIVISIONS),
        error_messages={"required": "Choose at least one division."},
    )
    agents_rank = forms.ChoiceField(
        label="Ranking of agents",
        choices=((models.SHARED, "With people, in one ranking"), (models.APART, "Apart, in a ranking of their own")),
        widget=forms.RadioSelect,
        initial=models.SHARED,
        help_text="Mixed entrants rank with people. The first line on a board fixes the choice.",
    )
    max_team_size = forms.IntegerField(
        label="Largest team", initial=1, min_value=1, max_value=checks.MAX_TEAM_SIZE, help_text="1: no teams."
    )
    scoring = forms.ChoiceField(
        label="Overall standings", choices=SCORING, widget=forms.RadioSelect, initial=models.GEOMETRIC_MEAN
    )
    two_person_rule = forms.BooleanField(
        required=False,
        label="Two reviewers for the podium",
        help_text="A held result that would reach the podium ranks once two reviewers have cleared it.",
    )
    default_licence = forms.ChoiceField(
        choices=tuple(checks.LICENCES.items()),
        initial=checks.DEFAULT_LICENCE,
        help_text="For code whose sender chooses no licence. A change applies to later submissions.",
    )
    reason = reason_field(
        required=False,
        help_text="Stored with the change. Required if you move a time that has passed, or change the freeze or the "
        "scoring of a running contest.",
    )

    def clean(self) -> dict[str, Any]:
        """Check the order of the times beside all other fields, so that a page shows all errors at once."""
        sent = super().clean() or self.cleaned_data
        try:
            checks.check_order(sent)
        except UserError as error:
            add_refusal(self, error)
        return self.cleaned_data

    @staticmethod
    def of(competition: Competition, data: Any = None) -> CompetitionForm:
        values = values_of(competition)
        return CompetitionForm(data, initial=values | {name: to_the_minute(values[name]) for name in checks.TIMES})

    def arguments(self) -> dict[str, Any]:
        changed = set(self.changed_data) - {"reason"}
        return {
            "settings": {name: value for name, value in self.cleaned_data.items() if name in changed},
            "reason": self.cleaned_data["reason"],
        }


class NewForm(CompetitionForm):
    slug = forms.CharField(
        label="Address",
        max_length=64,
        help_text="Lowercase letters, digits and dashes, such as spring-2027. It cannot be changed later.",
        widget=plain_input(),
    )

    def clean_slug(self) -> str:
        try:
            return checks.check_slug("slug", self.cleaned_data["slug"])
        except UserError as error:
            raise forms.ValidationError(sentence(error.message)) from error

    def arguments(self) -> dict[str, Any]:
        settings = dict(self.cleaned_data)
        del settings["reason"]
        return {"slug": settings.pop("slug"), "settings": settings}


class CloneForm(ActForm):
    name = forms.CharField(max_length=checks.MAX_NAME_CHARS)
    slug = NewForm.base_fields["slug"]
    times = forms.ChoiceField(
        choices=[("shift", "Move all times by"), ("clear", "Clear all times")],
        widget=forms.RadioSelect,
        initial="shift",
    )
    weeks = forms.IntegerField(required=False, initial=52, min_value=0, max_value=520)
    days = forms.IntegerField(required=False, initial=0, min_value=0, max_value=366)

    def arguments(self) -> dict[str, Any]:
        sent = self.cleaned_data
        shift = timedelta(weeks=sent["weeks"] or 0, days=sent["days"] or 0)
        return {"slug": sent["slug"], "name": sent["name"], "shift": None if sent["times"] == "clear" else shift}


class TagsField(forms.CharField):
    """Words with commas or spaces between them."""

    def to_python(self, value: Any) -> Any:
        return str(value or "").replace(",", " ").split()

    def prepare_value(self, value: Any) -> Any:
        return " ".join(value) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or []) != self.to_python(data))


class VersionField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        version: ProblemVersion = obj
        title = version.problem.title
        name = title if title.lower() == version.problem.slug else f"{title} ({version.problem.slug})"
        hardware = ", ".join(getattr(version, "hardware", ()))
        now = f", in use on {hardware}" if hardware else ""
        return f"{name} · version {version.digest[7:15]} of {version.created_at:%-d %b %Y}{now}"


class BoardForm(ActForm):
    version = VersionField(
        label="Problem",
        queryset=ProblemVersion.objects.none(),
        empty_label="Choose a problem and version",
        error_messages={"required": "Choose a problem.", "invalid_choice": "Choose a problem from the list."},
    )
    deadline = UtcField("Deadline of this board", "UTC. Only if the board closes before the competition does.")
    tags = TagsField(
        required=False, max_length=600, help_text="Words by which tracks select boards, such as memory-bound attention."
    )

    def __init__(self, *args: Any, versions: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.fields["version"].queryset = versions  # type: ignore[attr-defined]


class NewBoardForm(BoardForm):
    """A new board. `known_hardware`: names that runners and boards use."""

    hardware = forms.CharField(max_length=64, widget=plain_input(list="known-hardware"))
    slug = forms.CharField(
        required=False, max_length=64, label="Address", help_text="Empty: the problem’s name.", widget=plain_input()
    )
    field_order = ["version", "hardware", "slug", "deadline", "tags"]

    def __init__(self, *args: Any, known_hardware: list[str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        known = f"Known here: {', '.join(known_hardware)}." if known_hardware else "Such as cpu or H200."
        self.fields["hardware"].help_text = f"The name that the runners use. {known}"


class EditBoardForm(BoardForm):
    reason = reason_field(required=False, help_text="Required if you move a deadline that has passed.")

    def __init__(self, board: Board, versions: Any, data: Any = None) -> None:
        initial = {"version": board.version_id, "deadline": to_the_minute(board.deadline), "tags": board.tags}
        super().__init__(data, initial=initial, versions=versions)
        self._deadline = board.deadline

    def arguments(self) -> dict[str, Any]:
        kept = {} if "deadline" in self.changed_data else {"deadline": self._deadline}
        return self.cleaned_data | kept


class TrackForm(ActForm):
    name = forms.CharField(max_length=checks.MAX_NAME_CHARS)
    kind = forms.ChoiceField(choices=KINDS, label="Decided by")
    hardware = forms.ChoiceField(required=False, help_text="For a hardware track.")
    board = forms.ChoiceField(required=False, help_text="For a board track, or first to beat.")
    tag = forms.ChoiceField(required=False, help_text="For a tag track.")
    speedup = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=100_000,
        label="Speedup to reach",
        help_text="For first to beat: how many times as fast as the baseline, such as 2.",
    )
    divisions = CompetitionForm.base_fields["divisions"]
    eligibility = long_text(
        2, 5000, "What entrants declare to be eligible, such as “I am a student”, anew after a change. Empty: nothing."
    )
    tie_rule = forms.ChoiceField(choices=TIES, label="Ties")
    description = long_text(2, 5000)
    position = forms.IntegerField(initial=0, min_value=0, max_value=1000, help_text="Lower numbers are listed first.")

    def __init__(self, *args: Any, boards: Iterable[Board], **settings: Any) -> None:
        super().__init__(*args, **settings)
        boards = list(boards)
        choices = {
            "board": [(f"{board.slug} {board.hardware}", str(board)) for board in boards],
            "hardware": [(name, name) for name in sorted({board.hardware for board in boards})],
            "tag": [(name, name) for name in sorted({tag for board in boards for tag in board.tags})],
        }
        for name, offered in choices.items():
            self.fields[name].choices = [("", "–"), *offered]  # type: ignore[attr-defined]

    @staticmethod
    def of(track: Track, boards: Iterable[Board], data: Any = None) -> TrackForm:
        params = track.params
        names = ("name", "kind", "divisions", "eligibility", "tie_rule", "description", "position")
        initial = {name: getattr(track, name) for name in names} | {
            "hardware": params.get("hardware", ""),
            "tag": params.get("tag", ""),
            "board": f"{params['slug']} {params['hardware']}" if "slug" in params else "",
            "speedup": round(1 / params["ratio"], 6) if "ratio" in params else None,
        }
        return TrackForm(data, initial=initial, boards=boards)

    def arguments(self) -> dict[str, Any]:
        """Return the settings for the acts, which keep the `params` that the kind needs."""
        settings = dict(self.cleaned_data)
        slug, _, place = settings.pop("board").partition(" ")
        hardware, tag, speedup = settings.pop("hardware"), settings.pop("tag"), settings.pop("speedup")
        params: dict[str, Any] = {"tag": tag, "hardware": place or hardware, "slug": slug}
        if settings["kind"] == Track.HARDWARE:
            params["hardware"] = hardware
        return {"settings": settings | {"params": params | ({"ratio": 1 / speedup} if speedup else {})}}


class PrizeForm(ActForm):
    place = forms.IntegerField(min_value=1, max_value=100)
    amount = forms.DecimalField(required=False, max_digits=12, decimal_places=2, help_text="Empty: no money.")
    currency = forms.CharField(
        required=False,
        max_length=3,
        help_text="Three letters, such as EUR.",
        widget=forms.TextInput(attrs={"autocapitalize": "characters", "autocomplete": "off"}),
    )
    sponsor = forms.CharField(required=False, max_length=128)
    text = forms.CharField(required=False, max_length=200, label="Other prize", help_text="Such as a GPU or a talk.")

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()

    @staticmethod
    def of(prize: Prize) -> PrizeForm:
        return PrizeForm(initial={name: getattr(prize, name) for name in PrizeForm.base_fields})


class RoleForm(ActForm):
    username = forms.CharField(
        max_length=150, label="Name", help_text="The name of an account on this site.", widget=plain_input()
    )
    role = forms.ChoiceField(choices=ROLES, widget=forms.RadioSelect, initial=Role.REVIEWER)


class CodesForm(ActForm):
    """Invite codes. `boards`: of this competition; an empty choice means that the codes open all of it."""

    count = forms.IntegerField(label="Number of codes", initial=1, min_value=1, max_value=access.MAX_AT_ONCE)
    note = forms.CharField(
        required=False, max_length=access.MAX_NOTE_CHARS, help_text="Such as the recipients. Only organisers see it."
    )
    boards = forms.ModelMultipleChoiceField(
        label="Only these boards",
        queryset=Board.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: the whole competition, including boards that are added later.",
    )

    def __init__(self, competition: Competition, data: Any = None) -> None:
        super().__init__(data)
        self.fields["boards"].queryset = competition.boards.all()  # type: ignore[attr-defined]


class AnnouncementForm(ActForm):
    title = forms.CharField(max_length=access.MAX_TITLE_CHARS)
    text = long_text(8, access.MAX_TEXT_CHARS, "Markdown with math.")


class DraftForm(ActForm):
    """A problem without its files, which the page sends in rows. `slug` is for a new problem alone."""

    slug = forms.CharField(
        label="Address",
        max_length=checks.MAX_SLUG_CHARS,
        help_text="Lowercase letters, digits and dashes, such as row-softmax. It cannot be changed later.",
        widget=plain_input(),
    )
    title = forms.CharField(max_length=200)
    description = long_text(14, 200_000, "Markdown with math, for the problem’s public page.", strip=False)
    settings = forms.CharField(
        strip=False,
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 24, "class": "code settings", "spellcheck": "false"}),
        help_text="Hardware, cases, tolerance and limits, as in task.yml.",
    )
    submission_name = forms.CharField(
        label="Name of a submission’s file",
        max_length=100,
        initial="submission.py",
        help_text="submission.py, or submission.cu for lang: cu.",
        widget=plain_input(),
    )
    reason = reason_field(required=False, help_text="Stored with the change. Required if a board has submissions.")


class DeleteForm(ActForm):
    slug = forms.CharField(
        label="Address of the competition",
        max_length=checks.MAX_SLUG_CHARS,
        help_text="Type it to confirm. This cannot be undone.",
        widget=plain_input(),
    )
    reason = reason_field()


RECIPIENTS: Final = ((messages.ALL, "Everybody who entered"), (messages.SILENT, "Entrants without a submission"))


class MessageForm(ActForm):
    group = forms.ChoiceField(
        label="To",
        choices=RECIPIENTS,
        initial=messages.ALL,
        widget=forms.RadioSelect,
    )
    subject = forms.CharField(max_length=messages.MAX_SUBJECT_CHARS)
    text = forms.CharField(
        max_length=messages.MAX_TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 12}),
        help_text="Plain text. A line below it says why they get it.",
    )
