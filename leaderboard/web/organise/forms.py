"""Forms of the organisers' pages. They check shape only; the acts in competitions/ decide what is allowed.

Times are typed and shown in UTC, to the minute; a script shows the local time beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms

from leaderboard.competitions.access import MAX_AT_ONCE, MAX_NOTE_CHARS
from leaderboard.competitions.announce import MAX_TEXT_CHARS as MAX_ANNOUNCEMENT_CHARS
from leaderboard.competitions.announce import MAX_TITLE_CHARS
from leaderboard.competitions.checks import (
    DEFAULT_LICENCE,
    LICENCES,
    MAX_NAME_CHARS,
    MAX_TEAM_SIZE,
    MAX_TEXT_CHARS,
    TIMES,
)
from leaderboard.competitions.edit import values_of
from leaderboard.competitions.models import (
    CLOSED,
    DIVISIONS,
    FAST_P,
    GEOMETRIC_MEAN,
    POINTS,
    PUBLIC,
    UNLISTED,
    Board,
    Competition,
    Prize,
    ProblemVersion,
    Role,
    Track,
)
from leaderboard.web.forms import Described

MINUTE: Final = "%Y-%m-%dT%H:%M"
VISIBILITY: Final = (
    (PUBLIC, "Public: listed, anybody reads and enters"),
    (UNLISTED, "Unlisted: anybody who has the address"),
    (CLOSED, "Closed: organisers, and people with an invite code"),
)
SCORING: Final = (
    (GEOMETRIC_MEAN, "Geometric mean of the speed-ups over its boards"),
    (POINTS, "Points for the place on each board"),
    (FAST_P, "fast_p: the share of boards won by a factor of p"),
)
DIVISION: Final = tuple((name, name.capitalize()) for name in DIVISIONS)
KINDS: Final = (
    (Track.OVERALL, "Overall: the standing over all boards"),
    (Track.HARDWARE, "Hardware: the standing over the boards of one kind"),
    (Track.BOARD, "Board: one board"),
    (Track.TAG, "Tag: the standing over the boards with a tag"),
    (Track.FIRST_TO_BEAT, "First to beat: the first on a board to be so many times as fast as the baseline"),
)
TIES: Final = (
    (Track.EARLIER, "The earlier submission stands first"),
    (Track.SHARE, "Those tied share their places and prizes"),
)
ROLES: Final = (
    (Role.VIEWER, "Viewer: sees what organisers see"),
    (Role.REVIEWER, "Reviewer: decides on results, too"),
    (Role.OWNER, "Owner: edits the competition, too"),
)
WHY: Final = (
    "Kept with the change. Needed when you move a time that is past, or the freeze or scoring of a running contest."
)


class UtcField(forms.DateTimeField):
    def __init__(self, **told: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local", "data-utc": ""}, format=MINUTE)
        formats = [MINUTE, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"]
        errors = {"invalid": "Give day and time in UTC, such as 2027-03-01 12:00."}
        super().__init__(required=False, widget=widget, input_formats=formats, error_messages=errors, **told)


def to_the_minute(moment: datetime | None) -> datetime | None:
    """Round a moment down to the minute, as a form shows it, so that an untouched field is no change."""
    return None if moment is None else moment.replace(second=0, microsecond=0)


def text_area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows})


class CompetitionForm(Described, forms.Form):
    name = forms.CharField(max_length=MAX_NAME_CHARS)
    description = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_TEXT_CHARS,
        widget=text_area(5),
        help_text="Markdown. What it is about, for its public page.",
    )
    rules = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_TEXT_CHARS,
        widget=text_area(9),
        help_text="Markdown. Accepted by everybody who enters; empty: there is nothing to accept.",
    )
    visibility = forms.ChoiceField(choices=VISIBILITY, widget=forms.RadioSelect, initial=CLOSED)
    practice_at = UtcField(
        label="Practice begins", help_text="From here on submissions are taken, as practice. Empty: at once."
    )
    contest_at = UtcField(label="Contest begins", help_text="From here on they count. Empty: they always do.")
    freeze_at = UtcField(
        label="Freeze", help_text="What is sent from here on is shown when you reveal it. Empty: no freeze."
    )
    deadline = UtcField(label="Deadline", help_text="The first moment at which it is too late. Empty: it never ends.")
    merge_deadline = UtcField(label="Merge deadline", help_text="From here on teams stay as they are.")
    stays_open = forms.BooleanField(
        required=False, initial=True, label="Stays open afterwards", help_text="In a standing apart, once it is final."
    )
    divisions = forms.MultipleChoiceField(
        choices=DIVISION,
        widget=forms.CheckboxSelectMultiple,
        initial=list(DIVISIONS),
        error_messages={"required": "Choose at least one division."},
    )
    max_team_size = forms.IntegerField(
        label="Largest team", initial=1, min_value=1, max_value=MAX_TEAM_SIZE, help_text="1: no teams."
    )
    scoring = forms.ChoiceField(
        label="Standing over all boards", choices=SCORING, widget=forms.RadioSelect, initial=GEOMETRIC_MEAN
    )
    two_person_rule = forms.BooleanField(
        required=False, label="Two people for the podium", help_text="Two reviewers clear what would stand on it."
    )
    default_licence = forms.ChoiceField(
        label="Usual licence",
        choices=tuple(LICENCES.items()),
        initial=DEFAULT_LICENCE,
        help_text="Of code whose sender chooses none. A change is for what is sent from then on.",
    )
    reason = forms.CharField(required=False, max_length=2000, widget=text_area(2), help_text=WHY)

    @staticmethod
    def of(competition: Competition, data: Any = None) -> CompetitionForm:
        values = values_of(competition)
        return CompetitionForm(data, initial=values | {name: to_the_minute(values[name]) for name in TIMES})

    def settings(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the typed settings for the acts: changed settings, or `names`."""
        wanted = self.changed_data if names is None else names
        return {name: self.cleaned_data[name] for name in wanted if name in self.cleaned_data and name in _SETTINGS}


_SETTINGS: Final = frozenset(CompetitionForm.base_fields) - {"reason"}


class NewForm(CompetitionForm):
    slug = forms.CharField(
        label="Address",
        max_length=64,
        help_text="Small letters, digits and dashes, such as spring-2027. It stays for good.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}),
    )


class CloneForm(Described, forms.Form):
    name = forms.CharField(max_length=MAX_NAME_CHARS)
    slug = NewForm.base_fields["slug"]
    times = forms.ChoiceField(
        choices=[("shift", "Everything later by this much"), ("clear", "Without times")],
        widget=forms.RadioSelect,
        initial="shift",
    )
    weeks = forms.IntegerField(required=False, initial=52, min_value=0, max_value=520, label="Weeks")
    days = forms.IntegerField(required=False, initial=0, min_value=0, max_value=366, label="Days")

    @property
    def shift(self) -> timedelta | None:
        told = self.cleaned_data
        if told["times"] == "clear":
            return None
        return timedelta(weeks=told["weeks"] or 0, days=told["days"] or 0)


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
        now = f", now on {hardware}" if hardware else ""
        return f"{name} · version {version.digest[7:15]} of {version.created_at:%-d %b %Y}{now}"


class BoardForm(Described, forms.Form):
    version = VersionField(
        label="Problem",
        queryset=ProblemVersion.objects.none(),
        empty_label="Choose a problem and version",
        error_messages={"required": "Choose a problem.", "invalid_choice": "Choose one of the list."},
    )
    deadline = UtcField(
        label="Its own deadline", help_text="UTC. Where it closes before the competition does; else leave it empty."
    )
    tags = TagsField(
        required=False, max_length=600, help_text="Words that tracks can go by, such as memory-bound attention."
    )

    def __init__(self, *args: Any, versions: Any, **told: Any) -> None:
        super().__init__(*args, **told)
        self.fields["version"].queryset = versions  # type: ignore[attr-defined]


class NewBoardForm(BoardForm):
    """A new board. `known_hardware`: names that runners and boards use; another spelling of them is a slip."""

    hardware = forms.CharField(
        max_length=64,
        widget=forms.TextInput(attrs={"list": "known-hardware", "autocapitalize": "none", "autocomplete": "off"}),
    )
    slug = forms.CharField(
        required=False,
        max_length=64,
        label="Address",
        help_text="Empty: the problem’s own name.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )
    field_order = ["version", "hardware", "slug", "deadline", "tags"]

    def __init__(self, *args: Any, known_hardware: list[str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._known = known_hardware
        known = f"Known here: {', '.join(known_hardware)}." if known_hardware else "Such as cpu or H200."
        self.fields["hardware"].help_text = f"The name that its runners use. {known}"

    def clean_hardware(self) -> str:
        hardware = str(self.cleaned_data["hardware"])
        alike = [name for name in self._known if name.lower() == hardware.lower()]
        if alike and hardware not in alike:
            raise forms.ValidationError(f"This site knows it as {alike[0]}; use this spelling.")
        return hardware


class EditBoardForm(BoardForm):
    reason = forms.CharField(
        required=False, max_length=2000, widget=text_area(2), help_text="Needed when you move a deadline that is past."
    )

    @staticmethod
    def of(board: Board, versions: Any, data: Any = None) -> EditBoardForm:
        initial = {"version": board.version_id, "deadline": to_the_minute(board.deadline), "tags": board.tags}
        return EditBoardForm(data, initial=initial, versions=versions)


class TrackForm(Described, forms.Form):
    name = forms.CharField(max_length=MAX_NAME_CHARS)
    kind = forms.ChoiceField(choices=KINDS, label="Won by")
    hardware = forms.ChoiceField(required=False, help_text="For a track of one hardware.")
    board = forms.ChoiceField(required=False, help_text="For a track of one board, and for the first to beat.")
    tag = forms.ChoiceField(required=False, help_text="For a track of a tag.")
    speedup = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=100_000,
        label="To beat",
        help_text="For the first to beat: how many times as fast as the baseline, such as 2.",
    )
    divisions = CompetitionForm.base_fields["divisions"]
    eligibility = forms.CharField(
        required=False,
        max_length=5000,
        widget=text_area(2),
        help_text="What an entrant declares in order to be eligible, such as “I am a student”. Empty: nothing.",
    )
    tie_rule = forms.ChoiceField(choices=TIES, label="Ties")
    description = forms.CharField(required=False, max_length=5000, widget=text_area(2))
    position = forms.IntegerField(initial=0, min_value=0, max_value=1000, help_text="Tracks are shown in this order.")

    def __init__(self, *args: Any, boards: Iterable[Board], **told: Any) -> None:
        super().__init__(*args, **told)
        boards = list(boards)
        places = [(f"{board.slug} {board.hardware}", str(board)) for board in boards]
        self._choose("board", places)
        self._choose("hardware", [(name, name) for name in sorted({board.hardware for board in boards})])
        self._choose("tag", [(name, name) for name in sorted({tag for board in boards for tag in board.tags})])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = [("", "–"), *choices]  # type: ignore[attr-defined]

    @staticmethod
    def of(track: Track, boards: Iterable[Board], data: Any = None) -> TrackForm:
        told = track.params
        initial = {
            **{name: getattr(track, name) for name in ("name", "kind", "divisions", "eligibility", "tie_rule")},
            **{name: getattr(track, name) for name in ("description", "position")},
            "hardware": told.get("hardware", ""),
            "tag": told.get("tag", ""),
            "board": f"{told['slug']} {told['hardware']}" if "slug" in told else "",
            "speedup": round(1 / told["ratio"], 6) if "ratio" in told else None,
        }
        return TrackForm(data, initial=initial, boards=boards)

    def settings(self) -> dict[str, Any]:
        """Return the settings for the acts, which keep the `params` that the kind needs."""
        told = dict(self.cleaned_data)
        slug, _, place = told.pop("board").partition(" ")
        hardware, tag, speedup = told.pop("hardware"), told.pop("tag"), told.pop("speedup")
        params: dict[str, Any] = {"tag": tag, "hardware": place or hardware, "slug": slug}
        if told["kind"] == Track.HARDWARE:
            params["hardware"] = hardware
        return told | {"params": params | ({"ratio": 1 / speedup} if speedup else {})}


class PrizeForm(Described, forms.Form):
    place = forms.IntegerField(min_value=1, max_value=100)
    amount = forms.DecimalField(required=False, max_digits=12, decimal_places=2, help_text="Empty: no money.")
    currency = forms.CharField(
        required=False,
        max_length=3,
        help_text="Three letters, such as EUR.",
        widget=forms.TextInput(attrs={"autocapitalize": "characters", "autocomplete": "off"}),
    )
    sponsor = forms.CharField(required=False, max_length=128)
    text = forms.CharField(required=False, max_length=200, label="What else", help_text="Such as a GPU, or a talk.")

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()

    @staticmethod
    def of(prize: Prize) -> PrizeForm:
        names = ("place", "amount", "currency", "sponsor", "text")
        return PrizeForm(initial={name: getattr(prize, name) for name in names})


class RoleForm(Described, forms.Form):
    username = forms.CharField(
        max_length=150,
        label="Name",
        help_text="Of an account on this site.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=ROLES, widget=forms.RadioSelect, initial=Role.REVIEWER)


class CloseForm(Described, forms.Form):
    reason = forms.CharField(
        max_length=2000,
        widget=text_area(2),
        label="Why it is closed",
        error_messages={"required": "Say why: the reason is kept with the change."},
    )


class CodesForm(Described, forms.Form):
    """Invite codes. `boards`: of this competition; an empty choice means that the codes open all of it."""

    count = forms.IntegerField(label="How many", initial=1, min_value=1, max_value=MAX_AT_ONCE)
    note = forms.CharField(
        label="Note", required=False, max_length=MAX_NOTE_CHARS, help_text="For whom they are; only organisers see it."
    )
    boards = forms.ModelMultipleChoiceField(
        label="Only these boards",
        queryset=Board.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: all of the competition, also what is added later.",
    )

    def __init__(self, competition: Competition, data: Any = None) -> None:
        super().__init__(data)
        boards = self.fields["boards"]
        assert isinstance(boards, forms.ModelMultipleChoiceField)
        boards.queryset = competition.boards.all()


class AnnouncementForm(Described, forms.Form):
    title = forms.CharField(max_length=MAX_TITLE_CHARS)
    text = forms.CharField(
        required=False, max_length=MAX_ANNOUNCEMENT_CHARS, widget=text_area(8), help_text="Markdown, with math."
    )
